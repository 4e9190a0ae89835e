//! The next step of a run that fits and could be faster.

use super::next::{Action, Next, card_name, named_all};
use super::numbers::{about_hours, hours, money};
use super::{Lang, both, say};
use crate::advise::{A_BREAK, Advice, CardChoice, Pick, QualityRisk};
use crate::catalog::Catalog;
use crate::estimate::{Bottleneck, CARDS_PER_MACHINE};
use crate::project::Project;

/// What keeps the cards from waiting for each other.
pub(super) fn sooner(lang: Lang, project: &Project, advice: &Advice, run: f64) -> Option<Next> {
    let waits = advice.time.is_some_and(|time| time.bottleneck == Bottleneck::Communication);
    if waits && run * 3600.0 > A_BREAK && project.hardware.count > CARDS_PER_MACHINE && !project.method.is_adapter() {
        let (now, fold) = (hours(lang, run), super::several::SEVERAL.text(lang));
        let plan = super::several::PLAN.text(lang);
        return Some(Next::say(say!(
            lang,
            "先别急着跑：照现在要 {now}，大半在等别的卡。先展开“{fold}”，用上“{plan}”再算。",
            "Not yet: as it is it takes {now}, most of it waiting for other cards. Open “{fold}” and take “{plan}” first."
        )));
    }
    let plan = advice.sooner.as_ref()?;
    let names = named_all(lang, &plan.fixes).join(lang.pick("，", "; "));
    let (now, then) = (hours(lang, run), about_hours(lang, run * plan.slower?));
    let slight = if plan.risk == QualityRisk::None {
        ""
    } else {
        both!("，效果几乎不变", ", with hardly a difference in the result").text(lang)
    };
    let sentence = say!(
        lang,
        "先别急着跑：照现在要 {now}，大半在等别的卡。{names}，{then}就跑完{slight}。",
        "Not yet: as it is it takes {now}, most of it waiting for other cards. With this, {then}: {names}{slight}."
    );
    Some(Next { sentence, action: Action::Sooner })
}

/// The largest micro-batch as a click, where accumulation can be lowered for it, so that an update sees as many samples
/// as before; a larger effective batch would be another training.
pub(super) fn fully(lang: Lang, project: &Project, largest: u64, time: &str) -> Next {
    let all = project.micro_batch.saturating_mul(project.accumulation);
    let whole = (1..=largest.min(all)).rev().find(|micro| all.is_multiple_of(*micro));
    let Some(micro_batch) = whole.filter(|micro| *micro > project.micro_batch) else {
        // What is gained dwindles, and the learning rate has to follow: no more than a few doublings (judgement).
        const DOUBLINGS: u32 = 3;
        let most = largest.min(project.micro_batch.saturating_mul(1 << DOUBLINGS));
        let batch = super::numbers::whole((1_u64 << most.max(1).ilog2()) as f64);
        return Next::say(say!(
            lang,
            "直接开跑，{time}跑完。批大小开到 {batch} 也装得下，不过学习率要跟着调。",
            "Start it: {time}. A batch of {batch} would fit too, but the learning rate has to follow."
        ));
    };
    let accumulation = all / micro_batch;
    let steps = match accumulation {
        1 => say!(lang, "不用再累积", "no longer accumulated"),
        steps => say!(lang, "累积 {steps} 次", "accumulated {steps} times"),
    };
    Next {
        sentence: say!(
            lang,
            "直接开跑，{time}跑完。显存有富余，批大小可以开到 {micro_batch}，{steps}，等效批大小不变。",
            "Start it: {time}. There is room for a batch of {micro_batch}, {steps}: the effective batch stays."
        ),
        action: Action::UseFully { micro_batch, accumulation },
    }
}

/// A rental that takes less than half the time.
pub(super) fn faster(lang: Lang, advice: &Advice, run: f64, catalog: &Catalog) -> Option<(String, String, String)> {
    let quick = |c: &&CardChoice| c.fits && c.time.is_some_and(|t| t.run.hours() < run / 2.0);
    let balanced = advice.cards.iter().filter(quick).find(|c| c.pick == Some(Pick::Balanced));
    let choice = balanced.or_else(|| advice.cards.iter().find(quick))?;
    let rent = choice.rent?;
    let price = money(lang, rent.run?, rent.rough);
    Some((card_name(lang, choice, catalog), about_hours(lang, choice.time?.run.hours()), price))
}
