//! What was really measured, in words: the runs of others, the person's own, and what moves the number.

use super::numbers::{percent, whole};
use super::{Lang, Message, both, choice, field, say};
use crate::advise::measured::{Compared, Difference};
use crate::advise::nearest::NearRun;
use crate::catalog::{Catalog, Domain};
use crate::project::{Choice, Field, Kind, Measurement, Meter, Project, fields};

/// The heading over measured runs.
pub const RUNS: Message = both!("别人实测过的，最接近的", "Measured by others, nearest first");
/// The heading over one's own.
pub const OWN: Message = both!("你跑过了？填上实际用量", "Did you run it? Enter what it took");
/// What the field is called.
pub const PEAK: Message = both!("实际峰值", "Real peak");
/// How it is filled in.
pub const PEAK_HINT: Message = both!("比如 13.6 或 13926 MiB", "such as 13.6 or 13926 MiB");
/// What the meter is called.
pub const METER: Message = both!("从哪看的", "Read from");
/// What was typed is no amount.
pub const UNREADABLE: Message = both!(
    "没看懂这个数。写成 13.6、13.6 GiB 或 13926 MiB 都行。",
    "This is no amount of memory. Write 13.6, 13.6 GiB or 13926 MiB."
);
/// It goes into the link.
pub const SHARED: Message = both!("分享链接里带上这个数", "Put it into the link");
/// Keeps it.
pub const KEEP: Message = both!("记下来", "Keep it");
/// Takes one away.
pub const FORGET: Message = both!("删掉", "Remove");
/// The heading over those kept.
pub const KEPT: Message = both!("记下的", "Kept in this browser");
/// Exports them.
pub const EXPORT: Message = both!("导出 CSV", "Export as CSV");
/// What the file is called.
pub const FILE: &str = "enough-gpu-measured.csv";
/// What the source is called.
pub const SOURCE: Message = both!("来源", "source");
/// Puts a setting into the form.
pub const TRY: Message = both!("改成这样", "Set it so");

/// The heading over what moves the number.
pub const MOVES: Message = both!("改哪一项，数会变多少", "What moves the number");
/// What the table shows.
pub const MOVES_NOTE: Message = both!(
    "每次只动一项，别的都不变。上面是显存，下面是跑完全程的时间。",
    "One setting at a time, all else as it is. Memory above, time of the whole run below."
);
/// The value of the moment.
pub const NOW: Message = both!("现在", "now");
/// A value with which it does not fit.
pub const TOO_MUCH: Message = both!("装不下", "too much");

/// What a figure was read from.
pub const fn meter(meter: Meter) -> Message {
    match meter {
        Meter::Smi => both!("nvidia-smi", "nvidia-smi"),
        Meter::Allocated => both!("max_memory_allocated", "max_memory_allocated"),
        Meter::Reserved => both!("max_memory_reserved", "max_memory_reserved"),
    }
}

/// A measured run beside the project: what is the same in words, what is not with its figure.
pub fn near_run(lang: Lang, near: &NearRun, catalog: &Catalog) -> String {
    let run = near.run;
    let model = match catalog.model(run.model) {
        _ if near.same_model => both!("同一个模型", "same model").text(lang).to_string(),
        Some(model) => super::model_called(lang, model),
        None => run.model.to_string(),
    };
    let method = if near.same_method {
        both!("同样的方法", "same method").text(lang).to_string()
    } else {
        choice(lang, Field::Method, run.method).to_string()
    };
    let batch = whole(run.batch as f64);
    let mut said = vec![model, method];
    if !near.same_precision {
        said.push(choice(lang, Field::Precision, run.precision).to_string());
    }
    if !near.same_offload {
        said.push(match run.offload {
            "" => both!("什么都不放内存", "nothing in main memory").text(lang).to_string(),
            away => {
                let what = choice(lang, Field::Offload, away);
                say!(lang, "放到内存：{what}", "in main memory: {what}")
            }
        });
    }
    said.push(say!(lang, "批 {batch}", "batch {batch}"));
    let volume = run.frames > 1 && catalog.model(run.model).is_some_and(crate::catalog::Model::is_volumetric);
    if volume {
        let (size, frames) = (run.size, run.frames);
        said.push(say!(lang, "{frames} × {size} × {size} 体素", "{frames} x {size} x {size} voxels"));
    } else if run.size > 0 {
        let size = whole(run.size as f64);
        let domain = catalog.model(run.model).map(|m| m.domain);
        said.push(match domain {
            Some(Domain::Language | Domain::VisionLanguage) => say!(lang, "{size} 个 token", "{size} tokens"),
            Some(Domain::Audio) => say!(lang, "{size} 秒", "{size} s"),
            _ if run.frames > 1 => say!(lang, "画面边长 {size} 像素", "a side of {size} px"),
            _ => say!(lang, "{size} 像素", "{size} px"),
        });
    }
    if run.frames > 1 && !volume {
        let frames = run.frames;
        said.push(say!(lang, "{frames} 帧", "{frames} frames"));
    }
    if matches!(run.checkpointing, "pairs" | "selective" | "offload") {
        let kind = choice(lang, Field::Checkpointing, run.checkpointing);
        said.push(say!(lang, "检查点：{kind}", "checkpointing: {kind}"));
    } else if !near.same_checkpointing {
        let off = run.checkpointing == "off";
        let word =
            if off { both!("没开检查点", "no checkpointing") } else { both!("开了检查点", "checkpointing") };
        said.push(word.text(lang).to_string());
    }
    if run.cards > 1 {
        let cards = run.cards;
        let way = if run.sharding.is_empty() { "" } else { choice(lang, Field::Sharding, run.sharding) };
        said.push(match way {
            "" => say!(lang, "{cards} 张卡，每张", "{cards} cards, on each"),
            way => say!(lang, "{cards} 张卡，{way}，每张", "{cards} cards, {way}, on each"),
        });
    }
    if !near.same_framework && <crate::project::Framework as Choice>::from_id(run.framework).is_some() {
        let library = choice(lang, Field::Framework, run.framework);
        said.push(say!(lang, "用 {library}", "with {library}"));
    }
    said.join(lang.pick("，", ", "))
}

