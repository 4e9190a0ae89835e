//! An error about memory in words: what happened, why, what first.

use super::{Lang, Message, both, say};
use crate::advise::oom::{Cause, Explained, First};
use crate::project::import::error::{Memory, MemoryError, Stage};

/// What happened, in one line.
pub const fn what_ran_out(memory: Memory) -> Message {
    match memory {
        Memory::Main | Memory::Killed => both!("爆的是内存，不是显存", "Main memory ran out, not the card's"),
        Memory::SharedBetweenProcesses => {
            both!("爆的是进程间的共享内存，不是显存", "Memory shared between processes ran out, not the card's")
        }
        Memory::PagingFile => both!("Windows 的页面文件不够，不是显存", "Windows' paging file is full, not the card"),
        _ => both!("显存不够", "The card's memory ran out"),
    }
}

/// The amounts of a message, a sentence each.
pub fn amounts(lang: Lang, error: &MemoryError, explained: &Explained) -> Vec<String> {
    let mut lines = Vec::new();
    match (error.tried, error.free, explained.missing) {
        (Some(tried), Some(free), Some(missing)) => lines.push(say!(
            lang,
            "想再要 {tried}，卡上只剩 {free}，差 {missing}。",
            "It asked for {tried} more where {free} was free: {missing} short."
        )),
        (Some(tried), _, Some(missing)) => {
            lines.push(say!(lang, "想再要 {tried}，差 {missing}。", "It asked for {tried} more: {missing} short."));
        }
        (None, _, Some(over)) => {
            lines.push(say!(lang, "超出了 {over}。", "It is {over} over what there is."));
        }
        (Some(tried), _, None) => {
            lines.push(say!(lang, "想再要 {tried}，没要到。", "It asked for {tried} more and did not get it."));
        }
        (None, _, None) if error.memory.is_card() => lines.push(
            both!("报错里没有写数字，只能说到这里。", "The message has no figures, so this is all that follows.")
                .text(lang)
                .to_string(),
        ),
        _ => {}
    }
    match (error.capacity, error.allocated) {
        (Some(capacity), Some(allocated)) => lines.push(say!(
            lang,
            "整张卡 {capacity}，张量占着 {allocated}。",
            "The card has {capacity}, of which tensors took {allocated}."
        )),
        (Some(capacity), None) => lines.push(say!(lang, "整张卡 {capacity}。", "The card has {capacity}.")),
        (None, Some(allocated)) if error.memory == Memory::Killed => {
            lines.push(say!(
                lang,
                "被结束时占着 {allocated} 内存。",
                "It held {allocated} of main memory when it was ended."
            ));
        }
        _ => {}
    }
    lines
}

/// Why, a sentence for each cause. Size beside something that can be mended is a possibility only: it is said so.
pub fn causes(lang: Lang, causes: &[Cause]) -> Vec<String> {
    let mended = |cause: &Cause| {
        matches!(
            cause,
            Cause::Fragments { .. }
                | Cause::Others { .. }
                | Cause::Limit { .. }
                | Cause::Room { .. }
                | Cause::Later { .. }
        )
    };
    let mut before = false;
    let said = causes.iter().map(|next| {
        let only_then = before && *next == Cause::Size;
        before |= mended(next);
        if only_then { SIZE_AFTER_ALL.text(lang).to_string() } else { cause(lang, *next) }
    });
    said.collect()
}

/// Size, where something else was the likelier cause.
const SIZE_AFTER_ALL: Message = both!(
    "这个处理好了还爆，那才是真的装不下：权重、激活、优化器加起来比卡大。",
    "If it still runs out after that, it is size: weights, activations and optimizer together are larger than the card."
);

