//! Temporary look at the tape.
use enough_gpu::network::{self, *};
use enough_gpu::project::*;
use enough_gpu::step::{self, *};
use std::collections::BTreeMap;

#[derive(Default)]
struct See {
    live: BTreeMap<u32, u64>,
    at: Vec<u64>,
    top: u64,
}
impl Observer for See {
    fn alloc(&mut self, s: u32, b: u64) {
        self.live.insert(s, b);
    }
    fn free(&mut self, s: u32) {
        self.live.remove(&s);
    }
    fn tick(&mut self, _p: Phase, _l: &Live, x: u64) {
        let t: u64 = self.live.values().sum::<u64>() + x;
        if t > self.top {
            self.top = t;
            self.at = self.live.values().copied().collect();
            if x > 0 {
                self.at.push(x);
            }
        }
    }
}
fn main() {
    let c = enough_gpu::catalog::Catalog::bundled();
    let mut a = std::env::args().skip(1);
    let id = a.next().unwrap();
    let layers: u32 = a.next().unwrap().parse().unwrap();
    let opts: Vec<String> = a.collect();
    let has = |s: &str| opts.iter().any(|o| o == s);
    let num = |s: &str, d: u64| opts.iter().find_map(|o| o.strip_prefix(s)).map_or(d, |v| v.parse().unwrap());
    let mut m = c.model(&id).unwrap().language().unwrap().clone();
    m.layers = layers;
    let lora = has("lora") || has("qlora");
    let cfg = StepConfig {
        batch: num("b=", 1),
        sequence: num("s=", 512),
        decoder_sequence: None,
        task: if m.kind == enough_gpu::catalog::LanguageKind::Encoder {
            Task::MaskedLanguageModel
        } else {
            Task::LanguageModel
        },
        trained: if lora {
            Trained::Adapters(Lora { rank: 16, targets: LoraTargets::AllLinear, dropout: 0.05 })
        } else {
            Trained::All
        },
        weights: if has("fp32") || (!lora && !has("pure") && !has("master")) { Dtype::F32 } else { Dtype::Bf16 },
        autocast: if has("fp32") || has("pure") || has("master") { None } else { Some(Dtype::Bf16) },
        master_weights: has("master"),
        quantization: has("qlora").then_some(Quantization::Nf4 { double: true }),
        kbit_prepare: true,
        quantized_saves_input: false,
        adapter: if has("pure") { Dtype::Bf16 } else { Dtype::F32 },
        optimizer: Optimizer::AdamW,
        optimizer_impl: StepImpl::Fused,
        checkpointing: if has("ck") { Checkpointing::PerBlock } else { Checkpointing::Off },
        reentrant: false,
        attention: if has("eager") {
            AttentionKernel::Eager
        } else if has("math") {
            AttentionKernel::Math
        } else if has("sdpa") {
            AttentionKernel::Sdpa
        } else {
            AttentionKernel::Flash
        },
        loss: if has("chunked") {
            Loss::FusedChunked
        } else if has("noup") {
            Loss::NoUpcast
        } else {
            Loss::Upcast
        },
        hold_outputs: false,
        accumulation: 1,
        shards: Shards::default(),
    };
    let p = network::language(&m, &cfg);
    let mut see = See::default();
    let r = step::run_observed(&p, &cfg, Walk::Full, &mut see);
    let fast = step::run(&p, &cfg, Walk::Ends);
    println!("{r:#?}\nfast {:?} params {}", fast.peak, p.parameters());
    let mut count: BTreeMap<u64, u32> = BTreeMap::new();
    for b in &see.at {
        *count.entry(*b).or_default() += 1;
    }
    for (b, n) in count.iter().rev().take(40) {
        println!("{:10.2} MiB x{n}", *b as f64 / 1048576.0);
    }
}
