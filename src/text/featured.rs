//! The projects that most people come with, in the words they use for them.

use super::{Message, both};

/// A preset under the name a beginner would give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Featured {
    /// Id of the preset.
    pub preset: &'static str,
    /// What people call it.
    pub name: Message,
    /// What it stands for, exactly.
    pub detail: Message,
}

/// In the order of ambition.
pub const FEATURED: &[Featured] = &[
    Featured {
        preset: "mnist",
        name: both!("跑通手写数字识别", "Get handwritten digits working"),
        detail: both!("MNIST，跟着教程走", "MNIST, along a tutorial"),
    },
    Featured {
        preset: "cat-dog",
        name: both!("分辨猫和狗", "Tell cats from dogs"),
        detail: both!("ResNet-18，两万多张照片", "ResNet-18, 25,000 photos"),
    },
    Featured {
        preset: "gongbi-lora-sdxl",
        name: both!("模仿工笔画风格", "Paint in the gongbi style"),
        detail: both!("SDXL LoRA，几十张画", "SDXL LoRA, some dozens of paintings"),
    },
    Featured {
        preset: "joke-chat-qlora",
        name: both!("会讲冷笑话的中文对话模型", "A Chinese chat model that tells bad jokes"),
        detail: both!("Qwen2.5-7B QLoRA，上千段对话", "Qwen2.5-7B QLoRA, a thousand dialogues"),
    },
    Featured {
        preset: "vision-scratch-imagenet",
        name: both!("从头训练一个视觉模型", "A vision model of your own, from scratch"),
        detail: both!("ResNet-50，ImageNet", "ResNet-50 on ImageNet"),
    },
    Featured {
        preset: "hires-seg",
        name: both!("处理分辨率非常高的图像", "Very high-resolution images"),
        detail: both!("2048 像素分割，SegFormer", "Segmentation at 2048 pixels, SegFormer"),
    },
    Featured {
        preset: "llm-7b-lora",
        name: both!("微调数十亿参数的大语言模型", "Fine-tune an LLM of billions of parameters"),
        detail: both!("Qwen2.5-7B LoRA", "Qwen2.5-7B LoRA"),
    },
    Featured {
        preset: "llm-70b-full",
        name: both!("百亿、千亿参数级别的大模型", "Tens to hundreds of billions of parameters"),
        detail: both!("Llama-3.1-70B 全参数微调", "Llama-3.1-70B, all weights"),
    },
];

/// The preset that the page opens with: small enough to be within reach, large enough that the card matters.
pub const OPENING: &str = "joke-chat-qlora";

/// The featured name of a preset, if it has one.
pub fn name(preset: &str) -> Option<Message> {
    FEATURED.iter().find(|f| f.preset == preset).map(|f| f.name)
}
