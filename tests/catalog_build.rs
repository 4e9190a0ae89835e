//! A broken row stops the build with one sentence that names file, line and reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../build/mod.rs"]
mod build;

use build::Cells;
use std::fs;
use std::path::Path;

/// The bundled file.
fn bundled(file: &str) -> Result<String, String> {
    fs::read_to_string(Path::new("src/catalog/data").join(file)).map_err(|e| e.to_string())
}

/// The bundled files, but in `edited` the first cell `from` of the line that begins with `row` reads `to`.
fn compile_with(edited: &str, row: &str, from: &str, to: &str) -> Result<String, String> {
    let mut done = false;
    let text = bundled(edited).unwrap();
    let lines = text.lines().map(|line| {
        if done || !line.starts_with(row) || !line.contains(from) {
            return line.to_owned();
        }
        done = true;
        line.replacen(from, to, 1)
    });
    let lines: Vec<String> = lines.collect();
    assert!(done, "{edited} has no line {row}… with {from:?}");
    let text = lines.join("\n");
    build::compile(Cells::All, |file| if file == edited { Ok(text.clone()) } else { bundled(file) })
}

#[test]
fn the_bundled_files_pass() {
    assert!(build::compile(Cells::All, bundled).unwrap().contains("rtx-4090"));
}

