//! Where the memory goes: parts, moments, and the reason for the peak.

use super::numbers::{counted, percent, whole};
use super::{Lang, Message, both, say};
use crate::catalog::{Architecture, Catalog, Model};
use crate::estimate::stack::leaves_experts;
use crate::estimate::{EstimateMethod, MemoryEstimate, Moment, Part, gathers_whole_gradients};
use crate::project::{Method, Project};
use crate::units::{Bytes, sort};

/// The name of a part.
pub const fn part(part: Part) -> Message {
    match part {
        Part::Weights => both!("权重", "Weights"),
        Part::Gradients => both!("梯度", "Gradients"),
        Part::Optimizer => both!("优化器状态", "Optimizer state"),
        Part::Activations => both!("激活", "Activations"),
        Part::Logits => both!("logits 和损失", "Logits and loss"),
        Part::Temporaries => both!("临时空间", "Scratch"),
        Part::Overhead => both!("环境和零碎", "Runtime and slack"),
    }
}

/// One sentence on what a part is.
pub const fn part_detail(part: Part) -> Message {
    match part {
        Part::Weights => both!("模型本身的数字，训练的和不训练的都算。", "The model's own numbers, trained or not."),
        Part::Gradients => {
            both!(
                "每个要训的参数该往哪边改，一个参数一个数。",
                "Which way each trained weight should move: one number each."
            )
        }
        Part::Optimizer => {
            both!(
                "优化器给每个要训的参数记的账，AdamW 记两个数。",
                "What the optimizer remembers; AdamW keeps two numbers per trained weight."
            )
        }
        Part::Activations => {
            both!(
                "前向算出的中间结果，反向要用；批越大、样本越长就越多。",
                "Results of the forward pass that backward needs; they grow with batch and length."
            )
        }
        Part::Logits => {
            both!(
                "每个位置给词表里每个词打的分，以及算损失要留的几份。",
                "A score for every word at every position, and the copies the loss keeps."
            )
        }
        Part::Temporaries => both!("算完就扔的缓冲区。", "Buffers that are thrown away at once."),
        Part::Overhead => {
            both!(
                "PyTorch 自己的环境（显卡上是 CUDA）、库的工作区和分配器的零头，几乎躲不掉。",
                "PyTorch's own runtime (CUDA on a card), library workspaces and the allocator's slack; hard to avoid."
            )
        }
    }
}

/// The name of a moment in the step.
pub const fn moment(moment: Moment) -> Message {
    match moment {
        Moment::Loading => both!("加载模型", "loading"),
        Moment::Encoding => both!("编码图片和文字", "encoding"),
        Moment::Forward => both!("前向", "forward"),
        Moment::Loss => both!("算损失", "loss"),
        Moment::Backward => both!("反向", "backward"),
        Moment::Optimizer => both!("更新参数", "optimizer step"),
    }
}

/// When the peak is.
fn when(moment: Moment) -> Message {
    match moment {
        Moment::Loading => both!("峰值出现在加载模型的时候", "The peak comes while the model is loaded"),
        Moment::Encoding => {
            both!("峰值出现在编码图片和文字的时候", "The peak comes while pictures and text are encoded")
        }
        Moment::Forward => both!("峰值出现在前向", "The peak comes in the forward pass"),
        Moment::Loss => both!("峰值出现在算损失的时候", "The peak comes while the loss is computed"),
        Moment::Backward => both!("峰值出现在反向", "The peak comes in the backward pass"),
        Moment::Optimizer => both!("峰值出现在更新参数的时候", "The peak comes in the optimizer step"),
    }
}

