//! The one next step: what to do first, and the click that does it where there is one.

use super::names::{before, between, provider};
use super::numbers::{about_hours, hours, money};
use super::speed::{faster, fully, sooner};
use super::{Lang, partial, say};
use crate::advise::{
    Advice, CardChoice, CardWarning, FixKind, FreeChoice, Pick, Plan, Verdict, Way, over_data, without_bf16,
};
use crate::catalog::Catalog;
use crate::project::{Objective, Precision, Project};

/// Hours above which waiting is the problem and not the memory.
pub(super) const LONG_HOURS: f64 = 24.0 * 7.0;

/// What a click on the next step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Nothing to click.
    None,
    /// Applies [`Advice::make_it_fit`].
    MakeItFit,
    /// Applies [`Advice::sooner`].
    Sooner,
    /// Mixed precision in fp16 in place of a bf16 that the card lacks.
    Fp16,
    /// Chooses a card by its id.
    Card(String),
    /// Sets a step that the data are enough for.
    SmallerStep {
        /// Samples per card and forward pass.
        micro_batch: u64,
        /// Micro-batches per optimizer step.
        accumulation: u64,
    },
    /// Sets the largest micro-batch that fits, with as much less accumulation.
    UseFully {
        /// Samples per card and forward pass.
        micro_batch: u64,
        /// Micro-batches per optimizer step.
        accumulation: u64,
    },
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// What to do.
    pub sentence: String,
    /// The click that does it.
    pub action: Action,
}

impl Next {
    pub(super) fn say(sentence: String) -> Self {
        Self { sentence, action: Action::None }
    }
}

/// What to do first.
pub fn next(lang: Lang, project: &Project, advice: &Advice, catalog: &Catalog) -> Next {
    let fp16_first = advice.warnings.contains(&CardWarning::NoBf16);
    let next = step(lang, project, advice, catalog, fp16_first);
    // Where the time is told in part, or another card is named already, no time is weighed.
    let weighed =
        project.objective != Objective::Sampled && (advice.verdict.is_good() || next.action == Action::MakeItFit);
    let run = advice.time.map_or(0.0, |t| t.run.hours());
    let named = advice.verdict.is_good() && run > LONG_HOURS;
    match not_here(lang, advice, catalog).filter(|_| weighed && !named) {
        Some(other) => Next { sentence: next.sentence + &other, ..next },
        None => next,
    }
}

/// Another place, for somebody whose own card takes days where it takes hours.
fn not_here(lang: Lang, advice: &Advice, catalog: &Catalog) -> Option<String> {
    /// Nobody minds a night.
    const A_NIGHT: f64 = 12.0;
    /// So many times as soon is worth moving for (judgement).
    const SOONER: f64 = 4.0;
    let plans = &advice.plans;
    let picks = || plans.picks.iter().map(|(_, plan)| plan);
    let own = picks().chain(plans.at_home.iter().map(|own| &own.plan)).find(|plan| plan.way == Way::Own)?;
    let soon =
        |plan: &&Plan| matches!(plan.way, Way::Rent | Way::Free) && !plan.abroad && plan.wait * SOONER <= own.wait;
    let other = picks().chain(plans.rentals.iter().map(|(_, plan)| plan)).find(soon).filter(|_| own.wait > A_NIGHT)?;
    let (doing, cost) = (super::money::plan_doing(lang, other, catalog), super::plan_cost(lang, other));
    let (here, there) = (hours(lang, own.wait), about_hours(lang, other.wait));
    Some(say!(
        lang,
        "自己的卡要跑 {here}；不想等，就{doing}：{cost}，{there}出结果。",
        " Your own takes {here}; to have it sooner, {doing}: {cost}, {there}."
    ))
}