#[test]
fn a_broken_row_is_named_with_file_line_and_reason() {
    let cases = [
        // Form of the file.
        ("gpus.csv", "id,", "memory_gib", "memory", "line 1: column 7 is called \"memory\" instead of \"memory_gib\""),
        ("gpus.csv", "id,", ",price_as_of", "", "line 1: the column \"price_as_of\" is missing"),
        ("gpus.csv", "id,", "price_as_of", "price_as_of,colour", "line 1: the column \"colour\" is not known"),
        ("cloud.csv", "AWS,g4dn.xlarge", ",global", "", "line 2: the row has 11 cells and needs 12"),
        // Form of a cell.
        ("gpus.csv", "rtx-5080,", "rtx-5080,", "rtx-5090,", "line 5: the id \"rtx-5090\" was used before, on line 2"),
        (
            "gpus.csv",
            "rtx-5080,",
            "rtx-5080,",
            "RTX 5080,",
            "line 5: id \"RTX 5080\" is not of the form rtx-4090 (small letters, digits, . and -)",
        ),
        ("gpus.csv", "rtx-5080,", ",16,", ",16 GB,", "line 5: memory_gib must be a plain number, not \"16 GB\""),
        ("gpus.csv", "rtx-5080,", ",16,", ",,", "line 5: memory_gib is empty"),
        ("gpus.csv", "rtx-5080,", ",16,", ",NaN,", "line 5: memory_gib must be a plain number, not \"NaN\""),
        ("gpus.csv", "rtx-5080,", ",16,", ",16000,", "line 5: memory_gib is 16000, outside 2 to 600"),
        (
            "gpus.csv",
            "rtx-5080,",
            ",2025-01,",
            ",2025-13,",
            "line 5: launched \"2025-13\" is not a month of the form 2026-09",
        ),
        (
            "gpus.csv",
            "rtx-5080,",
            ",2025-01,",
            ",01/2025,",
            "line 5: launched \"01/2025\" is not a month of the form 2026-09",
        ),
        ("gpus.csv", "rtx-5080,", ",no,", ",maybe,", "line 5: ecc \"maybe\" is none of yes, no"),
        (
            "gpus.csv",
            "rtx-5080,",
            "GeForce RTX 5080",
            " GeForce RTX 5080",
            "line 5: name \" GeForce RTX 5080\" begins or ends with a space",
        ),
        ("cloud.csv", "AWS,g4dn.xlarge", ",1,4,16", ",1.5,4,16", "line 2: gpus must be a whole number, not \"1.5\""),
        ("performance.csv", "h100-sxm,", "tokens/s", "", "line 2: unit is empty"),
        (
            "tasks.csv",
            "mnist,",
            "beginner",
            "everyone",
            "line 2: group \"everyone\" is none of beginner, hobby, advanced hobby, lab, company",
        ),
        // Cells that contradict each other.
        (
            "gpus.csv",
            "rtx-5090,",
            ",419.0,\"FP16",
            ",219.0,\"FP16",
            "line 2: fp16_fp16acc_tflops_dense is 1.05 times fp16_tensor_tflops_dense, which no chip of this kind is",
        ),
        (
            "gpus.csv",
            "rtx-5090,",
            ",32607,",
            ",16303,",
            "line 2: smi_total_mib 16303 does not belong to a card of 32 GiB",
        ),
        ("gpus.csv", "rtx-5090-d,", ",memory (CN MSRP 16499),", ",,", "line 3: street_price_cny has no price_source"),
        ("gpus.csv", "rtx-5090-d,", "16499),2025-06", "16499),", "line 3: street_price_cny has no price_as_of"),
        (
            "gpus.csv",
            "apple-m2-max,",
            ",96,",
            ",64,",
            "line 171: memory_gib 64 is not the largest of the sizes 32;64;96",
        ),
        (
            "gpus.csv",
            "rtx-5090,",
            ",12.0,",
            ",sm_120,",
            "line 2: compute_capability \"sm_120\" is no CUDA version such as 8.6",
        ),
        ("gpus.csv", "rtx-5090,", "5.0x16", "PCIe 5", "line 2: pcie \"PCIe 5\" is not of the form 4.0x16"),
        (
            "cloud.csv",
            "AWS,g4dn.xlarge",
            ",0.526,0.16,",
            ",0.526,0.6,",
            "line 2: spot_usd_h 0.6 is above the on-demand price_usd_h 0.526",
        ),
        ("cloud.csv", "AWS,g4dn.xlarge", ",0.526,0.16,", ",,,", "line 2: neither price_usd_h nor price_cny_h is given"),
        (
            "cloud.csv",
            "AWS,g4dn.12xlarge",
            ",3.912,",
            ",199.0,",
            "line 4: price_usd_h 199 for 4 cards is 49.750 USD per card and hour, outside 0.05 to 20",
        ),
        ("cloud.csv", "AWS,g4dn.xlarge", ",2026-09", ",", "line 2: as_of is empty"),
        ("billing.csv", "AWS,", ",1,60,", ",1,,", "line 2: unit_s and least_s belong together"),
        ("billing.csv", "AWS,", ",1,60,", ",,,", "line 2: nothing is said of the bill"),
        (
            "performance.csv",
            "h100-sxm,",
            ",1039.422,",
            ",66523,",
            "line 2: value_per_gpu 66523 for 64 cards does not make value_total 66523",
        ),
        (
            "usable.csv",
            "rtx-5090,",
            ",31.37,",
            ",32.37,",
            "line 2: total_gib 32.37 does not belong to a device of 32 GiB",
        ),
        // References.
        ("usable.csv", "rtx-5090,", "rtx-5090,", "rtx-6090,", "line 2: the card \"rtx-6090\" is not in gpus.csv"),
        ("cloud.csv", "AWS,g4dn.xlarge", ",t4,", ",t44,", "line 2: the card \"t44\" is not in gpus.csv"),
        ("billing.csv", "AWS,", "AWS,", "AVS,", "line 2: the provider \"AVS\" is not in cloud.csv"),
        ("free.csv", "Kaggle,P100", ",p100-pcie-16gb,", ",p100,", "line 2: the card \"p100\" is not in gpus.csv"),
        ("performance.csv", "h100-sxm,", "h100-sxm,", "h101-sxm,", "line 2: the card \"h101-sxm\" is not in gpus.csv"),
        ("tasks.csv", "mnist,", ",mnist-cnn,", ",mnist-rnn,", "line 2: the model \"mnist-rnn\" is not in vision.csv"),
        ("aliases.csv", "gpu,h100,", ",h100-sxm,", ",h100,", "\"h100\" means \"h100\", which is not known"),
        ("aliases.csv", "gpu,h200,", "gpu,h200,", "gpu,H-100,", "\"H-100\" was given a meaning before, on line"),
        // Architecture and count.
        (
            "llm.csv",
            "qwen-7b,",
            ",7721324544,7721324544,",
            ",7421324544,7421324544,",
            "line 2: params_total is 7421324544, but the architecture has 7721324544 (3.9 % apart, 2 % allowed)",
        ),
        (
            "llm.csv",
            "qwen-7b,",
            ",32,4096,11008,",
            ",30,4096,11008,",
            "line 2: params_total is 7721324544, but the architecture has 7316533248 (5.5 % apart, 2 % allowed)",
        ),
        ("llm.csv", "mixtral-8x7b,", ",8,2,0,", ",8,1,0,", "params_active is 12879925248, but the architecture has"),
        ("llm.csv", "qwen-7b,", ",rmsnorm,", ",rmsnrom,", "line 2: the word \"rmsnrom\" is not known"),
        ("llm.csv", "qwen-7b,", ",full,", ",sliding:4k,", "line 2: the word \"4k\" is not known"),
        ("llm.csv", "qwen-7b,", ",32,32,128,", ",32,7,128,", "line 2: heads 32 is no multiple of kv_heads 7"),
        (
            "llm.csv",
            "qwen-7b,",
            ",full,,",
            ",full,8,",
            "line 2: moe_experts, moe_active, moe_shared, moe_intermediate must be given together or not at all",
        ),
        (
            "llm.csv",
            "qwen-7b,",
            ",Qwen/Qwen-7B,",
            ",Qwen-7B,",
            "line 2: hf_repo \"Qwen-7B\" is not of the form owner/name",
        ),
        (
            "llm.csv",
            "kimi-linear",
            "params: given",
            "params: guessed",
            "the count does not follow from the columns, and source does not say \"params: given\"",
        ),
        (
            "llm_published.csv",
            "qwen2.5-0.5b,",
            ",494032768,",
            ",594032768,",
            "line 4: published is 594032768, but the architecture has 494032768 (20.2 % apart, 1 % allowed)",
        ),
        (
            "vision.csv",
            "resnet18,",
            ",224,",
            ",full HD,",
            "line 2: default_resolution \"full HD\" does not begin with a side in pixels",
        ),
        (
            "vision.csv",
            "resnet18,",
            "resnet18,",
            "gpt2,",
            "line 2: the id \"gpt2\" was used before, in llm.csv on line",
        ),
        (
            "diffusion.csv",
            "controlnet-sd15,",
            "frozen SD1.5 UNet 859520964",
            "frozen SD1.5 UNet",
            "other_parts \"frozen SD1.5 UNet\" is not of the form \"frozen SD1.5 UNet 859520964\"",
        ),
        (
            "audio_other.csv",
            "llava-1.5-7b,",
            ",7063427072,",
            ",6063427072,",
            "main_params and second_params make 7042447360, more than params_total 6063427072",
        ),
    ];
    for (file, row, from, to, reason) in cases {
        let sentence = compile_with(file, row, from, to).expect_err(reason);
        let start = format!("src/catalog/data/{file}, line ");
        assert!(sentence.starts_with(&start), "{sentence}");
        assert!(sentence.contains(reason), "expected: … {reason}\n  actual: {sentence}");
        assert!(sentence.ends_with('.') && !sentence.contains('\n'), "{sentence}");
    }
}

#[test]
fn a_missing_file_is_named() {
    let sentence = build::compile(Cells::All, |_| Err("src/catalog/data/gpus.csv: not found".to_owned())).unwrap_err();
    assert!(sentence.contains("gpus.csv"));
}

#[test]
fn the_page_reads_nothing_that_it_is_not_given() {
    let whole = build::compile(Cells::All, bundled).unwrap();
    let page = build::compile(Cells::OfThePage, bundled).unwrap();
    assert!(page.len() < whole.len() && page.lines().count() == whole.lines().count());
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                for column in build::NOT_ON_THE_PAGE {
                    let is_name =
                        |after: &str| after.starts_with(|c: char| c.is_ascii_alphanumeric() || "_(".contains(c));
                    let read = text.split(&format!(".{column}")).skip(1).any(|after| !is_name(after));
                    assert!(
                        !read,
                        "{} reads `{column}`: take it out of NOT_ON_THE_PAGE in build/pack.rs",
                        path.display()
                    );
                }
            }
        }
    }
}
