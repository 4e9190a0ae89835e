//! Renting against buying over hours of use.

use super::names::provider;
use super::numbers::{about, before_word, hours, money, month, plain};
use super::offers::disk;
use super::{Lang, both, say};
use crate::advise::{Purchase, RentOrBuy};
use crate::catalog::Catalog;
use crate::units::Money;

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
        let supply = r.supply.map_or(0.0, |(_, supply)| supply.amount);
        let price = Money { amount: p.outlay.amount - supply, ..p.outlay };
        let (kind, paid, date) = (kind(lang, used), money(lang, price, r.rough), month(lang, r.buy_as_of));
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
        let sums: Vec<String> =
            [&r.new, &r.used].into_iter().flatten().map(|p| money(lang, p.outlay, r.rough)).collect();
        let sums = sums.join(lang.pick("、", ", "));
        say!(
            lang,
            "还要换 {watts} W 电源 {price}，合计 {sums}",
            "and a power supply of {watts} W for {price}: {sums} together"
        )
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