/// The reason for the peak in two sentences: when it is and what is largest then, and why that is so large.
pub fn why(lang: Lang, project: &Project, memory: &MemoryEstimate, catalog: &Catalog) -> String {
    let total = memory.card.0.max(1) as f64;
    let outside = memory.part(Part::Overhead);
    if outside.0 as f64 > total * 0.5 {
        let (name, share) = (named(lang, Part::Overhead), percent(outside.0 as f64 / total));
        let detail = part_detail(Part::Overhead).text(lang);
        return say!(
            lang,
            "大头不是模型，是{name}：{outside}（{share}）。{detail}",
            "The larger part is not the model but {name}: {outside} ({share}). {detail}"
        );
    }
    let mut parts: Vec<(Part, Bytes)> =
        Part::ALL.into_iter().filter(|p| *p != Part::Overhead).map(|p| (p, memory.part(p))).collect();
    sort(&mut parts, |(_, a), (_, b)| b.cmp(a));
    let Some((part, bytes)) = parts.first().copied() else { return String::new() };
    let when = when(memory.moment).text(lang);
    let (name, share) = (named(lang, part), percent(bytes.0 as f64 / total));
    let first =
        say!(lang, "{when}，那一刻{name}占了 {bytes}（{share}）", "{when}. Largest then: {name}, {bytes} ({share})");
    // A second part is worth naming where it weighs in.
    let second = parts.get(1).filter(|(_, bytes)| bytes.0 as f64 > total * 0.15).map(|(part, bytes)| {
        let (name, share) = (named(lang, *part), percent(bytes.0 as f64 / total));
        say!(lang, "，其次是{name} {bytes}（{share}）", "; then {name}, {bytes} ({share})")
    });
    let end = lang.pick("。", ". ");
    format!("{first}{}{end}{}", second.unwrap_or_default(), reason(lang, part, project, memory, catalog))
}

/// The name of a part inside a sentence.
fn named(lang: Lang, part: Part) -> String {
    let name = self::part(part).text(lang);
    match lang {
        Lang::En => name.to_ascii_lowercase(),
        Lang::Zh if name.starts_with(|c: char| c.is_ascii()) => format!(" {name}"),
        Lang::Zh => name.to_string(),
    }
}

fn reason(lang: Lang, part: Part, project: &Project, memory: &MemoryEstimate, catalog: &Catalog) -> String {
    let model = catalog.model(&project.model);
    let params = model.map(|m| counted(lang, m.params as f64));
    match part {
        Part::Weights => {
            let frozen = project.method.is_adapter();
            if model.and_then(|m| m.language()).is_some_and(|m| leaves_experts(project, m)) {
                // More than three bytes a weight: the preparation for k bits makes fp32 of what was not packed.
                if model.is_some_and(|m| memory.part(part).0 as f64 > 3.0 * m.params as f64) {
                    return say!(
                        lang,
                        "这个框架现在的版本压不了混合专家里的专家层，训练前的 k-bit 准备还把它们转成 32 位：跳过这一步省一半。Unsloth、Axolotl 能压。",
                        "This library cannot pack a mixture's experts at present, and its k-bit preparation makes 32 bit of them: without that step half of it goes. Unsloth and Axolotl can pack them."
                    );
                }
                return say!(
                    lang,
                    "这个框架现在的版本压不了混合专家里的专家层：底座大半还是 16 位。Unsloth、Axolotl 能压。",
                    "This library cannot pack a mixture's experts at present, so most of the base stays in 16 bit. Unsloth and Axolotl can."
                );
            }
            match (params, frozen) {
                (Some(n), true) => say!(
                    lang,
                    "{n}参数的底座不训练，但也得整个放在卡上。",
                    "The base of {n} parameters is not trained, but all of it must be on the card."
                ),
                (Some(n), false) => say!(
                    lang,
                    "模型有 {n}参数，光是放着就要这么多。",
                    "The model has {n} parameters; just holding them takes that much."
                ),
                (None, _) => part_detail(part).text(lang).to_string(),
            }
        }
        Part::Logits => {
            let vocab = model.and_then(|m| m.language()).map(|l| u64::from(l.vocab));
            let vocab = vocab.or(project.custom.as_ref().map(|c| c.vocab));
            match vocab {
                Some(words) => {
                    let tokens = whole(project.micro_batch.saturating_mul(project.sequence) as f64);
                    let words = counted(lang, words as f64);
                    say!(
                        lang,
                        "词表有 {words}词，{tokens} 个位置，每个位置都要给每个词打分。",
                        "A vocabulary of {words} words at {tokens} positions: a score for each pair."
                    )
                }
                None => part_detail(part).text(lang).to_string(),
            }
        }
        Part::Activations => activations(lang, project, memory, catalog),
        Part::Gradients if gathers_whole_gradients(project) => {
            let steps = whole(project.accumulation as f64);
            say!(
                lang,
                "FSDP 攒梯度（累积 {steps} 次）时先不分，每张卡都留着一整份；累积改成 1 就分开放。",
                "While FSDP accumulates ({steps} micro-batches) every card keeps whole gradients; with an accumulation of 1 they are divided."
            )
        }
        Part::Optimizer | Part::Gradients => match params {
            Some(n) if !project.method.is_adapter() => say!(
                lang,
                "{n}参数全都要训，每个都得配上梯度和优化器的账。",
                "All {n} parameters are trained, and each needs its gradient and the optimizer's notes."
            ),
            _ => part_detail(part).text(lang).to_string(),
        },
        Part::Temporaries if memory.moment == Moment::Optimizer => say!(
            lang,
            "优化器一次更新所有参数，临时要一份同样大的地方；换成 fused 就不用。",
            "The optimizer updates all weights at once and needs room for a copy; the fused one does not."
        ),
        Part::Temporaries | Part::Overhead => part_detail(part).text(lang).to_string(),
    }
}