fn step(lang: Lang, project: &Project, advice: &Advice, catalog: &Catalog, fp16_first: bool) -> Next {
    match advice.verdict {
        // Whatever the step is on, it has to make sense first.
        Verdict::NoGpuNeeded { .. } | Verdict::Fits { .. } if over_data(project).is_some() && !fp16_first => {
            over_data(project)
                .map_or_else(|| fits(lang, project, advice, catalog), |over| super::step::smaller_step(lang, over))
        }
        Verdict::NoGpuNeeded { hours_on_cpu } => no_gpu_needed(lang, hours_on_cpu, advice),
        Verdict::Fits { .. } => fits(lang, project, advice, catalog),
        Verdict::Tight { .. } => and_sampling(lang, project, tight(lang, advice)),
        Verdict::RunsOut { .. } | Verdict::CannotRun(_) => {
            let next = plan(lang, advice).unwrap_or_else(|| elsewhere(lang, project, advice, catalog));
            and_sampling(lang, project, next)
        }
        Verdict::NoCard => and_sampling(lang, project, elsewhere(lang, project, advice, catalog)),
    }
}

/// That sampling is left out, where answers are sampled.
fn and_sampling(lang: Lang, project: &Project, next: Next) -> Next {
    if project.objective != Objective::Sampled {
        return next;
    }
    let note = lang.pick("采样没算在内。", " Sampling is not counted.");
    Next { sentence: next.sentence + note, ..next }
}

/// Nothing to buy; where the processor takes its time, a free notebook that does not.
fn no_gpu_needed(lang: Lang, hours_on_cpu: f64, advice: &Advice) -> Next {
    /// Above this, somebody who learns would rather not wait.
    const WAITING_HOURS: f64 = 0.5;
    let soon = |f: &&FreeChoice| f.is_open() && f.hours.is_some_and(|h| h < hours_on_cpu / 4.0);
    let free = || advice.free.iter().find(soon);
    let quicker = if hours_on_cpu > WAITING_HOURS { free() } else { None };
    Next::say(
        match quicker.and_then(|f| Some((between(lang, provider(lang, f.platform)), about_hours(lang, f.hours?)))) {
            Some((platform, time)) => say!(
                lang,
                "现在的电脑就够了，别买，直接开始。不想等，就用{platform}的免费显卡，{time}跑完。",
                "The computer you have will do. Buy nothing, just start. If you would rather not wait: the free card at {platform} takes {time}."
            ),
            None => {
                say!(
                    lang,
                    "现在的电脑就够了，别买，直接开始。",
                    "The computer you have will do. Buy nothing, just start."
                )
            }
        },
    )
}

/// What stands in the way of a card on which the run would fit: its software.
fn software(lang: Lang, advice: &Advice) -> Option<String> {
    let bars = [CardWarning::NoTriton, CardWarning::RocmOverride, CardWarning::OtherStack, CardWarning::Dropped];
    let mut names = Vec::new();
    for bar in bars.into_iter().filter(|bar| advice.warnings.contains(bar)) {
        let name = super::warning(bar).text(lang);
        names.push(match lang {
            Lang::Zh => name.to_string(),
            Lang::En => uncapital(name),
        });
    }
    (!names.is_empty()).then(|| names.join(lang.pick("、", ", ")))
}

