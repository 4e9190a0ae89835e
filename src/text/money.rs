//! Rent, buy or free: plans and picks.

use super::names::{between, provider};
use super::numbers::{about_hours, hours, money, month, percent};
use super::offers::{abroad, billed, disk, paid};
use super::{Lang, Message, both, say};
use crate::advise::{LeftOut, Pick, Plan, Plans, StepUp, Way};
use crate::catalog::Catalog;
use crate::units::{Date, Money};

/// A price older than this is marked.
const OLD_DAYS: i64 = 90;

/// The mark of a price that was read more than 90 days before today.
pub fn old_price(lang: Lang, as_of: &str, today: Option<Date>) -> Option<&'static str> {
    let old = today?.days_after_month(as_of)? > OLD_DAYS;
    old.then(|| both!("旧价", "old price").text(lang))
}

/// A price as it stands in an empty field.
pub fn usual_price(price: Money) -> String {
    crate::units::significant(price.amount)
}

/// What the mark means.
pub const OLD_PRICE: Message =
    both!("90 天以前的价，下单前再看一眼", "read more than 90 days ago: look again before you order");

/// A card of a plan with its number: `RTX 4090 × 2`.
pub fn plan_card(lang: Lang, plan: &Plan, catalog: &Catalog) -> String {
    let Some(gpu) = catalog.gpu(plan.gpu) else { return say!(lang, "处理器", "Processor") };
    let name = super::card_called(lang, gpu);
    let gap = if name.ends_with('）') { "" } else { " " };
    if plan.count > 1 { format!("{name}{gap}× {}", plan.count) } else { name }
}

/// How one gets at it, in a few words.
pub fn plan_way(lang: Lang, plan: &Plan) -> String {
    let who = provider(lang, plan.who);
    match plan.way {
        Way::Processor => say!(lang, "自己的电脑", "your computer"),
        Way::Own => say!(lang, "自己的卡", "your own"),
        Way::Free => say!(lang, "{who} 免费", "free at {who}"),
        Way::Rent if who.is_empty() => say!(lang, "租，你填的价", "rented at your price"),
        Way::Rent => say!(lang, "租 · {who}", "rented · {who}"),
        Way::Spot => say!(lang, "租竞价机 · {who}", "spot · {who}"),
        Way::New => say!(lang, "买新卡", "bought new"),
        Way::Used => say!(lang, "买二手", "bought used"),
    }
}

/// A plan as something to do, inside a sentence.
pub(super) fn plan_doing(lang: Lang, plan: &Plan, catalog: &Catalog) -> String {
    let card = plan_card(lang, plan, catalog);
    let who = between(lang, provider(lang, plan.who));
    let at = provider(lang, plan.who);
    match plan.way {
        Way::Processor => say!(lang, "用自己电脑的处理器", "run it on your computer's processor"),
        Way::Own => say!(lang, "用自己的 {card}", "run it on your {card}"),
        Way::Free => say!(lang, "用{who}免费的 {card}", "take the free {card} at {at}"),
        Way::Rent if plan.who.is_empty() => say!(lang, "租 {card}", "rent {card}"),
        Way::Rent => say!(lang, "租{who}的 {card}", "rent {card} at {at}"),
        Way::Spot => say!(lang, "租{who}的 {card} 竞价机", "rent {card} at {at} as spot"),
        Way::New => say!(lang, "买新的 {card}", "buy {card} new"),
        Way::Used => say!(lang, "买二手 {card}", "buy {card} used"),
    }
}

/// What a plan costs: `¥18.50`, free.
pub fn plan_cost(lang: Lang, plan: &Plan) -> String {
    match plan.way {
        Way::Free => both!("不花钱", "free").text(lang).to_string(),
        Way::Processor | Way::Own => {
            let cost = money(lang, plan.cost, false);
            say!(lang, "电费 {cost}", "{cost} of power")
        }
        _ => money(lang, plan.cost, plan.rough),
    }
}