fn activations(lang: Lang, project: &Project, memory: &MemoryEstimate, catalog: &Catalog) -> String {
    let batch = whole(project.micro_batch as f64);
    let pictures = catalog
        .model(&project.model)
        .is_some_and(|m| matches!(m.architecture, Architecture::Vision(_) | Architecture::Diffusion(_)));
    if pictures {
        let side = whole(project.image_side as f64);
        if project.frames > 1 {
            let frames = whole(project.frames as f64);
            if catalog.model(&project.model).is_some_and(Model::is_volumetric) {
                return say!(
                    lang,
                    "一次 {batch} 块、每块 {frames} × {side} × {side} 个体素，每一层的输出都要留到反向。",
                    "{batch} blocks of {frames} x {side} x {side} voxels at a time: every layer's output is kept for backward."
                );
            }
            return say!(
                lang,
                "一次 {batch} 段、每段 {frames} 帧，画面相当于边长 {side} 像素的正方形，每一层的输出都要留到反向。",
                "{batch} clips of {frames} frames at a time, each as large as a square of {side} pixels: every layer's output is kept for backward."
            );
        }
        return say!(
            lang,
            "一次 {batch} 张、边长 {side} 像素，每一层的输出都要留到反向。",
            "{batch} at a time with a side of {side} pixels: every layer's output is kept for backward."
        );
    }
    if project.method == Method::Head || memory.moment == Moment::Encoding {
        return part_detail(Part::Activations).text(lang).to_string();
    }
    let sequence = whole(project.sequence as f64);
    if catalog.model(&project.model).is_some_and(|m| m.language().is_some()) || project.custom.is_some() {
        return say!(
            lang,
            "一次 {batch} 条、每条 {sequence} 个 token，每一层的中间结果都要留到反向。",
            "{batch} at a time with {sequence} tokens each: every layer's results are kept for backward."
        );
    }
    part_detail(Part::Activations).text(lang).to_string()
}

/// How the figure was made, where that widens the band.
pub fn method_note(lang: Lang, method: EstimateMethod) -> Option<String> {
    match method {
        EstimateMethod::Symbolic | EstimateMethod::Measured => None,
        EstimateMethod::Extrapolated => Some(say!(
            lang,
            "这组设置超出了实测过的范围，误差放宽了。",
            "These settings lie outside what was measured, so the band is wide."
        )),
        EstimateMethod::Rough => Some(say!(
            lang,
            "这个模型没有实测数据，是按参数量和计算量推的，只能当个大概。",
            "This model was not measured; the figure is scaled from its size and only rough."
        )),
    }
}

/// The picture of the step in one sentence.
pub fn timeline_summary(lang: Lang, memory: &MemoryEstimate) -> String {
    let peak = memory.allocated;
    let at = moment(memory.moment).text(lang);
    let curve = say!(
        lang,
        "从左到右是一步训练：前向、算损失、反向、更新参数。最高点 {peak}，在{at}。",
        "One training step from left to right: forward, loss, backward, optimizer. Highest at {peak}, in {at}."
    );
    if memory.card <= peak {
        return curve;
    }
    let (card, rest) = (memory.card, memory.card - peak);
    let beside = say!(
        lang,
        "曲线里没有环境和零碎的 {rest}，加上就是 {card}。",
        " Runtime and slack, {rest}, are not in the curve: with them it is {card}."
    );
    curve + &beside
}
