//! What can be done about it.

use super::numbers::{counted, money, percent, plain, whole};
use super::{Lang, Message, both, choice, say};
use crate::advise::{Advice, Fix, FixKind, QualityRisk};
use crate::project::{Choice, Field, Framework, Sharding};
use crate::units::{Bytes, Money};

/// What a fix is called, as something to do.
pub fn fix(lang: Lang, kind: FixKind) -> String {
    match kind {
        FixKind::MixedPrecision => say!(lang, "改用混合精度", "Use mixed precision"),
        FixKind::Fp16 => say!(lang, "精度换成 fp16", "Use mixed fp16"),
        FixKind::PureBf16 => say!(lang, "改用纯 bf16", "Train in pure bf16"),
        FixKind::Checkpointing => say!(lang, "打开梯度检查点", "Turn on gradient checkpointing"),
        FixKind::FlashAttention => say!(lang, "换成 FlashAttention", "Use FlashAttention"),
        FixKind::FusedLoss => say!(lang, "损失换成融合实现", "Fuse the loss"),
        FixKind::FusedOptimizer => say!(lang, "优化器换成 fused", "Use the fused optimizer"),
        FixKind::SmallerMicroBatch { micro_batch, accumulation } => {
            let (micro, steps) = (whole(micro_batch as f64), whole(accumulation as f64));
            say!(lang, "批大小降到 {micro}，累积 {steps} 次", "Batch {micro}, accumulated {steps} times")
        }
        FixKind::LargerMicroBatch { micro_batch, .. } => {
            let micro = whole(micro_batch as f64);
            say!(lang, "批大小开到 {micro}", "Batch {micro}")
        }
        FixKind::LessAccumulation { accumulation } => {
            let steps = whole(accumulation as f64);
            say!(lang, "累积减到 {steps}", "Accumulate {steps} micro-batch only")
        }
        FixKind::Optimizer8bit => say!(lang, "换成 8 bit AdamW", "Use 8-bit AdamW"),
        FixKind::PagedOptimizer => {
            say!(lang, "换成 8 bit AdamW，状态可换到内存", "Use 8-bit AdamW, paged to main memory")
        }
        FixKind::Freeze { share } => {
            let share = percent(share);
            say!(lang, "冻结下面 {share} 的层", "Freeze the lower {share} of the layers")
        }
        FixKind::Unquantized => say!(lang, "不量化，换回 16 位", "Train unquantized, in 16 bit"),
        FixKind::Lora => say!(lang, "改成 LoRA", "Train LoRA adapters instead"),
        FixKind::QLora => say!(lang, "改成 QLoRA（4 bit 底座）", "Train QLoRA (4-bit base)"),
        FixKind::QuantizedBase => say!(lang, "底座换成 8 bit", "Hold the base in 8 bit"),
        FixKind::Base4bit => say!(lang, "底座换成 4 bit（NF4）", "Hold the base in 4 bit (NF4)"),
        FixKind::LoraRank { rank } => say!(lang, "LoRA 的秩降到 {rank}", "Lower the LoRA rank to {rank}"),
        FixKind::Library { framework } => {
            let library = choice(lang, Field::Framework, framework.id());
            say!(lang, "改用 {library} 来训", "Train with {library}")
        }
        FixKind::ShorterSequence { sequence } => {
            let tokens = whole(sequence as f64);
            say!(lang, "序列缩短到 {tokens}", "Shorten to {tokens} tokens")
        }
        FixKind::SmallerImage { side } => {
            let side = whole(side as f64);
            say!(lang, "图像缩到 {side} 像素", "Shrink images to {side} px")
        }
        FixKind::FewerFrames { frames } => {
            let frames = whole(frames as f64);
            say!(lang, "每段减到 {frames} 帧", "Cut clips to {frames} frames")
        }
        FixKind::ShorterAudio { seconds } => {
            let seconds = plain(seconds);
            say!(lang, "每条减到 {seconds} 秒", "Cut clips to {seconds} s")
        }
        FixKind::FreeDisplay => say!(lang, "显示器插到主板上", "Plug the screen into the board"),
        FixKind::CacheLatents => say!(lang, "先把潜变量缓存好", "Cache latents beforehand"),
        FixKind::BlockSwap { share } => {
            let share = percent(share);
            say!(lang, "把 {share} 的层放到内存里轮换", "Swap {share} of the blocks to main memory")
        }
        FixKind::SmallerModel { name, params, .. } => {
            let size = counted(lang, params as f64);
            say!(lang, "换成小一号的 {name}（{size}参数）", "Take the smaller {name} ({size} parameters)")
        }
        FixKind::MoreCards { count } => {
            say!(lang, "凑够 {count} 张卡（要买或者租）", "Get {count} cards (to buy or rent)")
        }
        FixKind::Sharding => say!(lang, "把状态分到几张卡上", "Divide the state over the cards"),
        FixKind::Way { sharding } => {
            let way = choice(lang, Field::Sharding, sharding.id());
            say!(lang, "分工改成“{way}”", "Change the sharing: {way}")
        }
        FixKind::Offload => say!(lang, "优化器状态放到内存", "Move optimizer state to main memory"),
    }
}