fn fits(lang: Lang, project: &Project, advice: &Advice, catalog: &Catalog) -> Next {
    /// Below this, a run is over before all that is around it.
    const SHORT_HOURS: f64 = 0.17;
    let run = advice.time.map(|t| t.run.hours());
    if advice.warnings.contains(&CardWarning::NoBf16) {
        return other_precision(lang, project, run, advice, catalog);
    }
    if advice.warnings.contains(&CardWarning::HalfBreaks) {
        return Next::say(say!(
            lang,
            "先把精度换成 fp32：这张卡用 fp16，损失常常变成非数。换好再看显存够不够。",
            "First change the precision to fp32: with fp16 the loss often turns into NaN on this card. Then see whether it still fits."
        ));
    }
    if let Some(bars) = software(lang, advice) {
        return Next::say(match run.map(|h| about_hours(lang, h)) {
            Some(time) => say!(
                lang,
                "显存够，先过软件这一关：{bars}（下面“这张卡要注意”里有说明）。先跑通 20 步；全程{time}。",
                "Memory is enough; software comes first: {bars} (explained below under the card's notes). Get 20 steps running; all of it takes {time}."
            ),
            None => say!(
                lang,
                "显存够，先过软件这一关：{bars}（下面“这张卡要注意”里有说明）。先跑通 20 步。",
                "Memory is enough; software comes first: {bars} (explained below under the card's notes). Get 20 steps running."
            ),
        });
    }
    if let Some(next) =
        run.filter(|_| project.objective != Objective::Sampled).and_then(|h| sooner(lang, project, advice, h))
    {
        return next;
    }
    if let Some(run) = run.filter(|h| *h > LONG_HOURS) {
        let long = hours(lang, run);
        if let Some((name, other, price)) = faster(lang, advice, run, catalog) {
            return Next::say(say!(
                lang,
                "装得下，但要跑 {long}。租 {name} {other}，花 {price}，想清楚时间值多少。",
                "It fits, but takes {long}. On a rented {name} it is {other} for {price}: what is the wait worth?"
            ));
        }
        return Next::say(say!(
            lang,
            "装得下，但要跑 {long}。先用一小部分数据试通再说。",
            "It fits, but takes {long}. Try it on a small part of the data first."
        ));
    }
    if let Some(part) = run.and_then(|h| partial::time(lang, project, catalog, &about_hours(lang, h))) {
        return Next::say(part);
    }
    let time = run.map(|h| about_hours(lang, h));
    let bigger =
        advice.largest_micro_batch.filter(|n| advice.room_has_use && *n >= project.micro_batch.saturating_mul(2));
    match (time, bigger) {
        (Some(t), Some(n)) => fully(lang, project, n, &t),
        (Some(t), None) if run.is_some_and(|h| h < SHORT_HOURS) => Next::say(say!(
            lang,
            "直接开跑，{t}跑完；装环境、下载、每轮评估没算，这么短的活它们往往更久。",
            "Start it: {t} to the end. Set-up, downloads and evaluation are not counted, and often take longer than so short a run."
        )),
        (Some(t), None) => Next::say(say!(lang, "直接开跑，{t}跑完。", "Start it: {t} to the end.")),
        (None, _) => Next::say(say!(lang, "直接开跑就行。", "Just start it.")),
    }
}

/// A card without bf16 takes the same run in fp16, or in fp32 where fp16 is no use; whoever held everything in bf16 needs
/// more there.
fn other_precision(lang: Lang, project: &Project, run: Option<f64>, advice: &Advice, catalog: &Catalog) -> Next {
    let gpu = catalog.gpu(&project.hardware.gpu);
    let card = gpu.map(|gpu| super::card_called(lang, gpu)).unwrap_or_default();
    let half = gpu.and_then(|gpu| without_bf16(project, gpu)) != Some(Precision::Fp32);
    let (format, action) = if half { ("fp16", Action::Fp16) } else { ("fp32", Action::None) };
    let same = half && project.precision == Precision::AmpBf16;
    let sentence = match (run.filter(|_| same).map(|h| about_hours(lang, h)), software(lang, advice)) {
        (Some(time), Some(bars)) => say!(
            lang,
            "先把精度换成 {format}：{card} 不支持 bf16。再过软件这一关：{bars}（下面“这张卡要注意”里有说明）。先跑通 20 步；全程{time}。",
            "First change the precision to {format}: the {card} has no bf16. Then the software: {bars} (explained below under the card's notes). Get 20 steps running; all of it takes {time}."
        ),
        (Some(time), None) => say!(
            lang,
            "先把精度换成 {format}：{card} 不支持 bf16。换好就能开跑，{time}跑完。",
            "First change the precision to {format}: the {card} has no bf16. Then start it: {time}."
        ),
        (None, _) => say!(
            lang,
            "先把精度换成 {format}：{card} 不支持 bf16。换好再看显存够不够。",
            "First change the precision to {format}: the {card} has no bf16. Then see whether it still fits."
        ),
    };
    Next { sentence, action }
}

/// It may fit: the least painful set of fixes makes sure, and where there is none twenty steps will tell.
fn tight(lang: Lang, advice: &Advice) -> Next {
    let Some(names) = advice.make_it_fit.as_ref().map(|plan| named_all(lang, &plan.fixes)) else {
        return Next::say(say!(
            lang,
            "先关掉别的程序，跑 20 步，看看 nvidia-smi 再决定。",
            "Close everything else, run 20 steps, watch nvidia-smi, then decide."
        ));
    };
    let sentence = match names.as_slice() {
        [only] => say!(
            lang,
            "用上“{only}”就稳了；或者先跑 20 步，看看 nvidia-smi。",
            "To be safe, {only}; or run 20 steps and watch nvidia-smi."
        ),
        all => {
            let all = all.join(lang.pick("，", "; "));
            say!(
                lang,
                "一起用上就稳了：{all}。或者先跑 20 步，看看 nvidia-smi。",
                "To be safe, do this together: {all}. Or run 20 steps and watch nvidia-smi."
            )
        }
    };
    Next { sentence, action: Action::MakeItFit }
}

