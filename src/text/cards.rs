//! Cards: warnings, picks, prices, free notebooks.

use super::names::{offer, provider};
use super::numbers::{about_hours, money, month, plain, significant_hours};
use super::{Lang, Message, both, say};
use crate::advise::{Buy, CardWarning, FreeChoice, Pick, Rent, Restriction};
use crate::catalog::{Catalog, Gpu, GpuFamily, Vendor};
use crate::project::Budget;
use crate::units::Money;

/// What to know about a card, in a few words.
pub const fn warning(warning: CardWarning) -> Message {
    match warning {
        CardWarning::NoBf16 => both!("不支持 bf16", "No bf16"),
        CardWarning::HalfBreaks => both!("fp16 常算坏", "fp16 often goes wrong"),
        CardWarning::NoMatrixUnits => both!("没有矩阵单元", "No matrix units"),
        CardWarning::NoFlashAttention => both!("用不了 FlashAttention", "No FlashAttention"),
        CardWarning::Dropped => both!("新版 PyTorch 不再支持", "Dropped by current PyTorch"),
        CardWarning::NeedsNewPyTorch => both!("要新版 PyTorch", "Needs a recent PyTorch"),
        CardWarning::Rocm => both!("走 ROCm，不是 CUDA", "Runs on ROCm, not CUDA"),
        CardWarning::RocmOverride => both!("ROCm 不正式支持", "Not officially supported by ROCm"),
        CardWarning::OtherStack => both!("软件栈不一样", "Another software stack"),
        CardWarning::RecentQuantization => both!("要新版 bitsandbytes", "Needs a recent bitsandbytes"),
        CardWarning::NoTriton => both!("融合损失用不上", "No fused loss"),
        CardWarning::Laptop => both!("笔记本版", "Laptop variant"),
        CardWarning::Modded => both!("改装卡", "Modified card"),
        CardWarning::NoFastLink => both!("卡之间没有高速互联", "No fast link between the cards"),
        CardWarning::UnknownLink => both!("卡间互联没查到", "The link between the cards is not known"),
        CardWarning::UnifiedMemory => both!("和系统共用内存", "Memory shared with the system"),
        CardWarning::WindowsSpills => both!("Windows 不报错，只会变慢", "Windows does not fail, it crawls"),
        CardWarning::NotForLongRuns => both!("不适合连跑几周", "Not made for weeks on end"),
    }
}