/// What is behind the price: what is counted in it, and when it was read.
pub fn plan_detail(lang: Lang, plan: &Plan) -> String {
    let date = if plan.as_of.is_empty() { String::new() } else { format!(" · {}", month(lang, plan.as_of)) };
    match plan.way {
        Way::Processor | Way::Own => String::new(),
        Way::Free => say!(lang, "多算 1 小时装环境{date}", "with an hour to set up{date}"),
        Way::Rent => {
            let (disk, abroad) = (disk(plan.disk_gb), abroad(lang, plan.abroad, plan.cost.currency));
            let billed = billed(plan.billed).text(lang);
            say!(
                lang,
                "含 1 小时装环境和 {disk} 硬盘{billed}{abroad}{date}",
                "with an hour to set up and {disk} of disk{billed}{abroad}{date}"
            )
        }
        Way::Spot => {
            let abroad = abroad(lang, plan.abroad, plan.cost.currency);
            say!(
                lang,
                "随时可能被收回，勤存检查点{abroad}{date}",
                "may be taken away at any moment: save often{abroad}{date}"
            )
        }
        Way::New | Way::Used => {
            let (paid, worth) = (paid(lang, plan), plan.worth.map(|w| money(lang, w, true)).unwrap_or_default());
            say!(
                lang,
                "先付 {paid}，一年后还值 {worth}{date}",
                "{paid} at first, still worth {worth} after a year{date}"
            )
        }
    }
}

/// Why a plan was picked, against the pick before it.
pub fn pick_reason(lang: Lang, pick: Pick, plan: &Plan, plans: &Plans, catalog: &Catalog) -> String {
    let wait = about_hours(lang, plan.wait);
    let before = match pick {
        Pick::Cheapest => None,
        Pick::Balanced => plans.picks.iter().find(|(p, _)| *p == Pick::Cheapest),
        Pick::Fastest => plans.picks.iter().rev().find(|(p, _)| *p != Pick::Fastest),
    };
    let Some((_, before)) = before else {
        return match plan.way {
            Way::Free => {
                say!(lang, "没有比免费更省的：{wait}后出结果。", "Nothing is cheaper than free: done in {wait}.")
            }
            Way::Own if plans.changed => super::beside::changed(lang, &wait),
            Way::Processor | Way::Own => {
                say!(lang, "用手头的，什么都不用买，{wait}后出结果。", "What you have does it, done in {wait}.")
            }
            _ if plans.cheaper.is_some_and(|c| plan_cost(lang, &c) != plan_cost(lang, plan)) => {
                let (doing, cost, its_wait) = plans.cheaper.map_or_else(Default::default, |c| {
                    (plan_doing(lang, &c, catalog), plan_cost(lang, &c), about_hours(lang, c.wait))
                });
                say!(
                    lang,
                    "几乎最便宜，{wait}后出结果。最便宜的是{doing}：{cost}，{its_wait}。",
                    "Next to the cheapest, done in {wait}. The cheapest is to {doing}: {cost}, {its_wait}."
                )
            }
            _ if plans.left_out.is_some() => {
                let left = plans.left_out.map(|l| left_out(lang, &l, catalog)).unwrap_or_default();
                say!(lang, "省钱又好上手，{wait}后出结果。{left}", "Cheap and easy to get, done in {wait}. {left}")
            }
            _ => say!(lang, "没有更便宜的办法，{wait}后出结果。", "There is no cheaper way; done in {wait}."),
        };
    };
    let more = Money { amount: (plan.cost.amount - before.cost.amount).max(0.0), currency: plan.cost.currency };
    let (more, saved) = (money(lang, more, plan.rough), hours(lang, (before.wait - plan.wait).max(0.0)));
    if plan.way == Way::Own && plans.changed {
        return super::beside::changed(lang, &wait);
    }
    match pick {
        Pick::Fastest => {
            say!(lang, "再多花 {more}，早 {saved}，{wait}后出结果。", "{more} more buys {saved}: done in {wait}.")
        }
        _ => say!(
            lang,
            "比最省钱的多花 {more}，早 {saved}，{wait}后出结果。",
            "For {more} more than the cheapest you have it {saved} sooner, in {wait}."
        ),
    }
}

