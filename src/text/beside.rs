//! What stands beside the picks: the person's own cards, and what else a budget is good for.

use super::money::{plan_cost, plan_doing};
use super::next::LONG_HOURS;
use super::numbers::about_hours;
use super::offers::paid;
use super::{Lang, say};
use crate::advise::{AtHome, Plan, Plans, Way};
use crate::catalog::Catalog;

/// What else the budget is good for: nearly as soon for less, and the best card to buy.
pub fn beside_afford(lang: Lang, plans: &Plans, catalog: &Catalog) -> String {
    let nearly = plans.nearly.as_ref().map(|plan| {
        let (doing, cost) = (plan_doing(lang, plan, catalog), plan_cost(lang, plan));
        let wait = about_hours(lang, plan.wait);
        say!(lang, "慢不了多少的是{doing}：{cost}，{wait}。", "Hardly later and for less: {doing}, {cost}, {wait}.")
    });
    let told = |plan: &Plan| (plan_doing(lang, plan, catalog), paid(lang, plan), about_hours(lang, plan.hours));
    let purchase = plans.purchase.as_ref().map(|plan| {
        let (doing, paid, time) = told(plan);
        let Some((other, more, sooner)) = plans.quicker_purchase.as_ref().map(told) else {
            return say!(
                lang,
                "想买卡的话，这些钱最好是{doing}：{paid}，这个项目{time}跑完。",
                "If you would rather own a card, the best for this money is to {doing}: {paid}, and this run takes {time}."
            );
        };
        say!(
            lang,
            "想买卡的话，先看显存：最宽裕又省钱的是{doing}，{paid}，这个项目{time}跑完；最快的是{other}，{more}，{sooner}。",
            "If you would rather own a card, memory comes first: the most of it for the least is to {doing}, {paid}, and this run takes {time}; the fastest is to {other}, {more}, {sooner}."
        )
    });
    let keep = plans.keep_own.then(|| {
        say!(
            lang,
            "买卡就不必了：这些钱买不到比手头更好的。",
            "Buy no card: none for this money is better than what you have."
        )
    });
    let said: Vec<String> = [nearly, purchase, keep].into_iter().flatten().collect();
    let space = lang.pick("", " ");
    said.into_iter().flat_map(|sentence| [space.to_owned(), sentence]).collect()
}

/// Why the person's own card is a pick where the run first has to be made to fit.
pub(super) fn changed(lang: Lang, wait: &str) -> String {
    say!(
        lang,
        "用手头的，照上面的下一步改一改就装得下，{wait}后出结果。",
        "What you have does it, changed as the next step above says: done in {wait}."
    )
}

/// Why the person's own cards stand beside the picks.
pub fn at_home(lang: Lang, own: &AtHome) -> String {
    let wait = about_hours(lang, own.plan.wait);
    if own.changed {
        return say!(
            lang,
            "照上面的下一步改一改就装得下，{wait}跑完，不用租也不用买。",
            "Changed as the next step above says it fits, done in {wait}: nothing to rent or buy."
        );
    }
    if own.plan.way == Way::Processor {
        return say!(lang, "{wait}跑完，不用租也不用买。", "Done in {wait}: nothing to rent or buy.");
    }
    if own.plan.wait > LONG_HOURS {
        return say!(lang, "装得下，照现在的设置{wait}跑完。", "It fits; as it is set, done in {wait}.");
    }
    say!(lang, "装得下，{wait}跑完，不用租也不用买。", "It fits, done in {wait}: nothing to rent or buy.")
}
