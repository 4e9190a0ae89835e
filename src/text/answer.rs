//! The answer in words: one headline, one line of detail, one reason, one next step.

use super::numbers::{about_hours, band};
use super::{Action, Lang, Next, say};
use crate::advise::{Advice, CardBar, FreeChoice, Verdict, over_data};
use crate::catalog::Catalog;
use crate::estimate::CannotEstimate;
use crate::project::Project;

/// How an answer looks: decides sign and colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// Fits, or needs no card.
    Good,
    /// Inside the error band.
    Tight,
    /// Runs out, or the card cannot run it.
    Bad,
    /// Nothing to judge yet.
    Open,
}

/// The answer in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Sign and colour.
    pub tone: Tone,
    /// The headline.
    pub head: String,
    /// The figures behind it.
    pub detail: String,
    /// Why, where there is something to explain.
    pub why: Option<String>,
    /// What to do.
    pub next: Next,
}

impl Answer {
    /// The answer for a screen reader: headline and detail.
    pub fn spoken(&self) -> String {
        format!("{} {}", self.head, self.detail)
    }
}

/// Puts an advice into words.
pub fn answer(lang: Lang, project: &Project, advice: &Result<Advice, CannotEstimate>, catalog: &Catalog) -> Answer {
    match advice {
        Ok(advice) => judged(lang, project, advice, catalog),
        Err(reason) => {
            let (detail, next) = cannot_estimate(lang, reason, catalog);
            let head = match reason {
                CannotEstimate::NoModel => say!(lang, "先说说你想训练什么", "First say what you want to train"),
                _ => say!(lang, "这个算不出来", "This cannot be worked out"),
            };
            Answer { tone: Tone::Open, head, detail, why: None, next: Next { sentence: next, action: Action::None } }
        }
    }
}

fn judged(lang: Lang, project: &Project, advice: &Advice, catalog: &Catalog) -> Answer {
    let peak = advice.memory.card;
    let about = band(advice.memory.band);
    let gpu = catalog.gpu(&project.hardware.gpu);
    let count = project.hardware.count;
    let card =
        gpu.map(|g| super::card_called(lang, g)).map(|name| if count > 1 { format!("{name} × {count}") } else { name });
    let each = if count > 1 { say!(lang, "每张", " each") } else { String::new() };
    let measured = match (&card, advice.capacity) {
        (Some(name), Some(usable)) => match lang {
            Lang::Zh => format!("{name} {each}能用 {usable}，这次训练峰值约 {peak}（{about}）。"),
            Lang::En => format!("{name} has {usable} to use{each}; this run peaks at about {peak} ({about})."),
        },
        _ => say!(lang, "这次训练的峰值约 {peak}（{about}）。", "This run peaks at about {peak} ({about})."),
    };
    let (tone, head, detail) = match advice.verdict {
        Verdict::NoGpuNeeded { hours_on_cpu } => {
            let time = about_hours(lang, hours_on_cpu);
            (
                Tone::Good,
                say!(lang, "不用显卡：处理器就能跑", "No GPU needed: a processor will do"),
                say!(
                    lang,
                    "普通电脑的处理器{time}跑完，占内存约 {peak}。",
                    "An ordinary processor takes {time} and {peak} of memory."
                ),
            )
        }
        Verdict::Fits { spare } => {
            (Tone::Good, say!(lang, "装得下，还余 {spare}", "It fits, with {spare} to spare"), measured)
        }
        Verdict::Tight { spare, missing } if missing.0 == 0 => {
            (Tone::Tight, say!(lang, "悬：只余 {spare}", "Tight: only {spare} to spare"), measured)
        }
        Verdict::Tight { missing, .. } => {
            (Tone::Tight, say!(lang, "悬：可能差 {missing}", "Tight: may be {missing} short"), measured)
        }
        Verdict::RunsOut { missing } => {
            (Tone::Bad, say!(lang, "装不下：还差 {missing}", "It runs out: {missing} short"), measured)
        }
        Verdict::CannotRun(bar) => {
            let name = card.clone().unwrap_or_default();
            let beside = super::names::between(lang, &name);
            let why = match bar {
                CardBar::NoPyTorch => {
                    say!(lang, "PyTorch 的安装包不支持 {name}。", "PyTorch's packages do not support {name}.")
                }
                CardBar::LibraryNeedsBf16 => say!(
                    lang,
                    "这张卡没有 bf16，而 torchtune 只认 bf16 和 fp32。换个框架，或者换张卡。",
                    "This card has no bf16, and torchtune takes bf16 or fp32 only. Take another library, or another card."
                ),
                CardBar::NoQuantization => say!(
                    lang,
                    "这个项目要用 bitsandbytes 的 4 bit 或 8 bit 内核，它没有{beside}的版本。",
                    "This project needs the 4-bit or 8-bit kernels of bitsandbytes, and there are none for the {name}."
                ),
                CardBar::TreesNeedCuda => say!(
                    lang,
                    "XGBoost 只会用 CUDA 显卡，用不上 {name}，会在处理器上跑。",
                    "XGBoost uses cards with CUDA only: beside {name} it runs on the processor."
                ),
            };
            (Tone::Bad, say!(lang, "这张卡跑不了", "This card cannot run it"), why)
        }
        Verdict::NoCard => no_card(lang, project, advice, measured),
    };
    // Where it is not what to do first, it is told all the same.
    let over =
        over_data(project).filter(|_| !matches!(advice.verdict, Verdict::NoGpuNeeded { .. } | Verdict::Fits { .. }));
    let detail = match over {
        Some(over) => detail + lang.pick("", " ") + &super::step::larger_than_data(lang, over),
        None => detail,
    };
    let explain = !matches!(advice.verdict, Verdict::NoGpuNeeded { .. } | Verdict::CannotRun(_));
    Answer {
        tone,
        head,
        detail,
        why: explain.then(|| super::why(lang, project, &advice.memory, catalog)),
        next: super::next(lang, project, advice, catalog),
    }
}

