//! A step that takes more samples than there are.

use super::next::{Action, Next};
use super::numbers::whole;
use super::{Lang, say};
use crate::advise::OverData;

/// A step that sees more samples than there are.
pub(super) fn smaller_step(lang: Lang, over: OverData) -> Next {
    let said = larger_than_data(lang, over);
    let Some((micro_batch, accumulation)) = over.instead else {
        return Next::say(say!(
            lang,
            "{said}卡比样本还多：先添数据，或者少用几张卡。",
            "{said} There are more cards than samples: add data, or take fewer cards."
        ));
    };
    let sentence = match accumulation {
        1 => say!(
            lang,
            "{said}先把批大小改成 {micro_batch}，不累积。",
            "{said} First set the batch to {micro_batch}, without accumulation."
        ),
        steps => say!(
            lang,
            "{said}先把批大小改成 {micro_batch}、累积 {steps} 次。",
            "{said} First set the batch to {micro_batch}, accumulated {steps} times."
        ),
    };
    Next { sentence, action: Action::SmallerStep { micro_batch, accumulation } }
}

/// That one step takes more than all data.
pub(super) fn larger_than_data(lang: Lang, over: OverData) -> String {
    let (step, samples) = (whole(over.step as f64), whole(over.samples as f64));
    say!(
        lang,
        "一步要看 {step} 个样本，数据一共才 {samples} 个。",
        "One step takes {step} samples, and there are only {samples}."
    )
}
