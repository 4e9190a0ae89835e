//! Names of the choices.

use super::{Lang, Message, both};
use crate::project::Field;

/// The name of a choice by its id; the id itself where the field has no such choice.
pub fn choice(lang: Lang, field: Field, id: &str) -> &str {
    named(field, id).map_or(id, |m| m.text(lang))
}

fn named(field: Field, id: &str) -> Option<Message> {
    Some(match (field, id) {
        (Field::Method, "full") => both!("全参数微调", "Full fine-tune"),
        (Field::Method, "scratch") => both!("从零训练", "From scratch"),
        (Field::Method, "freeze") => both!("冻结下面的层", "Lower layers frozen"),
        (Field::Method, "head") => both!("只训最后一层", "Last layer only"),
        (Field::Method, "lora") => both!("LoRA", "LoRA"),
        (Field::Method, "qlora") => both!("QLoRA（4 bit 底座）", "QLoRA (4-bit base)"),

        (Field::LoraTargets, "qv") => both!("只加 q 和 v", "q and v only"),
        (Field::LoraTargets, "attn") => both!("注意力的四个投影", "All attention projections"),
        (Field::LoraTargets, "all-linear") => both!("所有线性层", "Every linear layer"),

        (Field::LoraTargets, "all-linear-head") => both!("所有线性层加输出层", "Every linear layer and the head"),

        (Field::Precision, "fp32") => both!("单精度 fp32", "fp32"),
        (Field::Precision, "amp-bf16") => both!("混合精度 bf16", "Mixed, bf16"),
        (Field::Precision, "amp-fp16") => both!("混合精度 fp16", "Mixed, fp16"),
        (Field::Precision, "bf16") => both!("纯 bf16", "Pure bf16"),
        (Field::Precision, "bf16-master") => both!("bf16，另存 fp32 主权重", "bf16 with fp32 masters"),

        (Field::Base, "auto") => both!("跟着方法和精度走", "As method and precision imply"),
        (Field::Base, "fp32") => both!("fp32，每个数 4 字节", "fp32, 4 bytes a weight"),
        (Field::Base, "bf16") => both!("bf16，每个数 2 字节", "bf16, 2 bytes a weight"),
        (Field::Base, "fp8") => both!("fp8，每个数 1 字节", "fp8, 1 byte a weight"),
        (Field::Base, "int8") => both!("int8，每个数 1 字节", "int8, 1 byte a weight"),
        (Field::Base, "nf4") => both!("NF4，每个数半字节", "NF4, half a byte a weight"),

        (Field::Base, "fp8-dynamic") => both!("fp8（激活也动态量化）", "fp8, activations too (dynamic)"),
        (Field::Base, "nf4-dq") => both!("NF4 双重量化", "NF4, double quantization"),
        (Field::Base, "int4") => both!("int4（GPTQ、AWQ）", "int4 (GPTQ, AWQ)"),

        (Field::Optimizer, "adamw") => both!("AdamW", "AdamW"),
        (Field::Optimizer, "adamw8bit") => both!("AdamW 8 bit", "AdamW 8-bit"),
        (Field::Optimizer, "paged-adamw8bit") => both!("AdamW 8 bit，可换到内存", "Paged AdamW 8-bit"),
        (Field::Optimizer, "paged-adamw") => both!("AdamW，可换到内存", "Paged AdamW"),
        (Field::Optimizer, "adafactor") => both!("Adafactor", "Adafactor"),
        (Field::Optimizer, "sgd") => both!("SGD", "SGD"),
        (Field::Optimizer, "sgd-momentum") => both!("SGD 加动量", "SGD with momentum"),
        (Field::Optimizer, "lion") => both!("Lion", "Lion"),
        (Field::Optimizer, "muon") => both!("Muon", "Muon"),
        (Field::Optimizer, "galore") => both!("GaLore", "GaLore"),

        (Field::TextEncoders, "auto") => both!("跟着潜变量", "As the latents"),
        (Field::OptimizerImpl | Field::Attention | Field::Loss | Field::Task, "auto") => both!("自动", "Automatic"),
        (Field::OptimizerImpl, "foreach") => {
            both!("foreach：一起更新，快但占临时显存", "foreach: all at once, needs scratch")
        }
        (Field::OptimizerImpl, "fused") => both!("fused：一个内核，不占临时显存", "fused: one kernel, no scratch"),
        (Field::OptimizerImpl, "loop") => both!("逐个参数更新", "One weight at a time"),
        (Field::OptimizerImpl, "in-backward") => {
            both!("边反向边更新，梯度随用随放", "During backward, gradients freed at once")
        }

        (Field::Checkpointing, "on") => both!("开（每层一个）", "On (per block)"),
        (Field::Checkpointing, "pairs") => both!("开（每两层一个）", "On (every two blocks)"),
        (Field::Checkpointing, "selective") => both!("只重算注意力", "Attention only"),

        (Field::Checkpointing, "offload") => both!("开，检查点放到内存", "On, kept in main memory"),

        (Field::Attention, "eager") => both!("Eager：写出整张表", "Eager: scores written out"),
        (Field::Attention, "math") => both!("PyTorch 的备用实现", "PyTorch's fallback"),
        (Field::Attention, "efficient") => both!("省显存版（xFormers）", "Memory-efficient (xFormers)"),
        (Field::Attention, "flash") => both!("FlashAttention-2", "FlashAttention-2"),

        (Field::Loss, "hf") => both!("logits 转成 fp32", "Logits cast to fp32"),
        (Field::Loss, "no-upcast") => both!("logits 保持 16 位", "Logits kept in 16 bit"),
        (Field::Loss, "chunked") => both!("分块算", "In chunks"),
        (Field::Loss, "fused") => both!("融合（Liger 一类）", "Fused (Liger and like)"),

        (Field::Offload, "none") => both!("都留在卡上", "Nothing"),
        (Field::Offload, "optimizer") => both!("优化器状态", "Optimizer state"),
        (Field::Offload, "weights") => both!("权重，逐层搬", "Weights, layer by layer"),
        (Field::Offload, "all") => both!("权重和优化器状态", "Weights and optimizer state"),
        (Field::Offload, "nvme") => both!("权重和状态放到 NVMe 硬盘", "Weights and state on an NVMe disk"),

        (Field::Objective, "likelihood") => both!("照着样本学", "Learn from samples"),
        (Field::Objective, "dpo") => both!("偏好对齐（DPO）", "Preferences (DPO)"),
        (Field::Objective, "grpo") => both!("采样打分的强化学习（GRPO）", "Sampled and rewarded (GRPO)"),
        (Field::Objective, "simpo") => both!("偏好对齐，不要参考模型", "Preferences without a reference"),

        (Field::TextEncoders, "cached") => both!("不上卡：文字先编码好", "Off the card: captions encoded beforehand"),
        (Field::TextEncoders, "resident") => both!("在卡上，不训练", "On the card, frozen"),
        (Field::TextEncoders, "trained") => both!("在卡上，一起训练", "On the card, trained along"),

        (Field::Task, "lm") => both!("预测下一个词", "Next token"),
        (Field::Task, "mlm") => both!("填空（MLM）", "Masked tokens"),
        (Field::Task, "cls") => both!("分类、打分", "A label or a score"),
        (Field::Task, "embed") => both!("向量", "A vector"),

        (Field::Framework, "transformers") => both!("Hugging Face Transformers", "Hugging Face Transformers"),
        (Field::Framework, "llama-factory") => both!("LLaMA-Factory", "LLaMA-Factory"),
        (Field::Framework, "axolotl") => both!("Axolotl", "Axolotl"),
        (Field::Framework, "unsloth") => both!("Unsloth", "Unsloth"),
        (Field::Framework, "ms-swift") => both!("ms-swift", "ms-swift"),
        (Field::Framework, "torchtune") => both!("torchtune", "torchtune"),
        (Field::Framework, "litgpt") => both!("LitGPT", "LitGPT"),
        (Field::Framework, "torchtitan") => both!("TorchTitan", "TorchTitan"),
        (Field::Framework, "megatron") => both!("Megatron-LM", "Megatron-LM"),
        (Field::Framework, "llm-foundry") => both!("llm-foundry", "llm-foundry"),
        (Field::Framework, "pytorch") => both!("自己写的 PyTorch", "Plain PyTorch"),
        (Field::Framework, "diffusers") => both!("diffusers", "diffusers"),
        (Field::Framework, "kohya") => both!("kohya：sd-scripts、musubi-tuner", "kohya: sd-scripts, musubi-tuner"),
        (Field::Framework, "simpletuner") => both!("SimpleTuner", "SimpleTuner"),
        (Field::Framework, "onetrainer") => both!("OneTrainer", "OneTrainer"),
        (Field::Framework, "ai-toolkit") => both!("ai-toolkit", "ai-toolkit"),
        (Field::Framework, "ultralytics") => both!("Ultralytics", "Ultralytics"),
        (Field::Framework, "openmmlab") => both!("MMDetection、MMSegmentation", "MMDetection, MMSegmentation"),

        (Field::Sharding, "auto") => both!("自动：能装下的最简单那种", "Automatic: the simplest that fits"),
        (Field::Sharding, "ddp") => both!("每张卡都放一整份（DDP）", "A full copy on each (DDP)"),
        (Field::Sharding, "zero1") => both!("分优化器状态（ZeRO-1）", "Optimizer state divided (ZeRO-1)"),
        (Field::Sharding, "zero2") => both!("再分梯度（ZeRO-2）", "Gradients too (ZeRO-2)"),
        (Field::Sharding, "zero3") => both!("全都分（ZeRO-3、FSDP）", "Everything (ZeRO-3, FSDP)"),
        (Field::Sharding, "device-map") => both!("按层摆开，轮流干活", "Layers laid out, one works at a time"),
        (Field::Sharding, "zero3-offload") => both!("全都分，再放到内存", "Everything, in main memory"),
        (Field::Sharding, "fsdp") => both!("全都分（PyTorch FSDP）", "Everything (PyTorch FSDP)"),
        (Field::Sharding, "fsdp2") => both!("全都分（PyTorch FSDP2）", "Everything (PyTorch FSDP2)"),
        (Field::Sharding, "fsdp-grad") => {
            both!("一步之内权重保持完整（FSDP SHARD_GRAD_OP）", "Weights whole within a step (FSDP SHARD_GRAD_OP)")
        }
        (Field::Sharding, "fsdp-hybrid") => {
            both!("每台机器内全都分（FSDP HYBRID_SHARD）", "Everything, within each machine (FSDP HYBRID_SHARD)")
        }

        (Field::Interconnect, "auto") => both!("按这种卡通常的接法", "As usual for the card"),
        (Field::Interconnect, "nvlink") => both!("NVLink", "NVLink"),
        (Field::Interconnect, "pcie-x16") => both!("PCIe，插槽 x16", "PCIe, x16 slots"),
        (Field::Interconnect, "pcie-x8") => both!("PCIe，插槽 x8", "PCIe, x8 slots"),
        (Field::Interconnect, "pcie-x4") => both!("PCIe，插槽 x4", "PCIe, x4 slots"),

        (Field::Network, "auto") => both!("按这种卡通常的机房", "As usual for the card"),
        (Field::Network, "1g") => both!("千兆网线", "1 Gb/s Ethernet"),
        (Field::Network, "10g") => both!("万兆网", "10 Gb/s Ethernet"),
        (Field::Network, "25g") => both!("25 Gb/s 以太网", "25 Gb/s Ethernet"),
        (Field::Network, "100g") => both!("100 Gb/s 以太网", "100 Gb/s Ethernet"),
        (Field::Network, "ib-200") => both!("InfiniBand，每张卡 200 Gb/s", "InfiniBand, 200 Gb/s a card"),
        (Field::Network, "ib-400") => both!("InfiniBand，每张卡 400 Gb/s", "InfiniBand, 400 Gb/s a card"),

        (Field::Place, "auto") => both!("跟着货币走", "As the currency suggests"),
        (Field::Place, "china") => both!("中国，居民电价", "China, household"),
        (Field::Place, "china-business") => both!("中国，商业电价", "China, business"),
        (Field::Place, "us") => both!("美国，居民电价", "United States, household"),
        (Field::Place, "eu") => both!("欧盟，居民电价", "European Union, household"),
        (Field::Place, "germany") => both!("德国，居民电价", "Germany, household"),

        (Field::Currency, "cny") => both!("¥ 人民币", "¥ CNY"),
        (Field::Currency, "usd") => both!("$ 美元", "$ USD"),
        (_, "on") => both!("开", "On"),
        (_, "off") => both!("关", "Off"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::{
        Attention, BaseFormat, Checkpointing, Choice, Framework, Interconnect, LanguageTask, LoraTargets, LossKernel,
        Method, Network, Objective, Offload, Optimizer, OptimizerImpl, Place, Precision, Sharding, TextEncoders,
    };

    #[test]
    fn every_choice_has_a_name() {
        fn check<C: Choice>(field: Field) {
            for choice in C::ALL {
                let name = named(field, choice.id());
                assert!(name.is_some_and(|n| !n.zh.is_empty() && !n.en.is_empty()), "{field:?} {}", choice.id());
            }
        }
        check::<Method>(Field::Method);
        check::<LoraTargets>(Field::LoraTargets);
        check::<Precision>(Field::Precision);
        check::<BaseFormat>(Field::Base);
        check::<Optimizer>(Field::Optimizer);
        check::<OptimizerImpl>(Field::OptimizerImpl);
        check::<Checkpointing>(Field::Checkpointing);
        check::<Attention>(Field::Attention);
        check::<LossKernel>(Field::Loss);
        check::<Offload>(Field::Offload);
        check::<Objective>(Field::Objective);
        check::<LanguageTask>(Field::Task);
        check::<TextEncoders>(Field::TextEncoders);
        check::<Framework>(Field::Framework);
        check::<Sharding>(Field::Sharding);
        check::<Interconnect>(Field::Interconnect);
        check::<Network>(Field::Network);
        check::<Place>(Field::Place);
    }
}