/// What follows from it.
pub const fn warning_detail(warning: CardWarning) -> Message {
    match warning {
        CardWarning::NoBf16 => both!(
            "把精度换成混合精度 fp16，损失缩放由框架自动处理。",
            "Use mixed fp16 instead; the library takes care of loss scaling."
        ),
        CardWarning::HalfBreaks => both!(
            "16 系的卡用 fp16，损失常常变成非数：换成单精度 fp32。",
            "On the GTX 16 series the loss often turns into NaN: use fp32."
        ),
        CardWarning::NoMatrixUnits => {
            both!("用 16 位能省显存，但快不了多少。", "16 bit saves memory there, but little time.")
        }
        CardWarning::NoFlashAttention => both!(
            "安培（Ampere）之前的卡会退到省显存版注意力，长序列会多占一些。",
            "Before Ampere, PyTorch falls back to its memory-efficient kernel; long sequences cost more."
        ),
        CardWarning::Dropped => both!(
            "要装旧版 PyTorch（配旧版 CUDA 或 ROCm），新模型的代码可能跑不起来。",
            "It takes an older PyTorch (with an older CUDA or ROCm), with which newer models may not run."
        ),
        CardWarning::NeedsNewPyTorch => both!(
            "这一代卡太新，装最近的 PyTorch（CUDA 12.8 以上）再跑。",
            "The generation is new: install a recent PyTorch (CUDA 12.8 or later)."
        ),
        CardWarning::Rocm => both!(
            "装 ROCm 版 PyTorch，最好在 Linux 上；只认 CUDA 的库要绕开。",
            "Install PyTorch for ROCm, best on Linux, and avoid libraries that are CUDA only."
        ),
        CardWarning::RocmOverride => both!(
            "要设 HSA_OVERRIDE_GFX_VERSION 让它装成近亲型号，能跑，但没人保证。",
            "Set HSA_OVERRIDE_GFX_VERSION so that it passes for a near relative: it works, without guarantee."
        ),
        CardWarning::OtherStack => both!(
            "不是 CUDA 也不是 ROCm：只为 CUDA 写的内核用不了，教程里的命令要改。",
            "Neither CUDA nor ROCm: kernels written for CUDA do not run, and tutorials need changes."
        ),
        CardWarning::RecentQuantization => both!(
            "这个项目要用 bitsandbytes 的 4 bit 或 8 bit：AMD、英特尔、苹果的卡从 0.50 版起才正式支持，装新的。",
            "This project uses bitsandbytes in 4 or 8 bit, which supports cards of AMD, Intel and Apple from version 0.50 on: install a recent one."
        ),
        CardWarning::NoTriton => both!(
            "Liger 一类的融合损失没有这张卡的版本：把“损失实现”换成“分块算”。",
            "Fused losses such as Liger's do not run on this card: set the loss kernel to \"in chunks\"."
        ),
        CardWarning::Laptop => both!(
            "功耗和散热都比同名台式卡低，时间要打折扣；插电、垫高、开性能模式。",
            "Less power and cooling than the desktop card of that name: expect it slower, and run it plugged in."
        ),
        CardWarning::Modded => both!(
            "显存是后焊的，原厂不保修，买之前先拷机。",
            "The memory was soldered on later; no maker's warranty. Stress-test before you buy."
        ),
        CardWarning::NoFastLink => both!(
            "数据走 PCIe，分得越细越慢；能用数据并行就别切权重。",
            "Traffic goes over PCIe: the finer the split, the slower. Prefer plain data parallel."
        ),
        CardWarning::UnknownLink => both!(
            "时间先按 PCIe 算，实际可能快得多：问清楚机器里怎么连。",
            "Times are reckoned over PCIe and may be much shorter: ask how the machine joins them."
        ),
        CardWarning::UnifiedMemory => both!(
            "系统也要用，别指望全部拿来训练，速度也比独立显卡慢。",
            "The system needs its part too, and it is slower than a card of its own."
        ),
        CardWarning::WindowsSpills => both!(
            "装不下时驱动会悄悄用内存顶上，慢十倍不止。在 NVIDIA 控制面板把“系统内存回退”设成不回退，让它报错。",
            "The driver quietly uses main memory for what does not fit, ten times slower. Set Sysmem Fallback to \"prefer no fallback\" in NVIDIA's control panel."
        ),
        CardWarning::NotForLongRuns => both!(
            "游戏卡没有纠错内存，也不是按 7×24 小时设计的：勤存检查点，注意散热。",
            "A game card has no error-correcting memory and was not built for 24x7: save often, keep it cool."
        ),
    }
}

/// Why a choice stands out.
pub const fn pick(pick: Pick) -> Message {
    match pick {
        Pick::Cheapest => both!("最省钱", "Cheapest"),
        Pick::Balanced => both!("最均衡", "Balanced"),
        Pick::Fastest => both!("最快", "Fastest"),
    }
}

/// Why a rented card stands out among the rented ones.
pub const fn rental_pick(pick: Pick) -> Message {
    match pick {
        Pick::Cheapest => both!("按量租最省", "cheapest on demand"),
        Pick::Balanced => both!("按量租最均衡", "balanced on demand"),
        Pick::Fastest => both!("按量租够快", "fast on demand"),
    }
}