/// What stands behind its figure: meter and card.
pub fn near_detail(lang: Lang, near: &NearRun, catalog: &Catalog) -> String {
    let meter = meter(near.meter).text(lang);
    match catalog.gpu(near.run.gpu) {
        Some(gpu) => [meter, &super::card_called(lang, gpu)].join(lang.pick("，", ", ")),
        None => meter.to_string(),
    }
}

/// A measurement beside the estimate.
pub fn compared(lang: Lang, compared: &Compared, measurement: &Measurement) -> String {
    let (peak, ours) = (measurement.peak, compared.ours);
    let off = percent(compared.above.abs());
    let band = percent(compared.band);
    if compared.agrees() {
        return say!(
            lang,
            "你测到 {peak}，我们算的是 {ours}，差 {off}，在 ±{band} 之内。",
            "You measured {peak}; the estimate says {ours}. {off} apart, within ±{band}."
        );
    }
    if compared.above > 0.0 {
        return say!(
            lang,
            "你测到 {peak}，我们算的是 {ours}：多出 {off}。可能是因为：",
            "You measured {peak}; the estimate says {ours}: {off} more. Likely reasons:"
        );
    }
    say!(
        lang,
        "你测到 {peak}，我们算的是 {ours}：少了 {off}。可能是因为：",
        "You measured {peak}; the estimate says {ours}: {off} less. Likely reasons:"
    )
}

/// What can explain a difference.
pub fn difference(lang: Lang, difference: &Difference) -> String {
    let fixed = match difference {
        Difference::Setting { field: which, value, then } => {
            let name = field(*which).text(lang);
            let value = setting(lang, *which, value);
            return say!(
                lang,
                "{name}其实是“{value}”：那样算出来是 {then}。",
                "{name} is really \"{value}\": the estimate would then say {then}."
            );
        }
        Difference::OthersOnTheCard => both!(
            "卡上还有别的程序或桌面，nvidia-smi 把它们也算进去了。",
            "Other programs or a desktop are on the card; nvidia-smi counts them too."
        ),
        Difference::Cached => both!(
            "分配器攒着没还的缓存也算在里面，看 max_memory_allocated 会小一些。",
            "The allocator's cache is counted in; max_memory_allocated leaves it out."
        ),
        Difference::OutsideTheStep => both!(
            "评估、存检查点、中途出图比一步训练还吃显存。",
            "Evaluation, saving or pictures made in between need more than a training step."
        ),
        Difference::ShorterSamples => {
            both!("真实样本比设的上限短，没填满。", "The samples are shorter than the limit that is set.")
        }
        Difference::LongerSamples => {
            both!("样本被打包或补齐到更长了。", "Samples were packed, or padded to a longer one.")
        }
        Difference::ReadEarly => both!(
            "看得太早：优化器状态要到第一次更新才出现。",
            "It was read too early: optimizer state comes with the first update."
        ),
        Difference::MovedToMain => both!(
            "驱动把一部分挪到了内存里，Windows 上常见，会很慢。",
            "The driver moved part of it to main memory, as Windows does; that is slow."
        ),
        Difference::WithoutContext => both!(
            "如果这个数其实是 PyTorch 报的，不是 nvidia-smi 的：CUDA 环境和库占的几百 MiB 没算在里面。",
            "If PyTorch said it and not nvidia-smi: some hundreds of MiB of CUDA's context and libraries are left out."
        ),
        Difference::BeyondTheCard { card } => {
            return say!(
                lang,
                "比整张卡的 {card} 还多：先看看单位和选的卡对不对；都对的话，是驱动借了内存，会很慢。",
                "More than the card's {card}: check the unit and the card that is chosen; if both are right, the driver lent main memory, which is slow."
            );
        }
    };
    fixed.text(lang).to_string()
}

/// A value of a setting as the form shows it.
pub fn setting(lang: Lang, which: Field, value: &str) -> String {
    match fields::kind(which) {
        Kind::Choice => choice(lang, which, value).to_string(),
        Kind::Toggle => if value == "on" { both!("是", "yes") } else { both!("否", "no") }.text(lang).to_string(),
        _ => crate::units::decimal::read(value).map_or_else(|| value.to_string(), super::numbers::plain),
    }
}

/// A measurement that was kept.
pub fn kept(lang: Lang, project: &Project, measurement: &Measurement, catalog: &Catalog) -> String {
    let name = super::share::project_name(lang, project, catalog);
    let (peak, meter) = (measurement.peak, meter(measurement.meter).text(lang));
    say!(lang, "{name}：{peak}（{meter}）", "{name}: {peak} ({meter})")
}

/// How many runs all this is judged by.
pub fn runs_note(lang: Lang, count: usize) -> String {
    let count = whole(count as f64);
    say!(
        lang,
        "从 {count} 次公开实测里挑的。精度、优化器、框架可能跟你的不一样，数也就不一样，细节看来源。",
        "Taken from {count} published measurements. Their precision, optimizer or library may differ from yours, and so may \
         the figure: the source tells."
    )
}