/// The least painful set of fixes.
fn plan(lang: Lang, advice: &Advice) -> Option<Next> {
    let plan = advice.make_it_fit.as_ref()?;
    let names = named_all(lang, &plan.fixes);
    let spare = plan.spare;
    if let [only] = names.as_slice() {
        return Some(Next {
            sentence: say!(
                lang,
                "先别换卡：{only}，就装得下，还余 {spare}。",
                "Keep the card: {only}, and it fits with {spare} to spare."
            ),
            action: Action::MakeItFit,
        });
    }
    let all = names.join(lang.pick("，", "; "));
    Some(Next {
        sentence: say!(
            lang,
            "先别换卡，一起用上：{all}。这样就装得下，还余 {spare}。",
            "Keep the card and do this together: {all}. Then it fits with {spare} to spare."
        ),
        action: Action::MakeItFit,
    })
}

pub(super) fn named_all(lang: Lang, fixes: &[FixKind]) -> Vec<String> {
    fixes.iter().map(|kind| named(lang, *kind)).collect()
}

/// A fix as part of a sentence.
pub(super) fn named(lang: Lang, kind: FixKind) -> String {
    let name = super::fix(lang, kind);
    match lang {
        Lang::Zh => name,
        Lang::En => uncapital(&name),
    }
}

fn uncapital(text: &str) -> String {
    let mut letters = text.chars();
    // An abbreviation keeps its capitals.
    if text.chars().nth(1).is_some_and(|letter| letter.is_ascii_uppercase()) {
        return text.to_string();
    }
    letters.next().map(|first| std::iter::once(first.to_ascii_lowercase()).chain(letters).collect()).unwrap_or_default()
}