/// The rental of the run, in two lines: what it costs, and per hour at whom and when.
pub fn rent(lang: Lang, rent: &Rent) -> (String, String) {
    let per_hour = money(lang, rent.per_hour, rent.rough);
    if rent.provider.is_empty() {
        let first = rent.run.map_or_else(|| per_hour.clone(), |run| money(lang, run, false));
        return (first, say!(lang, "{per_hour}/时 · 你填的价", "{per_hour}/h · your price"));
    }
    let (who, date) = (provider(lang, rent.provider), month(lang, rent.as_of));
    let first = match rent.run {
        Some(run) => money(lang, run, rent.rough),
        None => say!(lang, "{per_hour} 每小时", "{per_hour} an hour"),
    };
    let second = say!(lang, "{per_hour}/时 · {who} · {date}", "{per_hour}/h · {who} · {date}");
    (first, second)
}

/// The price of buying, in two lines: the amounts, and when they were read.
pub fn buy(lang: Lang, buy: &Buy) -> Option<(String, String)> {
    let new = buy.new.map(|m| money(lang, m, buy.rough));
    let used = buy.used.map(|m| money(lang, m, buy.rough));
    let first = match (&new, &used) {
        (None, None) => return None,
        (Some(n), _) => n.clone(),
        (None, Some(u)) => say!(lang, "二手 {u}", "{u} used"),
    };
    let date = if buy.as_of.is_empty() { say!(lang, "你填的价", "your price") } else { month(lang, buy.as_of) };
    let second = match (new, used) {
        (Some(_), Some(u)) => say!(lang, "二手 {u} · {date}", "used {u} · {date}"),
        _ => date,
    };
    Some((first, second))
}

/// Whether a rental costs more than the person would spend, as far as both are known.
pub fn rent_over(budget: &Budget, rent: &Rent) -> bool {
    over(budget, rent.run)
}

/// Whether buying, new or used, costs more than the person would spend, as far as both are known.
pub fn buy_over(budget: &Budget, buy: &Buy) -> bool {
    over(budget, buy.used.or(buy.new)) && over(budget, buy.new.or(buy.used))
}

fn over(budget: &Budget, price: Option<Money>) -> bool {
    match (budget.limit, price) {
        (Some(limit), Some(price)) => price.currency == budget.currency && price.amount > limit,
        _ => false,
    }
}

/// A free notebook: the platform and its offer.
pub fn free_choice(lang: Lang, free: &FreeChoice) -> String {
    let platform = provider(lang, free.platform);
    if free.offer.is_empty() || free.offer == free.platform {
        platform.to_string()
    } else {
        format!("{platform} · {}", offer(lang, free.offer))
    }
}

/// The cards of a free notebook, where they are known; a slice of a card is called one.
pub fn free_card(lang: Lang, free: &FreeChoice, catalog: &Catalog) -> Option<String> {
    let gpu = catalog.gpu(free.gpu)?;
    let name = super::card_called(lang, gpu);
    let tier = catalog.free.iter().find(|t| t.platform == free.platform && t.offer == free.offer);
    let each = tier.and_then(|t| t.memory_gib.map(|gib| gib / f64::from(t.gpus.max(1))));
    if let Some(part) = each.filter(|gib| *gib < gpu.memory.gib() * 0.9) {
        let size = plain(part);
        return Some(say!(lang, "{name} 切片（{size} GB）", "{size} GB slice of an {name}"));
    }
    Some(if free.count > 1 { format!("{name} × {}", free.count) } else { name })
}

