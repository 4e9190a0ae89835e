//! Rent, buy or free: plans, picks, budget, the curve.

use super::names::{between, provider};
use super::numbers::{about, about_hours, before_word, hours, money, month, percent, plain};
use super::offers::{abroad, billed, disk};
use super::{Lang, Message, both, say};
use crate::advise::{Afford, FreeInstead, LeftOut, Pick, Plan, Plans, Purchase, RentOrBuy, StepUp, Way};
use crate::catalog::Catalog;
use crate::project::Project;
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
    if plan.count > 1 { format!("{name} × {}", plan.count) } else { name }
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
            let (paid, worth) =
                (money(lang, plan.outlay, plan.rough), plan.worth.map(|w| money(lang, w, true)).unwrap_or_default());
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

/// What the budget buys; nothing where none is given.
pub fn afford(lang: Lang, project: &Project, plans: &Plans, catalog: &Catalog) -> Option<String> {
    let said = afforded(lang, project, plans.afford.as_ref()?, catalog);
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

fn afforded(lang: Lang, project: &Project, afford: &Afford, catalog: &Catalog) -> String {
    let budget = &project.budget;
    let limit = money(lang, Money { amount: budget.limit.unwrap_or(0.0), currency: budget.currency }, false);
    match afford {
        Afford::Soonest(plan) => {
            let (doing, wait) = (plan_doing(lang, plan, catalog), about_hours(lang, plan.wait));
            if plan.cost.amount == 0.0 {
                return say!(
                    lang,
                    "有 {limit}：最快的是{doing}，{wait}后出结果，一分钱不花。",
                    "With {limit}: the soonest is to {doing}, done in {wait}, for nothing."
                );
            }
            let cost = money(lang, plan.outlay, plan.rough);
            say!(
                lang,
                "有 {limit}：最快的是{doing}，{wait}后出结果，要付 {cost}。",
                "With {limit}: the soonest is to {doing}, done in {wait}, for {cost}."
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
            let (doing, cost) = (plan_doing(lang, plan, catalog), money(lang, plan.outlay, plan.rough));
            say!(
                lang,
                "{limit} 不够：最少要 {cost}，{doing}。",
                "{limit} is not enough: the least is {cost}, to {doing}."
            )
        }
    }
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

/// From which hour on buying pays.
pub fn break_even(lang: Lang, r: &RentOrBuy, catalog: &Catalog) -> String {
    let name = card(lang, r, catalog);
    let Some((used, purchase)) = r.best() else {
        return say!(lang, "{name} 的价格不全，比不了。", "Prices of {name} are missing.");
    };
    let kind = kind(lang, used);
    let a_week = plain(r.hours_a_week);
    match purchase.pays_from_h {
        Some(from) => {
            // Of what is said, so that both figures tell the same.
            let whole = from.ceil();
            let (from_h, weeks) = (before_word(lang, &about(lang, whole)), weeks(lang, whole / r.hours_a_week));
            let hours = if whole == 1.0 { "hour" } else { "hours" };
            say!(
                lang,
                "{name}：用满 {from_h}小时，买{kind}才比租划算。每周用 {a_week} 小时，就是 {weeks}。",
                "{name}: buying {kind} pays from {from_h}{hours} of use on. At {a_week} hours a week that is {weeks}."
            )
        }
        None => say!(
            lang,
            "{name}：每周用 {a_week} 小时，六年里都是租划算。用得更勤，再来看买。",
            "{name}: at {a_week} hours a week, renting stays cheaper for six years. Use it more, and look again."
        ),
    }
}

/// This project once: rented or bought.
pub fn one_project(lang: Lang, r: &RentOrBuy) -> Option<String> {
    let point = r.project?;
    let own = match (point.new, point.used) {
        (Some(n), Some(u)) => n.min(u),
        (n, u) => n.or(u)?,
    };
    let (time, rent, own) = (hours(lang, point.hours), amount(lang, r, point.rent), amount(lang, r, own));
    let disk = disk(r.disk_gb);
    Some(say!(
        lang,
        "只做这一个项目（{time}）：租 {rent}（含 1 小时装环境和 {disk} 硬盘），买来再卖掉净花 {own}。",
        "This project alone ({time}): {rent} rented, with an hour to set up and {disk} of disk; {own} if you buy and sell again."
    ))
}

/// So many hours every week for two years.
pub fn two_years(lang: Lang, r: &RentOrBuy) -> String {
    let point = r.two_years;
    let (a_week, all) = (plain(r.hours_a_week), before_word(lang, &about(lang, point.hours)));
    let rent = amount(lang, r, point.rent);
    let bought = |used: bool, purchase: &Option<Purchase>, cost: Option<f64>| {
        let (purchase, cost) = (purchase.as_ref()?, amount(lang, r, cost?));
        let (kind, worth) = (kind(lang, used), money(lang, purchase.worth_after, true));
        Some(say!(lang, "买{kind}净花 {cost}（还值 {worth}）", "{cost} bought {kind} (still worth {worth})"))
    };
    let ways: Vec<String> =
        [bought(false, &r.new, point.new), bought(true, &r.used, point.used)].into_iter().flatten().collect();
    let ways = ways.join(lang.pick("，", ", "));
    say!(
        lang,
        "每周 {a_week} 小时，用两年（{all}小时）：租 {rent}，{ways}。",
        "{a_week} hours every week for two years ({all}hours): {rent} rented, {ways}."
    )
}

/// What the curve counts.
pub fn curve_terms(lang: Lang, r: &RentOrBuy) -> String {
    let rent = money(lang, r.rent_hour, r.rough);
    let who = if r.provider.is_empty() {
        String::new()
    } else {
        format!("（{}，{}）", provider(lang, r.provider), month(lang, r.as_of))
    };
    let at = if r.provider.is_empty() { String::new() } else { format!(" ({}, {})", r.provider, month(lang, r.as_of)) };
    let mut parts = vec![say!(
        lang,
        "租每小时 {rent}{who}，装环境的小时也算在内",
        "{rent} an hour rented{at}, hours to set up included"
    )];
    let (size, disk) = (disk(r.disk_gb), money(lang, r.disk_week, true));
    parts.push(say!(lang, "{size} 硬盘一直留着，每周 {disk}", "{size} of disk kept all the time, {disk} a week"));
    let bought = |used: bool, p: &Purchase| {
        let (kind, paid, date) = (kind(lang, used), money(lang, p.outlay, r.rough), month(lang, r.buy_as_of));
        let date = if r.buy_as_of.is_empty() {
            String::new()
        } else {
            lang.pick(format!("（{date}）"), format!(" ({date})"))
        };
        say!(lang, "{kind} {paid}{date}", "{kind} {paid}{date}")
    };
    parts.extend(r.new.as_ref().map(|p| bought(false, p)));
    parts.extend(r.used.as_ref().map(|p| bought(true, p)));
    parts.extend(r.power_hour.map(|p| {
        let power = money(lang, p, false);
        say!(lang, "电费每小时 {power}", "power {power} an hour")
    }));
    parts.extend(r.supply.map(|(watts, price)| {
        let (watts, price) = (plain(watts.round()), money(lang, price, true));
        say!(lang, "要换 {watts} W 电源，{price}（已算进去）", "a power supply of {watts} W, {price}, counted in")
    }));
    let parts = parts.join(lang.pick("，", "; "));
    say!(
        lang,
        "按这些价算：{parts}。不含电脑的其余部分，也不含云上的流量费。",
        "Counted with: {parts}. The rest of the computer is not, nor what a cloud asks for traffic."
    )
}

/// The curve for those who do not see it.
pub fn curve_alt(lang: Lang, r: &RentOrBuy, catalog: &Catalog) -> String {
    let (from, to) = (break_even(lang, r, catalog), two_years(lang, r));
    say!(lang, "花费随使用小时数的曲线。{from}{to}", "Cost over hours of use. {from} {to}")
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

fn card(lang: Lang, r: &RentOrBuy, catalog: &Catalog) -> String {
    let name = catalog.gpu(r.gpu).map_or_else(|| r.gpu.to_string(), |g| super::card_called(lang, g));
    if r.count > 1 { format!("{name} × {}", r.count) } else { name }
}

fn kind(lang: Lang, used: bool) -> &'static str {
    if used { both!("二手", "used").text(lang) } else { both!("新卡", "new").text(lang) }
}

fn amount(lang: Lang, r: &RentOrBuy, amount: f64) -> String {
    money(lang, Money { amount, currency: r.rent_hour.currency }, false)
}

fn weeks(lang: Lang, weeks: f64) -> String {
    if weeks < 1.0 {
        return say!(lang, "不到一周", "less than a week");
    }
    if weeks < 78.0 {
        if weeks.ceil() == 1.0 {
            return say!(lang, "一周", "a week");
        }
        let n = plain(weeks.ceil());
        return say!(lang, "{n} 周", "{n} weeks");
    }
    let n = crate::units::significant(weeks / 52.18);
    say!(lang, "{n} 年", "{n} years")
}