/// Why, in one sentence for a cause.
pub fn cause(lang: Lang, cause: Cause) -> String {
    let fixed = match cause {
        Cause::Fragments { unused } => {
            return say!(
                lang,
                "有 {unused} 占着却用不上：显存碎了，总量够，凑不出一整块。",
                "{unused} is held without use: fragments. Enough in all, but not in one piece."
            );
        }
        Cause::Others { bytes, named: 0 } => {
            return say!(lang, "约 {bytes} 是别的程序占的。", "About {bytes} is held by other programs.");
        }
        Cause::Others { bytes, named } => {
            return say!(
                lang,
                "同一张卡上还有 {named} 个进程，占了 {bytes}。",
                "Other processes on the card ({named}) hold {bytes}."
            );
        }
        Cause::Desktop { bytes } => {
            return say!(lang, "显示器、驱动等占了约 {bytes}。", "Screen and driver hold about {bytes}.");
        }
        Cause::SharedMemory { beyond } => {
            return say!(
                lang,
                "Windows 已经拿内存顶了 {beyond} 显存：就算跑得动，也会慢很多倍。",
                "Windows had lent {beyond} of main memory to the card already: even where that runs, it is many times slower."
            );
        }
        Cause::Limit { allowed } => {
            return say!(
                lang,
                "程序给自己定了 {allowed} 的上限，卡还没满。",
                "The program may use {allowed} only; the card is not full."
            );
        }
        Cause::Room { free } => {
            return say!(
                lang,
                "卡上还有 {free}，其实够；满的是别的，比如 WSL 的锁页内存。",
                "There were {free} free, which is enough: something else is at its end, such as WSL's pinned memory."
            );
        }
        Cause::Later { step, of } => {
            return say!(
                lang,
                "前面 {step} 步（共 {of} 步）都好好的：要么碰上特别长的样本，要么显存一步步在涨。",
                "{step} of {of} steps went well: either one sample is far longer, or memory grows from step to step."
            );
        }
        Cause::Size => both!(
            "是真的装不下：权重、激活、优化器加起来比卡大。",
            "It is size: weights, activations and optimizer together are larger than the card."
        ),
        Cause::OnePiece => both!(
            "光这一块就比整张卡大：看看长度、分辨率、批大小是不是写错了。",
            "This one piece alone is larger than the card: check length, resolution and batch size."
        ),
        Cause::PieceLimit => both!(
            "Intel 的驱动默认不给 4 GiB 以上的一整块。",
            "Intel's driver gives no single piece of 4 GiB or more by default."
        ),
        Cause::Workspace => both!(
            "连计算库自己的工作区都放不下：在这之前卡就满了。",
            "Not even the math library's workspace had room: the card was full before."
        ),
        Cause::Beside(stage) => beside(stage),
        Cause::MainMemory => {
            both!("程序向系统要内存，没要到。", "The program asked the system for main memory and got none.")
        }
        Cause::Killed => both!(
            "系统把进程结束了，多半因为内存满了。换更大的显卡没有用。",
            "The system ended the process, most likely for main memory. A larger card does not help."
        ),
        Cause::SharedBetweenProcesses => both!(
            "读数据的进程靠共享内存传数据，容器给得很少。",
            "Data loaders pass their data through shared memory, of which containers give little."
        ),
        Cause::PagingFile => both!(
            "Windows 按页面文件答应内存；太小就连库都装不进去。",
            "Windows promises memory against its paging file; too small, and not even libraries load."
        ),
    };
    fixed.text(lang).to_string()
}

const fn beside(stage: Stage) -> Message {
    match stage {
        Stage::Loading => both!(
            "训练还没开始：把模型放上卡的时候就不够了。",
            "Training had not begun: the model itself was being brought to the card."
        ),
        Stage::Encoding => both!(
            "爆在预先编码图片或文字的时候，不是训练那一步。",
            "It happened while pictures or texts were encoded, not in a training step."
        ),
        Stage::Evaluation => {
            both!("训练装得下，爆在中途评估。", "Training fits; it happened in the evaluation between the steps.")
        }
        Stage::Generation => {
            both!(
                "爆在出图、生成的时候，不是训练那一步。",
                "It happened while samples were made, not in a training step."
            )
        }
        Stage::Saving => both!(
            "爆在保存或合并权重的时候，不是训练那一步。",
            "It happened while weights were saved or merged, not in a training step."
        ),
        Stage::Optimizer => both!(
            "爆在优化器更新：第一次更新要建好它的状态，那是权重的好几倍。",
            "It happened in the optimizer's step: the first one makes its states, several times the weights."
        ),
        Stage::Forward | Stage::Loss | Stage::Backward => {
            both!("爆在训练那一步里。", "It happened in a training step.")
        }
    }
}