/// One sentence on how it works.
pub const fn fix_detail(kind: FixKind) -> Message {
    match kind {
        FixKind::MixedPrecision => {
            both!(
                "大部分运算用 16 位，中间结果小一半，新卡还更快。",
                "Most arithmetic in 16 bit: half the activations, and faster on recent cards."
            )
        }
        FixKind::Fp16 => {
            both!(
                "没有 bf16 的卡就用它：一样省显存，损失缩放由框架自动处理。",
                "For cards without bf16: as little memory, and the library scales the loss by itself."
            )
        }
        FixKind::PureBf16 => {
            both!("权重、梯度、优化器状态都只留 16 位。", "Weights, gradients and optimizer state in 16 bit only.")
        }
        FixKind::Checkpointing => {
            both!(
                "不存每层的中间结果，反向时重算一遍：拿时间换显存。",
                "Recompute each layer in backward instead of keeping it: time for memory."
            )
        }
        FixKind::FlashAttention => {
            both!("不写出整张注意力表，结果一样。", "The score table is never written out; the result is the same.")
        }
        FixKind::FusedLoss => {
            both!(
                "logits 一块一块地算、算完就扔，结果一样。",
                "Logits are made and dropped a piece at a time; the result is the same."
            )
        }
        FixKind::FusedOptimizer => {
            both!(
                "一个内核更新完，不要临时空间，结果一样。",
                "One kernel without scratch memory; the result is the same."
            )
        }
        FixKind::SmallerMicroBatch { .. } => {
            both!(
                "一次少放几条，多攒几次再更新，等效批大小不变；批归一化只看一次放的这些。",
                "Fewer at a time, more of them per update: the effective batch stays. Batch norm, where there is one, sees the few."
            )
        }
        FixKind::LargerMicroBatch { .. } => {
            both!(
                "一次多放几条，少攒几次，把卡用满。",
                "More at a time and fewer of them per update: the card is used fully."
            )
        }
        FixKind::LessAccumulation { .. } => {
            both!(
                "FSDP 攒梯度的时候，每张卡都留着一整份；不攒就分开放。等效批变小了，学习率跟着调低。",
                "While FSDP accumulates, every card keeps whole gradients; without it they are divided. The effective batch is smaller: lower the learning rate with it."
            )
        }
        FixKind::Optimizer8bit => {
            both!(
                "优化器记的账用 8 位存，通常看不出差别。",
                "The optimizer's notes in 8 bit; rarely a visible difference."
            )
        }
        FixKind::PagedOptimizer => {
            both!(
                "优化器状态用 8 位存；显存吃紧时先挪到内存。",
                "Optimizer state in 8 bit, which moves to main memory when the card is full."
            )
        }
        FixKind::Freeze { .. } => {
            both!("下面的层不训，就不用存它们的梯度和状态。", "Frozen layers need neither gradients nor state.")
        }
        FixKind::Unquantized => {
            both!(
                "QLoRA 换成底座 16 位的 LoRA，8 bit 优化器换成普通 AdamW：每张卡都能跑，只是多占显存。",
                "QLoRA becomes LoRA beside a 16-bit base, an 8-bit optimizer plain AdamW: every card runs that, with more memory."
            )
        }
        FixKind::Lora => {
            both!(
                "只训旁边挂的小矩阵，梯度和优化器状态几乎不占地方。",
                "Only small matrices are trained: next to no gradients and state."
            )
        }
        FixKind::QLora => {
            both!("底座压到 4 位，旁边挂 LoRA 来训。", "The base in 4 bit, with LoRA adapters trained beside it.")
        }
        FixKind::Library { framework: Framework::Torchtune } => {
            both!(
                "纯 bf16，反向算出一份梯度就当场更新、立刻扔掉。不能累积，也不能裁剪梯度：等效批大小变小时，学习率也要调小。",
                "Pure bf16, and each gradient is used and dropped within backward. No accumulation and no clipping: with a smaller effective batch, lower the learning rate."
            )
        }
        FixKind::Library { .. } => {
            both!(
                "同样的训练，它的内核更省，不把 16 位的权重转成 fp32，专家层也压成 4 位；脚本要改几行。",
                "The same training: its kernels need less, 16-bit weights are not cast to fp32, and experts are packed too. A few lines of the script change."
            )
        }
        FixKind::QuantizedBase => both!("不训练的底座用 8 位存。", "The frozen base is held in 8 bit."),
        FixKind::Base4bit => both!(
            "不训练的底座用 4 位存，算的时候再展开。",
            "The frozen base is held in 4 bit and unpacked as it is used."
        ),
        FixKind::LoraRank { .. } => {
            both!("旁边挂的矩阵窄一些，能学的也少一点。", "Thinner adapters, which learn a little less.")
        }
        FixKind::ShorterSequence { .. } => {
            both!(
                "长的样本会被截断，先看看你的数据有多长。",
                "Longer samples are cut: look at how long yours are first."
            )
        }
        FixKind::SmallerImage { .. } => {
            both!("细节会少，显存随边长的平方降。", "Less detail; memory falls with the square of the side.")
        }
        FixKind::FewerFrames { .. } => both!("每段视频短一点。", "Each clip is shorter."),
        FixKind::ShorterAudio { .. } => both!("每条音频短一点。", "Each clip is shorter."),
        FixKind::FreeDisplay => {
            both!(
                "桌面用核显画，显卡空出来训练；处理器没有核显就不行。",
                "The processor's graphics draw the desktop and the card is free; not with a processor that has none."
            )
        }
        FixKind::CacheLatents => {
            both!(
                "图片和文字先编码好，VAE 和文本编码器就不用上卡。",
                "Encode pictures and text first; VAE and text encoders stay off the card."
            )
        }
        FixKind::BlockSwap { .. } => {
            both!(
                "轮到哪层再搬上卡，结果一样，内存里要放得下。",
                "Blocks are fetched in turn from main memory, which has to hold them: the same result."
            )
        }
        FixKind::SmallerModel { .. } => {
            both!(
                "同一家的小模型，设置都不用动；先看看它够不够聪明。",
                "The same family a size down, all settings as they are: see first whether it is good enough."
            )
        }
        FixKind::MoreCards { .. } => both!(
            "几张卡一起分担。这不是设置，要花钱：先租来试。",
            "The cards share the load. No setting but money: rent before you buy."
        ),
        FixKind::Way { sharding: Sharding::Zero3Offload } => both!(
            "权重平时放在内存里，用到哪层搬哪层（FSDP 或 ZeRO-3 offload）：很慢，但装得下。",
            "The weights wait in main memory and come layer by layer (FSDP or ZeRO-3 offload): slow, but it fits."
        ),
        FixKind::Sharding | FixKind::Way { .. } => {
            both!(
                "每张卡只管一份，用的时候再凑齐（ZeRO、FSDP）。",
                "Each card holds a piece and they meet when needed (ZeRO, FSDP)."
            )
        }
        FixKind::Offload => {
            both!("更新交给处理器算，要很大的内存。", "The processor makes the update; it takes much main memory.")
        }
    }
}

