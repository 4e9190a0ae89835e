//! What a run is said to have been, format by format.

use super::*;

#[test]
fn formats_are_named_as_people_name_them() {
    use BaseFormat as B;
    let of = |method, base, precision, framework| {
        formats(&Project { method, precision, base, framework, ..Project::default() })
    };
    let plain = |precision| of(Method::Full, B::AsPrecision, precision, Framework::Transformers);
    assert_eq!(plain(Precision::Fp32), ("fp32", "fp32"));
    assert_eq!(plain(Precision::AmpBf16), ("fp32", "bf16"));
    assert_eq!(plain(Precision::AmpFp16), ("fp32", "fp16"));
    assert_eq!(plain(Precision::PureBf16), ("bf16 (pure)", "bf16"));
    assert_eq!(plain(Precision::MasterBf16), ("bf16 + fp32 master", "bf16"));
    assert_eq!(of(Method::Full, B::AsPrecision, Precision::PureBf16, Framework::Pytorch), ("bf16", "bf16"));
    for (base, name) in [
        (B::Fp32, "fp32"),
        (B::Bf16, "bf16"),
        (B::Fp8, "fp8"),
        (B::Fp8Dynamic, "fp8 dynamic"),
        (B::Int8, "int8"),
        (B::Nf4, "nf4"),
        (B::Nf4Double, "nf4-dq"),
        (B::Int4, "int4"),
    ] {
        assert_eq!(of(Method::Lora, base, Precision::AmpFp16, Framework::Transformers), (name, "fp16"));
    }
    let unsaid = |method, precision| of(method, B::AsPrecision, precision, Framework::Transformers).0;
    assert_eq!(unsaid(Method::QLora, Precision::AmpBf16), "nf4-dq");
    assert_eq!(unsaid(Method::QLora, Precision::Fp32), "nf4-dq");
    assert_eq!(unsaid(Method::Lora, Precision::AmpBf16), "bf16");
    assert_eq!(unsaid(Method::Lora, Precision::Fp32), "fp32");
}

#[test]
fn optimizers_are_named_with_their_kernels() {
    use crate::project::{Optimizer as O, OptimizerImpl as I};
    let of = |optimizer, optimizer_impl| optimizer_name(optimizer, optimizer_impl);
    for (kind, how, name) in [
        (O::AdamW, I::Auto, "AdamW"),
        (O::AdamW, I::Foreach, "AdamW foreach"),
        (O::AdamW, I::Fused, "AdamW fused"),
        (O::Sgd, I::Loop, "SGD loop"),
        (O::Adafactor, I::InBackward, "Adafactor in backward"),
        (O::AdamW8bit, I::Auto, "AdamW 8-bit"),
        (O::PagedAdamW8bit, I::Auto, "paged AdamW 8-bit"),
        (O::PagedAdamW, I::Auto, "paged AdamW"),
        (O::SgdMomentum, I::Auto, "SGD momentum"),
        (O::Lion, I::Auto, "Lion"),
        (O::Muon, I::Auto, "Muon"),
        (O::Galore, I::Auto, "GaLore"),
    ] {
        assert_eq!(of(kind, how), name);
    }
}

fn optimizer_name(optimizer: crate::project::Optimizer, optimizer_impl: crate::project::OptimizerImpl) -> String {
    super::optimizer(&Project { optimizer, optimizer_impl, ..Project::default() })
}

#[test]
fn settings_in_doubt_are_those_that_nobody_set() {
    let catalog = Catalog::bundled();
    let base = Project { model: "llama-3.1-8b".to_owned(), method: Method::Lora, ..Project::default() };
    let asked = |p: &Project, field| is_asked(p, field, &catalog);
    assert!(asked(&base, Field::Base) && asked(&Project { base: BaseFormat::Bf16, ..base.clone() }, Field::Base));
    assert!(!asked(&Project { base: BaseFormat::Int8, ..base.clone() }, Field::Base));
    assert!(!asked(&Project { method: Method::QLora, ..base.clone() }, Field::Base));
    assert!(asked(&base, Field::Loss) && !asked(&Project { loss: LossKernel::Fused, ..base.clone() }, Field::Loss));
    assert!(asked(&base, Field::Attention));
    assert!(!asked(&Project { attention: Attention::Flash, ..base.clone() }, Field::Attention));
    // Adapters have no masters beside them.
    let master = |method| Project { precision: Precision::MasterBf16, method, ..base.clone() };
    assert!(!asked(&master(Method::Lora), Field::Precision) && asked(&master(Method::Full), Field::Precision));
    assert!(asked(&base, Field::Precision));
    // A picture's side is no matter of a language model.
    assert!(!asked(&base, Field::ImageSide) && asked(&base, Field::MicroBatch));
}