/// What to do first, and what to type for it, where there is something to type.
pub const fn first(first: First) -> (Message, Option<&'static str>) {
    match first {
        First::Fixes => (
            both!(
                "先把你自己的设置和显卡填进表单；答案下面会列出能改什么、每一条省多少。",
                "Put your own settings and card into the form: below the answer stands what to change, and what each saves."
            ),
            None,
        ),
        First::ExpandableSegments => (
            both!(
                "先设这个环境变量再跑，通常就够了：",
                "Set this in the environment and run again; that is often enough:"
            ),
            Some("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"),
        ),
        First::ExpandableSegmentsNpu => (
            both!(
                "先设这个环境变量再跑，通常就够了：",
                "Set this in the environment and run again; that is often enough:"
            ),
            Some("PYTORCH_NPU_ALLOC_CONF=expandable_segments:True"),
        ),
        First::EndOthers => {
            (both!("先找出那些程序，关掉：", "Find these programs and end them first:"), Some("nvidia-smi"))
        }
        First::FreeDesktop => (
            both!(
                "关掉浏览器和游戏，或者把显示器接到核显上。",
                "Close browsers and games, or let the screen hang on the processor's graphics."
            ),
            None,
        ),
        First::NoSharedMemory => (
            both!(
                "在 NVIDIA 控制面板里把“CUDA - 系统内存回退策略”设成不回退，再把训练改小。",
                "Turn off \"CUDA - Sysmem Fallback Policy\" in NVIDIA's control panel, then make the run smaller."
            ),
            None,
        ),
        First::RaiseLimit => {
            (both!("把上限放开：", "Lift the limit:"), Some("torch.cuda.set_per_process_memory_fraction(1.0)"))
        }
        First::NoPinnedMemory => (
            both!("先关掉锁页内存试试：", "Try without pinned memory first:"),
            Some("DataLoader(..., pin_memory=False)"),
        ),
        First::CapLength => (
            both!(
                "给长度设个上限；再看看是不是每一步都留着 loss 张量，要留就留：",
                "Cap the length; and if you keep the loss of each step, keep only:"
            ),
            Some("loss.item()"),
        ),
        First::SmallEvaluation => (
            both!(
                "评估一次只算一条，结果随算随搬到内存：",
                "Evaluate one sample at a time and move results off the card:"
            ),
            Some("--per_device_eval_batch_size 1 --eval_accumulation_steps 1"),
        ),
        First::SaveLess => (
            both!("只存适配器；要合并就放在内存里做：", "Save the adapters alone; merge in main memory:"),
            Some("from_pretrained(..., device_map=\"cpu\")"),
        ),
        First::EncodeFirst => (
            both!(
                "一次少编码几张，或者先全部缓存好，训练时不留编码器。",
                "Encode fewer at a time, or cache all of it before and train without the encoders."
            ),
            None,
        ),
        First::FewerSamples => {
            (both!("少出几张样图，或者先不出。", "Make fewer samples between the steps, or none for now."), None)
        }
        First::LoadLess => (
            both!(
                "用 4 bit 加载底座，或者把一部分留在内存：",
                "Load the base in 4 bits, or leave a part in main memory:"
            ),
            Some("load_in_4bit=True"),
        ),
        First::SmallOptimizer => {
            (both!("换 8 bit 的优化器：", "Take an 8-bit optimizer:"), Some("--optim adamw_bnb_8bit"))
        }
        First::LessMainMemory => (
            both!(
                "少开读数据的进程，数据边读边用；还不够就加内存。",
                "Run fewer data loaders and read data as you go; if that is not enough, add main memory."
            ),
            Some("num_workers=0"),
        ),
        First::MoreShared => (
            both!(
                "给容器多分共享内存，或者不开读数据的进程：",
                "Give the container more, or run no data loaders beside:"
            ),
            Some("docker run --shm-size=8g"),
        ),
        First::LargerPagingFile => (
            both!(
                "在“高级系统设置”里把虚拟内存调大，重启再跑。",
                "Enlarge virtual memory in Windows' advanced settings and restart."
            ),
            None,
        ),
    }
}