/// How long it takes there and in how many sittings.
pub fn free_limits(lang: Lang, free: &FreeChoice) -> String {
    let time = free.hours.map(|h| about_hours(lang, h));
    let limit = free.session_limit_h.map(|h| significant_hours(lang, h));
    let sessions = free.sessions;
    let unsure = free.limit_unknown();
    let first = match (time, sessions) {
        (Some(t), 0 | 1) if unsure => {
            say!(
                lang,
                "跑完{t}，没查到一次能用多久，先确认时长上限",
                "{t}; how long one sitting may last is not known: ask first"
            )
        }
        (Some(t), 0 | 1) => say!(lang, "跑完{t}，一次就行", "{t}, in one sitting"),
        (Some(t), n) => {
            say!(lang, "跑完{t}，要存了接着跑，分 {n} 次", "{t}, saved and resumed over {n} sittings")
        }
        (None, _) => say!(lang, "时间不好说", "time unknown"),
    };
    let first = match free.instead_of_bf16 {
        Some(_) => {
            say!(lang, "{first}；卡不支持 bf16，精度改成混合 fp16", "{first}; no bf16 on this card: set mixed fp16")
        }
        None => first,
    };
    let first = capital(&first);
    let first = match limit {
        Some(l) => say!(lang, "{first}；每次最多 {l}", "{first}; at most {l} each"),
        None => first,
    };
    match free.free_hours {
        Some((amount, every)) => format!("{first}{}{}", lang.pick("；", "; "), quota(lang, amount, every)),
        None => first,
    }
}

/// How many hours are free.
fn quota(lang: Lang, amount: f64, every: Option<f64>) -> String {
    let amount = significant_hours(lang, amount);
    match every {
        Some(every) if every > 24.0 => say!(lang, "每周免费 {amount}", "{amount} free a week"),
        Some(_) => say!(lang, "每天免费 {amount}", "{amount} free a day"),
        None => say!(lang, "一共免费 {amount}", "{amount} free in all"),
    }
}

/// Why not everybody can count on a free notebook.
pub const fn restriction(restriction: Restriction) -> Message {
    match restriction {
        Restriction::Course => both!("只给参加课程的人", "for participants of its courses only"),
        Restriction::Competition => both!("只给参加比赛和课程的人", "for competitions and courses only"),
        Restriction::WaitList => both!("要排队审批", "admission by a waiting list"),
        Restriction::OutOfStock => both!("常常抢不到", "often out of stock"),
        Restriction::OtherLibrary => {
            both!("不是给 PyTorch 用的，要自己装", "not made for PyTorch: install it yourself")
        }
        Restriction::OtherCard => {
            both!("卡太旧或不是 NVIDIA 的，要改环境", "an old card, or not NVIDIA's: the set-up differs")
        }
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| std::iter::once(first.to_ascii_uppercase()).chain(letters).collect()).unwrap_or_default()
}

/// The month of a fact, with `~` where nobody saw it written down.
pub fn dated(lang: Lang, as_of: &str, rough: bool) -> String {
    let date = month(lang, as_of);
    if rough { format!("~ {date}") } else { date }
}

/// The groups under which cards are listed.
pub const fn accelerator_family(gpu: &Gpu) -> Message {
    match (gpu.vendor, gpu.family) {
        (Vendor::Nvidia, GpuFamily::Consumer) => both!("NVIDIA 游戏卡", "NVIDIA, game cards"),
        (Vendor::Nvidia, GpuFamily::Laptop) => both!("NVIDIA 笔记本", "NVIDIA, laptops"),
        (Vendor::Nvidia, GpuFamily::Workstation) => both!("NVIDIA 工作站卡", "NVIDIA, workstation"),
        (Vendor::Nvidia, _) => both!("NVIDIA 数据中心卡", "NVIDIA, data center"),
        (Vendor::Amd, _) => both!("AMD", "AMD"),
        (Vendor::Intel, _) => both!("Intel", "Intel"),
        (Vendor::Apple, _) => both!("苹果 Mac", "Apple"),
        (Vendor::Google, _) => both!("谷歌 TPU", "Google TPU"),
        _ => both!("国产卡", "Made in China"),
    }
}

/// The groups under which presets are listed, by the catalog's word for them.
pub fn preset_group(group: &str) -> Message {
    match group {
        "beginner" => both!("入门", "Getting started"),
        "hobby" => both!("爱好", "Hobby"),
        "advanced hobby" => both!("进阶爱好", "Advanced hobby"),
        "lab" => both!("实验室", "Lab"),
        _ => both!("公司", "Company"),
    }
}
