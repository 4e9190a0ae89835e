//! What stands beside the picks: the person's own cards, and what else a budget is good for.

use super::money::plan_doing;
use super::numbers::{about_hours, money};
use super::{Lang, say};
use crate::advise::{AtHome, Plans};
use crate::catalog::Catalog;

/// What else the budget is good for: nearly as soon for less, and the best card to buy.
pub fn beside_afford(lang: Lang, plans: &Plans, catalog: &Catalog) -> String {
    let nearly = plans.nearly.as_ref().map(|plan| {
        let (doing, cost) = (plan_doing(lang, plan, catalog), money(lang, plan.outlay, plan.rough));
        let wait = about_hours(lang, plan.wait);
        say!(lang, "慢不了多少的是{doing}：{cost}，{wait}。", "Hardly later and for less: {doing}, {cost}, {wait}.")
    });
    let purchase = plans.purchase.as_ref().map(|plan| {
        let (doing, paid) = (plan_doing(lang, plan, catalog), money(lang, plan.outlay, plan.rough));
        let time = about_hours(lang, plan.hours);
        say!(
            lang,
            "想买卡的话，这些钱最好是{doing}：{paid}，这个项目{time}跑完。",
            "If you would rather own a card, the best for this money is to {doing}: {paid}, and this run takes {time}."
        )
    });
    let said: Vec<String> = [nearly, purchase].into_iter().flatten().collect();
    let space = lang.pick("", " ");
    said.into_iter().flat_map(|sentence| [space.to_owned(), sentence]).collect()
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
    say!(lang, "装得下，{wait}跑完，不用租也不用买。", "It fits, done in {wait}: nothing to rent or buy.")
}
