//! What a budget buys, and the free way out where it is too little.

use super::money::{plan_card, plan_cost, plan_doing};
use super::names::provider;
use super::numbers::{about_hours, money};
use super::offers::paid;
use super::{Lang, say};
use crate::advise::{Afford, FreeInstead, Plan, Plans, Way};
use crate::catalog::Catalog;
use crate::project::Project;
use crate::units::Money;

/// What the budget buys; nothing where none is given.
pub fn afford(lang: Lang, project: &Project, plans: &Plans, catalog: &Catalog) -> Option<String> {
    let said = afforded(lang, project, plans, plans.afford.as_ref()?, catalog);
    Some(match plans.free_instead.as_ref() {
        Some(free) => said + lang.pick("", " ") + &free_instead(lang, free, catalog),
        None if plans.afford.is_some_and(|afford| afford.is_too_little()) => {
            let less = super::less(lang, project, catalog);
            say!(lang, "{said}{less}", "{said} {less}")
        }
        None => said,
    })
}

/// The free way out where the money is not enough, with its limits.
pub(super) fn free_instead(lang: Lang, free: &FreeInstead, catalog: &Catalog) -> String {
    let choice = &free.choice;
    let platform = provider(lang, choice.platform);
    let card = super::free_card(lang, choice, catalog).unwrap_or_default();
    let who = super::names::before(lang, platform);
    let limits = super::free_limits(lang, choice);
    let limits = match choice.restriction {
        Some(restriction) => {
            let only = super::restriction(restriction).text(lang);
            say!(lang, "{limits}；{only}", "{limits}; {only}")
        }
        None => limits,
    };
    if free.fixes.is_empty() {
        return say!(
            lang,
            "不花钱的路子：{who}免费的 {card} 就装得下（{limits}）。",
            "For nothing: it fits the free {card} at {platform} ({limits})."
        );
    }
    let names: Vec<String> = free.fixes.iter().map(|kind| super::next::named(lang, *kind)).collect();
    let names = names.join(lang.pick("，", "; "));
    say!(
        lang,
        "不花钱的路子：{names}，{who}免费的 {card} 就装得下（{limits}）。",
        "For nothing, changed: {names}; then it fits the free {card} at {platform} ({limits})."
    )
}

fn afforded(lang: Lang, project: &Project, plans: &Plans, afford: &Afford, catalog: &Catalog) -> String {
    let budget = &project.budget;
    let limit = money(lang, Money { amount: budget.limit.unwrap_or(0.0), currency: budget.currency }, false);
    let have = if budget.limit == Some(0.0) {
        say!(lang, "不花钱的话，", "Without spending: ")
    } else {
        say!(lang, "有 {limit}：", "With {limit}: ")
    };
    match afford {
        Afford::Soonest(plan) => {
            let (doing, wait) = (plan_doing(lang, plan, catalog), about_hours(lang, plan.wait));
            if plan.cost.amount == 0.0 {
                return say!(
                    lang,
                    "{have}最快的是{doing}，{wait}后出结果，一分钱不花。",
                    "{have}the soonest is to {doing}, done in {wait}, for nothing."
                );
            }
            let cost = if matches!(plan.way, Way::Own | Way::Processor) {
                plan_cost(lang, plan)
            } else {
                let paid = paid(lang, plan);
                say!(lang, "要付 {paid}", "{paid}")
            };
            let sooner = |p: &Plan| p.wait < plan.wait && p.outlay.amount <= budget.limit.unwrap_or(0.0);
            if plans.front.iter().any(sooner) {
                return say!(
                    lang,
                    "{have}快得差不多又省事的是{doing}，{wait}后出结果，{cost}。",
                    "{have}about the soonest, with little trouble, is to {doing}, done in {wait}, for {cost}."
                );
            }
            say!(
                lang,
                "{have}最快的是{doing}，{wait}后出结果，{cost}。",
                "{have}the soonest is to {doing}, done in {wait}, for {cost}."
            )
        }
        Afford::OnOwnCard(plan) => {
            let (card, wait) = (plan_card(lang, plan, catalog), about_hours(lang, plan.wait));
            let cost = money(lang, plan.outlay, plan.rough);
            say!(
                lang,
                "{limit} 不用租也不用买：按建议改一改，自己的 {card} 就装得下，{wait}后出结果，电费 {cost}。",
                "With {limit}, neither rent nor buy: changed as advised it fits your own {card}, done in {wait} for {cost} of power."
            )
        }
        // Electricity comes with the month's bill.
        Afford::TooLittle(plan) if matches!(plan.way, Way::Own | Way::Processor) => {
            let (doing, wait) = (plan_doing(lang, plan, catalog), about_hours(lang, plan.wait));
            let cost = money(lang, plan.outlay, plan.rough);
            say!(
                lang,
                "{limit} 之外只要电费 {cost}：{doing}，{wait}后出结果。",
                "Beyond {limit} it only takes {cost} of power: {doing}, done in {wait}."
            )
        }
        Afford::TooLittle(plan) => {
            let (doing, cost) = (plan_doing(lang, plan, catalog), paid(lang, plan));
            say!(
                lang,
                "{limit} 不够：最少要 {cost}，{doing}。",
                "{limit} is not enough: the least is {cost}, to {doing}."
            )
        }
    }
}