/// What more cards cost beside the `owned`: all of them by the hour, the missing ones from a shop.
pub fn more_cards(lang: Lang, fix: &Fix, owned: u32, advice: &Advice) -> Option<String> {
    let FixKind::MoreCards { count } = fix.kind else { return None };
    let choice = advice.cards.iter().find(|c| c.gpu == fix.project.hardware.gpu && c.count == count)?;
    let rent = choice.rent.map(|r| {
        let price = money(lang, r.per_hour, r.rough);
        say!(lang, "租 {count} 张每小时 {price}。", "{count} of them rented: {price} an hour.")
    });
    let missing = count.saturating_sub(owned.max(1));
    let buy = choice.buy.and_then(|b| Some((b.new.or(b.used)?, b.rough))).map(|(all, rough)| {
        let amount = all.amount * f64::from(missing) / f64::from(count.max(1));
        let price = money(lang, Money { amount, ..all }, rough);
        say!(lang, "再买 {missing} 张要 {price}。", "{missing} more to buy: {price}.")
    });
    let said: Vec<String> = rent.into_iter().chain(buy).collect();
    (!said.is_empty()).then(|| said.join(lang.pick("", " ")))
}

/// The button that shows the fixes that are not shown yet.
pub fn more_fixes(lang: Lang, left: usize) -> String {
    say!(lang, "还有 {left} 条", "{left} more")
}

/// What a fix saves: `−11.2 GiB`.
pub fn gain(saves: Bytes) -> String {
    if saves == Bytes::ZERO { "0".to_string() } else { format!("−{saves}") }
}

/// What a fix costs in time.
pub fn pace(lang: Lang, slower: Option<f64>) -> String {
    match slower {
        None => say!(lang, "时间不好说", "time unknown"),
        Some(factor) if (factor - 1.0).abs() < 0.015 => say!(lang, "时间不变", "same time"),
        Some(factor) if factor >= 2.0 => {
            let times = crate::units::significant(factor);
            say!(lang, "时间变成 {times} 倍", "{times} times as long")
        }
        Some(factor) if factor > 1.0 => {
            let share = percent(factor - 1.0);
            say!(lang, "慢 {share}", "{share} slower")
        }
        Some(factor) => {
            let share = percent(1.0 - factor);
            say!(lang, "省时 {share}", "{share} less time")
        }
    }
}

/// What a fix may do to the result.
pub const fn risk(risk: QualityRisk) -> Message {
    match risk {
        QualityRisk::None => both!("效果不变", "same result"),
        QualityRisk::Slight => both!("效果几乎不变", "nearly the same result"),
        QualityRisk::Real => both!("会影响效果", "changes the result"),
    }
}