/// Somewhere else: a free notebook, a rental, a card to buy.
fn elsewhere(lang: Lang, project: &Project, advice: &Advice, catalog: &Catalog) -> Next {
    if let Some(free) = advice.free.iter().find(|f| f.is_enough()) {
        let (platform, limits) = (before(lang, provider(lang, free.platform)), super::free_limits(lang, free));
        return Next::say(match super::free_card(lang, free, catalog) {
            Some(card) => say!(
                lang,
                "先别急着买：{platform}有免费的 {card}，够用。{limits}。",
                "Don't buy yet: {platform} lends a free {card}, and that is enough. {limits}."
            ),
            None => say!(
                lang,
                "先别急着买：{platform}的免费额度就够。{limits}。",
                "Don't buy yet: the free {platform} is enough. {limits}."
            ),
        });
    }
    if let Some(free) = &advice.plans.free_instead {
        let way = super::budget::free_instead(lang, free, catalog);
        return Next::say(say!(lang, "先别花钱。{way}", "Spend nothing yet. {way}"));
    }
    // What is said of the budget below is the answer, where it buys nothing.
    if advice.plans.afford.is_some_and(|afford| afford.is_too_little()) {
        return Next::say(super::afford(lang, project, &advice.plans, catalog).unwrap_or_default());
    }
    let limit = project.budget.limit.unwrap_or(f64::INFINITY);
    let usable = |c: &&CardChoice| c.fits && c.rent.and_then(|r| r.run).is_none_or(|run| run.amount <= limit);
    let to_rent = || advice.cards.iter().filter(usable).filter(|c| c.rent.is_some());
    // The one that stands among the picks below, the cheapest first; they are weighed with all that is paid for.
    let mut picked =
        advice.plans.picks.iter().map(|(_, plan)| plan).filter(|plan| matches!(plan.way, Way::Rent | Way::Spot));
    let rented = picked
        .find_map(|plan| Some((to_rent().find(|c| (c.gpu, c.count) == (plan.gpu, plan.count))?, plan.way)))
        .or_else(|| {
            Some((to_rent().find(|c| c.pick == Some(Pick::Cheapest)).or_else(|| to_rent().next())?, Way::Rent))
        });
    if let Some((choice, way, rent)) = rented.and_then(|(c, way)| c.rent.map(|r| (c, way, r))) {
        if choice.count > crate::estimate::CARDS_PER_MACHINE {
            return cluster(lang, choice, advice, catalog);
        }
        // At the price of the way that is meant: a machine let only while nobody else wants it costs half.
        let spot = rent.spot.filter(|_| way == Way::Spot);
        let (who, price, run) = match spot {
            Some(price) => (rent.spot_provider, price, rent.spot_run),
            None => (rent.provider, rent.per_hour, rent.run),
        };
        let mut name = card_name(lang, choice, catalog);
        if spot.is_some() {
            name.push_str(lang.pick("（竞价机，随时可能被收回）", " (spot: it may be taken away)"));
        }
        let who = before(lang, provider(lang, who));
        let per_hour = money(lang, price, rent.rough);
        let abroad = super::offers::abroad(lang, rent.converted, rent.per_hour.currency);
        let sentence = match (run, choice.time) {
            (Some(run), Some(time)) => {
                let (run, time) = (money(lang, run, rent.rough), about_hours(lang, time.run.hours()));
                say!(
                    lang,
                    "先别急着买，租两小时试试：{who}的 {name}，每小时 {per_hour}；整个跑完{time}，{run}{abroad}。",
                    "Don't buy yet: two rented hours will tell you. {name} at {who}, {per_hour} an hour; {time} and {run} for the whole run{abroad}."
                )
            }
            _ => say!(
                lang,
                "先别急着买，租两小时试试：{who}的 {name}，每小时 {per_hour}{abroad}。",
                "Don't buy yet: two rented hours will tell you. {name} at {who}, {per_hour} an hour{abroad}."
            ),
        };
        return Next { sentence, action: one_card(choice) };
    }
    match advice.cards.iter().find(usable) {
        Some(choice) => {
            let name = card_name(lang, choice, catalog);
            Next {
                sentence: say!(lang, "换成 {name} 就装得下。", "On {name} it fits."), action: one_card(choice)
            }
        }
        None => super::less::nowhere(lang, project, advice, catalog),
    }
}

/// More than one machine: nobody does that on a hunch. What does not fit one machine is tried there with fewer layers.
fn cluster(lang: Lang, choice: &CardChoice, advice: &Advice, catalog: &Catalog) -> Next {
    let name = card_name(lang, choice, catalog);
    let time = choice.time.map(|t| about_hours(lang, t.run.hours())).unwrap_or_default();
    let cost = choice.rent.and_then(|r| Some(money(lang, r.run?, r.rough))).unwrap_or_default();
    let least = advice.cards.iter().filter(|c| c.gpu == choice.gpu && c.fits).map(|c| c.count).min();
    let machines = least.unwrap_or(choice.count).div_ceil(crate::estimate::CARDS_PER_MACHINE);
    Next::say(if machines > 1 {
        say!(
            lang,
            "这是集群级的任务：{name}，{time}，按目录价 {cost}。一台八卡机放不下整个模型：先把层数减到约 1/{machines}，在一台上跑几百步，实测吞吐，再谈长约。",
            "This is a job for a cluster: {name}, {time}, {cost} at list prices. One machine of eight does not hold it: measure a few hundred steps there with about 1/{machines} of the layers first, then negotiate a contract."
        )
    } else {
        say!(
            lang,
            "这是集群级的任务：{name}，{time}，按目录价 {cost}。先租一台八卡机跑几百步，实测吞吐和通信，再谈长约。",
            "This is a job for a cluster: {name}, {time}, {cost} at list prices. Measure a few hundred steps on one machine of eight first, then negotiate a contract."
        )
    })
}

fn one_card(choice: &CardChoice) -> Action {
    if choice.count == 1 { Action::Card(choice.gpu.to_string()) } else { Action::None }
}

pub(super) fn card_name(lang: Lang, choice: &CardChoice, catalog: &Catalog) -> String {
    let name = catalog.gpu(choice.gpu).map_or_else(|| choice.gpu.to_string(), |g| super::card_called(lang, g));
    if choice.count > 1 { format!("{name} × {}", choice.count) } else { name }
}
