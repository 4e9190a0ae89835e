//! What two articles for beginners say about cards for training, claim by claim, and what the page answers to each: on a
//! project, with numbers. `cargo test --test articles -- --nocapture` prints the table.
//!
//! The articles: "别急着烧钱！聊聊 AI 模型训练，你的显卡真的够用吗？" (B) and "显卡还是显卡？AI 训练模型，选对心脏才能跑得更快" (A).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::recipe::recipes;
use enough_gpu::advise::rig::{Check, rig};
use enough_gpu::advise::{
    Advice, CardWarning, FixKind, Verdict, Way, advise, card_warnings, growth, rent_or_buy, side_by_side,
};
use enough_gpu::catalog::{Catalog, Gpu};
use enough_gpu::estimate::time;
use enough_gpu::project::{Field, Method, Precision, Project, Sharding, relevant};
use enough_gpu::text::{self, Lang, answer, numbers};
use enough_gpu::units::{Bytes, Currency};

struct Page {
    catalog: Catalog,
}

impl Page {
    fn gpu(&self, id: &str) -> &Gpu {
        self.catalog.gpu(id).unwrap_or_else(|| panic!("{id}"))
    }

    fn project(&self, preset: &str, gpu: &str, count: u32) -> Project {
        let mut project = Project::from_preset(self.catalog.preset(preset).unwrap(), &self.catalog);
        gpu.clone_into(&mut project.hardware.gpu);
        project.hardware.no_gpu = gpu.is_empty();
        project.hardware.count = count;
        project
    }

    fn advice(&self, project: &Project) -> Advice {
        advise(project, &self.catalog).unwrap()
    }

    fn at(&self, preset: &str, gpu: &str, count: u32) -> Advice {
        self.advice(&self.project(preset, gpu, count))
    }

    /// The answer in a line.
    fn said(&self, project: &Project, lang: Lang) -> String {
        let answer = answer(lang, project, &advise(project, &self.catalog), &self.catalog);
        format!("{} / {}", answer.head, answer.next.sentence)
    }

    fn fits(&self, preset: &str, gpu: &str) -> bool {
        matches!(self.at(preset, gpu, 1).verdict, Verdict::Fits { .. })
    }

    /// Fits as it is, or once it is changed as advised.
    fn goes(&self, preset: &str, gpu: &str) -> bool {
        let advice = self.at(preset, gpu, 1);
        matches!(advice.verdict, Verdict::Fits { .. } | Verdict::Tight { .. }) || advice.make_it_fit.is_some()
    }
}

/// A claim, and what the page says to it; panics where it says something else.
type Claim = (&'static str, &'static str, fn(&Page) -> String);