fn no_card(lang: Lang, project: &Project, advice: &Advice, measured: String) -> (Tone, String, String) {
    let peak = advice.memory.card;
    let free = advice.free.iter().any(FreeChoice::is_enough);
    if free {
        return (Tone::Good, say!(lang, "免费的就够，不用买卡", "A free notebook is enough"), measured);
    }
    let head = if project.hardware.no_gpu {
        say!(lang, "要一张能用 {peak} 的卡，先租", "It takes a card with {peak}: rent one")
    } else {
        say!(lang, "需要 {peak} 显存", "It takes {peak} of memory")
    };
    (Tone::Open, head, measured)
}

/// Why something cannot be estimated, and what to do about it.
pub fn cannot_estimate(lang: Lang, reason: &CannotEstimate, catalog: &Catalog) -> (String, String) {
    match reason {
        CannotEstimate::NoModel => (
            say!(lang, "还没有选模型。", "No model is chosen yet."),
            say!(
                lang,
                "从上面选一个最像的项目，或者搜一个模型名。",
                "Take the project most like yours, or search for a model by name."
            ),
        ),
        CannotEstimate::UnknownModel(id) => {
            let near = crate::project::search::models(id, catalog);
            let near = near.iter().filter_map(|id| catalog.model(id));
            let near: Vec<String> = near.map(|m| super::model_called(lang, m)).collect();
            let next = if near.is_empty() {
                say!(
                    lang,
                    "选一个大小差不多的模型，或者自己填层数和宽度。",
                    "Take a model of about the same size, or give its layers and width."
                )
            } else {
                let near = near.join(lang.pick("、", ", "));
                say!(lang, "最接近的是 {near}。", "The closest: {near}.")
            };
            (say!(lang, "目录里没有“{id}”。", "\"{id}\" is not in the catalog."), next)
        }
        CannotEstimate::OutOfRange(field) => {
            let name = super::field(*field).text(lang);
            (
                say!(lang, "{name}的数超出了能算的范围。", "{name} is outside what can be worked out."),
                say!(lang, "把它改回常见的大小再看。", "Bring it back to a usual size."),
            )
        }
        CannotEstimate::MethodDoesNotApply => (
            say!(lang, "这个方法用不到这个模型上。", "This method does not apply to this model."),
            say!(lang, "换一个方法，比如全参数微调。", "Take another method, such as a full fine-tune."),
        ),
        CannotEstimate::CardDoesNotApply => (
            say!(lang, "这张卡跑不了 PyTorch 训练。", "This card cannot run the training."),
            say!(lang, "换一张卡看看。", "Choose another card."),
        ),
        CannotEstimate::TooLarge => (
            say!(
                lang,
                "比世上最大的机器还大，数字已经没有意义。",
                "It is larger than any machine there is; a figure would mean nothing."
            ),
            say!(
                lang,
                "看看层数、宽度、批大小是不是多写了几个零。",
                "See whether layers, width or batch have some zeros too many."
            ),
        ),
    }
}
