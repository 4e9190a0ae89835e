//! Tables of layers, pasted: what torchinfo, torchsummary and Keras print, and the estimate that they make.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::Catalog;
use enough_gpu::estimate;
use enough_gpu::project::Project;
use enough_gpu::project::import::{Hints, Reading, TextKind, read};

/// `key=value key=value` of what was found.
fn said(reading: &Reading) -> String {
    reading.found.iter().map(|f| format!("{}={}", f.key, f.value)).collect::<Vec<_>>().join(" ")
}

/// The network of PyTorch's first lesson, as torchinfo prints it for a batch of 64.
const TORCHINFO: &str = "
==========================================================================================
Layer (type:depth-idx)                   Output Shape              Param #
==========================================================================================
Net                                      [64, 10]                  --
├─Sequential: 1-1                        [64, 16, 5, 5]            --
│    └─Conv2d: 2-1                       [64, 6, 28, 28]           456
│    └─ReLU: 2-2                         [64, 6, 28, 28]           --
│    └─MaxPool2d: 2-3                    [64, 6, 14, 14]           --
│    └─Conv2d: 2-4                       [64, 16, 10, 10]          2,416
│    └─ReLU: 2-5                         [64, 16, 10, 10]          --
│    └─MaxPool2d: 2-6                    [64, 16, 5, 5]            --
├─Flatten: 1-2                           [64, 400]                 --
├─Linear: 1-3                            [64, 120]                 48,120
├─Linear: 1-4                            [64, 84]                  10,164
├─Linear: 1-5                            [64, 10]                  850
==========================================================================================
Total params: 62,006
Trainable params: 62,006
Non-trainable params: 0
Total mult-adds (M): 42.13
==========================================================================================
Input size (MB): 0.79
Forward/backward pass size (MB): 3.34
Params size (MB): 0.25
Estimated Total Size (MB): 4.38
==========================================================================================
";

/// Keras 2.
const KERAS: &str = r#"
Model: "sequential"
_________________________________________________________________
 Layer (type)                Output Shape              Param #
=================================================================
 conv2d (Conv2D)             (None, 26, 26, 32)        320

 max_pooling2d (MaxPooling2  (None, 13, 13, 32)        0
 D)

 flatten (Flatten)           (None, 5408)              0

 dense (Dense)               (None, 10)                54090

=================================================================
Total params: 54410 (212.54 KB)
Trainable params: 54090 (211.29 KB)
Non-trainable params: 320 (1.25 KB)
_________________________________________________________________
"#;

/// Keras 3 with its frame.
const KERAS_3: &str = r#"
Model: "functional"
┏━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━┓
┃ Layer (type)         ┃ Output Shape      ┃     Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━┩
│ input_layer          │ (None, 28, 28, 1) │           0 │
│ (InputLayer)         │                   │             │
├──────────────────────┼───────────────────┼─────────────┤
│ conv2d (Conv2D)      │ (None, 26, 26, 8) │          80 │
├──────────────────────┼───────────────────┼─────────────┤
│ dense (Dense)        │ (None, 26, 26, 4) │          36 │
└──────────────────────┴───────────────────┴─────────────┘
 Total params: 116 (464.00 B)
 Trainable params: 116 (464.00 B)
 Non-trainable params: 0 (0.00 B)
"#;

/// VGG-16 for pictures of 224 pixels as torchsummary prints it.
fn torchsummary_of_vgg16() -> String {
    let mut rows = Vec::new();
    let (mut at, mut side, mut channels) = (0, 224, 3);
    let mut row = |kind: &str, shape: &str, params: u64| {
        at += 1;
        let commas = |n: u64| {
            let digits = n.to_string();
            let parts: Vec<&str> =
                digits.as_bytes().rchunks(3).rev().map(|c| std::str::from_utf8(c).unwrap()).collect();
            parts.join(",")
        };
        rows.push(format!("{:>20} {shape:>28} {:>15}", format!("{kind}-{at}"), commas(params)));
    };
    for stage in [&[64_u64, 64][..], &[128, 128], &[256; 3], &[512; 3], &[512; 3]] {
        for wide in stage {
            row("Conv2d", &format!("[-1, {wide}, {side}, {side}]"), channels * wide * 9 + wide);
            row("ReLU", &format!("[-1, {wide}, {side}, {side}]"), 0);
            channels = *wide;
        }
        side /= 2;
        row("MaxPool2d", &format!("[-1, {channels}, {side}, {side}]"), 0);
    }
    row("AdaptiveAvgPool2d", "[-1, 512, 7, 7]", 0);
    for (wide, into) in [(4096, 25_088), (4096, 4096)] {
        row("Linear", &format!("[-1, {wide}]"), into * wide + wide);
        row("ReLU", &format!("[-1, {wide}]"), 0);
        row("Dropout", &format!("[-1, {wide}]"), 0);
    }
    row("Linear", "[-1, 1000]", 4096 * 1000 + 1000);
    format!(
        "----------------------------------------------------------------\n        Layer (type)               Output Shape         Param #\n\
         ================================================================\n{}\n================================================================\n\
         Total params: 138,357,544\nTrainable params: 138,357,544\nNon-trainable params: 0\n",
        rows.join("\n")
    )
}

#[test]
fn tables_of_layers_are_read() {
    let catalog = Catalog::bundled();
    let vgg = torchsummary_of_vgg16();
    for (text, wanted) in [
        // Kept: both ReLUs 4,704 + 1,600, both pools 1,176 + 400 and their places twice that, 120, 84, 10.
        (TORCHINFO, "model=network params=62006 outputs=11246 widest=4704 macs=658281"),
        // The convolution's and the pool's output, the places, the last layer's.
        (KERAS, "model=network params=54410 trained-params=54090 outputs=37866 widest=21632 macs=270410"),
        (KERAS_3, "model=network params=116 outputs=8112 widest=5408 macs=78416"),
        (vgg.as_str(), "model=network params=138357544"),
    ] {
        let reading = read(text, Hints::pasted(&catalog));
        assert_eq!(reading.kind, TextKind::Model);
        assert!(said(&reading).starts_with(wanted), "wanted {wanted}\nfound  {}", said(&reading));
        let (project, unread) = reading.apply(&Project::default(), &catalog);
        assert_eq!(unread, []);
        let memory = estimate::memory(&project, None, &catalog).unwrap();
        let sum: u64 = memory.parts.iter().map(|p| p.0).sum();
        assert_eq!(sum, memory.card.0);
        assert!(estimate::time(&project, catalog.gpu("rtx-4090").unwrap(), 1, &catalog).is_ok());
    }
}

/// A network that the catalog knows as a program, given by its table: the two agree within the wide band.
#[test]
fn a_table_comes_near_the_program() {
    let catalog = Catalog::bundled();
    let reading = read(&torchsummary_of_vgg16(), Hints::pasted(&catalog));
    for precision in ["fp32", "amp-bf16"] {
        for batch in [1, 16, 64] {
            let base = Project {
                micro_batch: batch,
                framework: enough_gpu::project::Framework::Pytorch,
                precision: enough_gpu::project::Choice::from_id(precision).unwrap(),
                ..Project::default()
            };
            let table = reading.apply(&base, &catalog).0;
            let known = Project { model: "vgg-16".into(), image_side: 224, ..base };
            let [table, known] = [table, known].map(|p| estimate::memory(&p, None, &catalog).unwrap().allocated.gib());
            let off = table / known - 1.0;
            assert!(
                off.abs() < 0.25,
                "{precision}, batch {batch}: {table:.2} GiB by the table, {known:.2} by the program"
            );
        }
    }
}