const CLAIMS: &[Claim] = &[
    ("B", "手写数字、猫狗分类：手头的电脑就够", |page| {
        ["mnist", "cat-dog"]
            .map(|id| {
                let project = page.project(id, "", 1);
                assert!(matches!(page.advice(&project).verdict, Verdict::NoGpuNeeded { .. }), "{id}");
                page.said(&project, Lang::Zh)
            })
            .join("；")
    }),
    ("B", "Kaggle、Colab 有免费 GPU，限时、要排队", |page| {
        let project = page.project("joke-chat-qlora", "", 1);
        let advice = page.advice(&project);
        let of = |platform: &str| {
            advice.free.iter().find(|f| f.platform == platform).unwrap_or_else(|| panic!("{platform}"))
        };
        ["Kaggle", "Google Colab"]
            .map(|platform| {
                let free = of(platform);
                assert!(free.session_limit_h.is_some(), "{platform}");
                format!("{platform}：{}", text::free_limits(Lang::Zh, free))
            })
            .join("；")
    }),
    ("B", "几百张工笔画、会讲冷笑话的对话模型：需要正经显卡", |page| {
        ["gongbi-lora-sd15", "joke-chat-qlora"]
            .map(|id| {
                let advice = page.at(id, "", 1);
                assert!(!matches!(advice.verdict, Verdict::NoGpuNeeded { .. }), "{id}");
                format!("{id} {}", advice.memory.card)
            })
            .join("；")
    }),
    ("B", "桌面太小就报 CUDA out of memory", |page| {
        let oom = page.at("llm-7b-lora", "rtx-3070", 1).out_of_memory.expect("it runs out");
        let message = text::out_of_memory(page.gpu("rtx-3070").vendor, &oom);
        assert!(message.contains("CUDA out of memory"), "{message}");
        message.chars().take(70).collect()
    }),
    ("B", "个人创意项目，8 GB 是舒服的起点：RTX 3070、4060 Ti、RX 6700 XT", |page| {
        ["rtx-3070", "rtx-4060-ti-8gb", "rx-6700-xt"]
            .map(|gpu| {
                assert!(page.fits("gongbi-lora-sd15", gpu), "{gpu}");
                assert!(page.goes("joke-chat-qlora", gpu), "{gpu}");
                let sd = page.at("gongbi-lora-sd15", gpu, 1);
                assert!(gpu != "rx-6700-xt" || sd.warnings.contains(&CardWarning::RocmOverride));
                format!("{gpu}：SD1.5 LoRA {}", sd.memory.card)
            })
            .join("；")
    }),
    ("B", "从头训视觉模型、高分辨率、数十亿参数：24 GB 是入场券", |page| {
        ["vision-scratch-imagenet", "hires-seg", "llm-7b-lora"]
            .map(|id| {
                assert!(page.goes(id, "rtx-4090") && !page.fits(id, "rtx-3070"), "{id}");
                format!("{id} {}", page.at(id, "rtx-4090", 1).memory.card)
            })
            .join("；")
    }),
    ("B", "多卡：主板插槽、千瓦电源、散热、DeepSpeed 和 FSDP", |page| {
        let four = rig(page.gpu("rtx-4090"), 4, Bytes::from_gib(64.0)).unwrap();
        assert!(four.supply_w > 1500.0);
        let has = |wanted: fn(&Check) -> bool| four.checks.iter().any(wanted);
        assert!(has(|c| matches!(c, Check::Slots(_))) && has(|c| matches!(c, Check::Board(_))));
        assert!(has(|c| matches!(c, Check::Cool(_))) && has(|c| matches!(c, Check::Wall(_) | Check::NoCircuit)));
        let mut project = page.project("llm-7b-full", "rtx-4090", 8);
        project.hardware.sharding = Sharding::Zero3;
        let files = recipes(&project, &page.catalog);
        assert!(files.iter().any(|f| f.file == "ds_config.json"), "DeepSpeed");
        project.hardware.sharding = Sharding::Fsdp;
        let files = recipes(&project, &page.catalog);
        assert!(files.iter().any(|f| f.text.to_ascii_lowercase().contains("fsdp")), "FSDP");
        format!("四张 4090 要 {} W 电源，墙上 {} W", four.supply_w.round(), four.wall_w.round())
    }),
    ("B", "先别买先租：几十到几百块租 A100、H100 跑几小时到几天", |page| {
        let mut project = page.project("llm-7b-lora", "", 1);
        project.budget.currency = Currency::Cny;
        let advice = page.advice(&project);
        let mut told = Vec::new();
        for gpu in ["a100-sxm-80gb", "h100-sxm"] {
            let choice = advice.cards.iter().find(|c| c.gpu == gpu && c.count == 1).unwrap();
            let run = choice.rent.and_then(|r| r.run).unwrap();
            assert!((3.0..1000.0).contains(&run.amount), "{gpu}: {run:?}");
            told.push(format!("{gpu} {}", numbers::money(Lang::Zh, run, false)));
        }
        let said = page.said(&project, Lang::Zh);
        assert!(said.contains("先别"), "{said}");
        format!("{}；{said}", told.join("，"))
    }),
    ("B", "优化比堆料重要：混合精度更快更省", |page| {
        let mut project = page.project("vision-scratch-imagenet", "rtx-4090", 1);
        project.precision = Precision::Fp32;
        let mixed = Project { precision: Precision::AmpBf16, ..project.clone() };
        let (before, after) = (page.advice(&project), page.advice(&mixed));
        let faster = before.time.unwrap().run.0 / after.time.unwrap().run.0;
        assert!(after.memory.card < before.memory.card && faster > 1.2, "{faster}");
        format!("{} → {}，快 {:.1} 倍", before.memory.card, after.memory.card, faster)
    }),
    ("B", "梯度累积：变相增大桌面，等效批大小不变", |page| {
        let mut project = page.project("llm-7b-lora", "rtx-3090", 1);
        (project.micro_batch, project.accumulation) = (16, 1);
        let advice = page.advice(&project);
        let kind = advice.fixes.iter().find_map(|f| match f.kind {
            FixKind::SmallerMicroBatch { micro_batch, accumulation } => Some((micro_batch, accumulation, f.saves)),
            _ => None,
        });
        let (micro_batch, accumulation, saves) = kind.expect("accumulation is offered");
        assert_eq!(micro_batch * accumulation, 16);
        format!("批 16 → {micro_batch}，累积 {accumulation}，省 {saves}")
    }),
    ("B", "模型量化压缩", |page| {
        let advice = page.at("llm-7b-lora", "rtx-4060-ti-16gb", 1);
        let fix = advice.fixes.iter().find(|f| f.kind == FixKind::QLora).expect("4 bit is offered");
        assert!(fix.saves > Bytes::from_gib(6.0));
        format!("4 bit 底座省 {}", fix.saves)
    }),
    ("B", "为 20% 多花 200%，未必划算", |page| {
        let mut poor = None;
        for preset in page.catalog.presets.iter() {
            let project = Project::from_preset(preset, &page.catalog);
            let Ok(advice) = advise(&project, &page.catalog) else { continue };
            poor = poor.or(advice.plans.step_up.filter(|step| !step.is_worth_it()));
        }
        let step = poor.expect("a step up that hardly pays");
        let said = text::step_up(Lang::Zh, &step, &page.catalog);
        assert!(said.contains("不划算"), "{said}");
        said
    }),
    ("B", "是一条光谱：从 CPU 凑合到一柜子计算卡", |page| {
        let small = page.at("mnist", "", 1).plans.front;
        assert!(small.iter().any(|p| p.way == Way::Processor));
        let large = page.at("llm-175b-scratch", "", 1).plans.picks;
        let most = large.iter().map(|(_, p)| p.count).max().unwrap();
        assert!(most >= 64);
        format!("MNIST 用处理器；GPT-3 175B 用 {most} 张")
    }),
    ("B", "从最小的项目开始，让需求自然生长", |page| {
        let project = page.project("joke-chat-qlora", "rtx-4060-ti-16gb", 1);
        [2, 10]
            .map(|times| {
                let grown = growth(&project, times, &page.catalog).unwrap();
                assert!(grown.still_fits.is_some() && grown.plan.is_some());
                format!("{times} 倍：{} 要 {}", grown.model.unwrap_or("更大的批"), grown.need)
            })
            .join("；")
    }),
    ("A", "游戏卡显存 24 GB、48 GB（RTX 6000 Ada）", |page| {
        assert_eq!(page.gpu("rtx-4090").memory, Bytes::from_gib(24.0));
        assert_eq!(page.gpu("rtx-6000-ada").memory, Bytes::from_gib(48.0));
        format!("实际能用 {} 和 {}", page.gpu("rtx-4090").usable, page.gpu("rtx-6000-ada").usable)
    }),
    ("A", "游戏卡砍了 FP64，计算卡没有", |page| {
        let share = |id: &str| page.gpu(id).rates.fp64.unwrap() / page.gpu(id).rates.fp32.unwrap();
        assert!(share("rtx-4090") < 0.02 && share("a100-sxm-80gb") > 0.4);
        format!("fp64/fp32：4090 {:.3}，A100 {:.2}", share("rtx-4090"), share("a100-sxm-80gb"))
    }),
    ("A", "游戏卡不是为 7x24 设计的", |page| {
        // 1,600 epochs, the longer of the two schedules that MAE was published with.
        let project = Project { epochs: 1600.0, ..page.project("dino-pretrain", "rtx-4090", 1) };
        let warned = |id: &str| {
            let time = time::time(&project, page.gpu(id), 1, &page.catalog).unwrap();
            card_warnings(&project, page.gpu(id), 1, Some(&time)).contains(&CardWarning::NotForLongRuns)
        };
        assert!(warned("rtx-4090") && !warned("a100-sxm-80gb"));
        text::warning(CardWarning::NotForLongRuns).text(Lang::Zh).to_owned()
    }),
    ("A", "游戏卡多卡走 PCIe 是瓶颈，计算卡有 NVLink", |page| {
        let mut project = page.project("llm-7b-full", "rtx-4090", 8);
        project.hardware.sharding = Sharding::Zero3;
        let waits = |id: &str| {
            let time = time::time(&project, page.gpu(id), 8, &page.catalog).unwrap();
            time.between.0 / time.step.0
        };
        let (game, server) = (waits("rtx-4090"), waits("a100-sxm-80gb"));
        assert!(page.at("llm-7b-full", "rtx-4090", 8).warnings.contains(&CardWarning::NoFastLink));
        assert!(page.gpu("rtx-4090").nvlink_gb_s.is_none() && game > 2.0 * server, "{game} {server}");
        format!("八卡互相等：4090 {:.0} %，A100 {:.0} %", game * 100.0, server * 100.0)
    }),
    ("A", "HBM 带宽高、显存 40 到 80 GB 以上", |page| {
        let of = |id: &str| page.gpu(id).bandwidth_gb_s;
        assert!(of("h100-sxm") > 3.0 * of("rtx-4090") && of("a100-sxm-80gb") > 1.9 * of("rtx-4090"));
        format!("GB/s：4090 {}，A100 {}，H100 {}", of("rtx-4090"), of("a100-sxm-80gb"), of("h100-sxm"))
    }),
    ("A", "Tensor Core、TF32、FP8", |page| {
        let (a100, h100) = (&page.gpu("a100-sxm-80gb").rates, &page.gpu("h100-sxm").rates);
        assert!(a100.tf32.is_some() && a100.fp8.is_none() && h100.fp8.is_some());
        format!("H100：bf16 {}，fp8 {} TFLOPS", h100.bf16.unwrap(), h100.fp8.unwrap())
    }),
    ("A", "ECC、能长时间满负荷：并排比", |page| {
        let project = page.project("llm-7b-lora", "rtx-4090", 1);
        let advice = page.advice(&project);
        let sides = side_by_side(&project, &["rtx-4090", "a100-sxm-80gb"], &advice, &page.catalog);
        assert!(!sides[0].around_the_clock && sides[1].around_the_clock && sides[1].rent_run.is_some());
        assert!(page.gpu("a100-sxm-80gb").ecc && !page.gpu("rtx-4090").ecc);
        format!(
            "这个项目各租一次：{:?}",
            sides.iter().map(|s| s.rent_run.map(|m| numbers::money(Lang::Zh, m, false))).collect::<Vec<_>>()
        )
    }),
    ("A", "学生和小团队：16 GB 起步，24 GB 覆盖九成需求", |page| {
        let asked =
            || page.catalog.presets.iter().map(|p| p.id).filter(|id| !id.contains("scratch") && !id.contains("70b"));
        let goes = |gpu: &str| {
            let tried: Vec<bool> = asked()
                .filter_map(|id| {
                    let advice = advise(&page.project(id, gpu, 1), &page.catalog).ok()?;
                    let fits = matches!(advice.verdict, Verdict::Fits { .. } | Verdict::Tight { .. });
                    Some(fits || advice.make_it_fit.is_some())
                })
                .collect();
            tried.iter().filter(|yes| **yes).count() as f64 / tried.len() as f64
        };
        let (eight, sixteen, twenty_four) = (goes("rtx-3070"), goes("rtx-4060-ti-16gb"), goes("rtx-4090"));
        assert!(eight < sixteen && sixteen <= twenty_four && twenty_four > 0.85, "{eight} {sixteen} {twenty_four}");
        format!(
            "预设里跑得动的：8 GB {:.0} %，16 GB {:.0} %，24 GB {:.0} %",
            eight * 100.0,
            sixteen * 100.0,
            twenty_four * 100.0
        )
    }),
    ("A", "企业训百亿千亿参数：计算卡集群或云", |page| {
        ["llm-70b-full", "llm-175b-scratch"]
            .map(|id| {
                let picks = page.at(id, "", 1).plans.picks;
                let (_, plan) = picks.first().unwrap();
                assert!(plan.count >= 8 && !plan.way.is_bought(), "{id}: {plan:?}");
                format!("{id}：{} × {}", plan.gpu, plan.count)
            })
            .join("；")
    }),
    ("A", "中间路线云 GPU：从单卡 V100、4090 到多卡 A100", |page| {
        let offers =
            |gpu: &str, gpus: u32| page.catalog.offers.iter().filter(|o| o.gpu == gpu && o.gpus == gpus).count();
        let counted = [("v100-sxm2-16gb", 1), ("rtx-4090", 1), ("a100-sxm-80gb", 8)].map(|(gpu, gpus)| {
            let many = offers(gpu, gpus);
            assert!(many > 0, "{gpu} x {gpus}");
            format!("{gpu} × {gpus}：{many} 家报价")
        });
        counted.join("；")
    }),
    ("A", "先问：跑什么模型、数据多大、预算多少、长期还是短期", |page| {
        let project = page.project("joke-chat-qlora", "rtx-4090", 1);
        let shown = relevant(&project, &page.catalog);
        assert!(shown.contains(Field::Samples) && shown.contains(Field::Method) && project.method == Method::QLora);
        let hours = page.advice(&project).time.map(|t| t.run.hours());
        let curve = rent_or_buy(&project, page.gpu("rtx-4090"), 1, hours, &page.catalog).unwrap();
        let once = text::one_project(Lang::Zh, &curve).unwrap();
        format!("{once} {}", text::two_years(Lang::Zh, &curve))
    }),
];

#[test]
fn the_page_answers_every_claim_of_the_articles() {
    let page = Page { catalog: Catalog::bundled() };
    for (article, claim, check) in CLAIMS {
        println!("| {article} | {claim} | {} |", check(&page));
    }
    assert!(CLAIMS.len() >= 25);
}