/// What would be cheaper still, and why it is not the pick.
fn left_out(lang: Lang, left: &LeftOut, catalog: &Catalog) -> String {
    let (doing, cost) = (plan_doing(lang, &left.plan, catalog), plan_cost(lang, &left.plan));
    let wait = about_hours(lang, left.plan.wait);
    if left.abroad {
        return say!(
            lang,
            "{doing}还能更便宜（{cost}，{wait}），但要境外账号、用外币付。",
            "Cheaper still is to {doing} ({cost}, {wait}), but it takes an account and money from abroad."
        );
    }
    say!(
        lang,
        "{doing}还能更便宜（{cost}，{wait}），但软件要多折腾。",
        "Cheaper still is to {doing} ({cost}, {wait}), but its software takes patience."
    )
}

/// The next step up, and whether it is worth it.
pub fn step_up(lang: Lang, step: &StepUp, catalog: &Catalog) -> String {
    let (name, way) = (plan_card(lang, &step.to, catalog), plan_way(lang, &step.to));
    let from = before_card(lang, &step.from, catalog);
    let quicker = percent(step.quicker);
    let Some(dearer) = step.dearer else {
        let cost = money(lang, step.to.cost, step.to.rough);
        if step.from.cost.amount > 0.0 {
            return say!(
                lang,
                "从{from}再往上一档是 {name}（{way}）：不再是只付电费，要花 {cost}，早 {quicker}。",
                "One step up from {from}, {name} ({way}): no longer power alone but {cost}, {quicker} sooner."
            );
        }
        return say!(
            lang,
            "从{from}再往上一档是 {name}（{way}）：从不花钱到 {cost}，早 {quicker}。",
            "One step up from {from}, {name} ({way}): from nothing to {cost}, {quicker} sooner."
        );
    };
    let more = super::numbers::dearer(lang, dearer);
    let worth = if step.is_worth_it() {
        both!("值得想想。", "Worth a thought.")
    } else {
        both!("多半不划算。", "Hardly worth it.")
    }
    .text(lang);
    say!(
        lang,
        "从{from}再往上一档是 {name}（{way}）：{more}，早 {quicker}。{worth}",
        "One step up from {from}, {name} ({way}): {more}, {quicker} sooner. {worth}"
    )
}

/// The picture of time against money for those who do not see it.
pub fn front_alt(lang: Lang, plans: &Plans, catalog: &Catalog) -> String {
    let line = |p: &Plan| {
        let (card, way, cost, wait) =
            (plan_card(lang, p, catalog), plan_way(lang, p), plan_cost(lang, p), about_hours(lang, p.wait));
        say!(lang, "{card}（{way}）{cost}，{wait}", "{card} ({way}) {cost}, {wait}")
    };
    let all: Vec<String> = plans.front.iter().map(line).collect();
    let all = all.join(lang.pick("；", "; "));
    say!(lang, "时间和花费的取舍，从省到快：{all}。", "Time against money, from cheap to fast: {all}.")
}

/// A plan's card as where one stands.
fn before_card(lang: Lang, plan: &Plan, catalog: &Catalog) -> String {
    match (lang, plan.way) {
        (Lang::Zh, Way::Processor) => "处理器".to_string(),
        (Lang::Zh, _) => format!(" {} ", plan_card(lang, plan, catalog)),
        (Lang::En, Way::Processor) => "the processor".to_string(),
        (Lang::En, _) => format!("the {}", plan_card(lang, plan, catalog)),
    }
}
