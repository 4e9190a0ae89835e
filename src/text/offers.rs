//! Words about an offer: its disk, the account that it takes, what a pick among them is called.

use super::numbers::{money, plain};
use super::{Lang, Message, both, say};
use crate::advise::{Billed, Pick, Plan, Plans};
use crate::units::Currency;

/// A size of a disk: `100 GB`, `2.7 TB`.
pub(super) fn disk(gb: f64) -> String {
    if gb >= 1000.0 { format!("{} TB", crate::units::significant(gb / 1000.0)) } else { format!("{} GB", plain(gb)) }
}

/// By what a rental is billed, after what is counted in its price.
pub(super) const fn billed(by: Billed) -> Message {
    match by {
        Billed::AsSaid => both!("", ""),
        Billed::Unknown => both!("，按什么时长计费没查到", ", by which unit of time it bills was not found"),
        Billed::Seconds => both!("，按秒计费", ", billed by the second"),
        Billed::Minutes => both!("，按分钟计费", ", billed by the minute"),
        Billed::Hours => both!("，不足一小时按一小时计费", ", billed by the hour begun"),
        Billed::Ahead => both!("，要先买一包点数，不低于包的价钱", ", at no less than the smallest pack of units"),
    }
}

/// What an offer in another currency asks for.
pub(super) fn abroad(lang: Lang, converted: bool, currency: Currency) -> &'static str {
    match currency {
        _ if !converted => "",
        Currency::Cny => both!("，要境外账号、用外币付", ", with an account and money from abroad").text(lang),
        Currency::Usd => both!("，要境内账号、用人民币付", ", with an account in China, paid in yuan").text(lang),
    }
}

/// What has to be at hand for a plan; of a bought card with its price at the shop, where more than that is paid.
pub(super) fn paid(lang: Lang, plan: &Plan) -> String {
    /// Below this share the rest is not worth a word.
    const A_WORD: f64 = 1.01;
    let all = money(lang, plan.outlay, plan.rough);
    match plan.price.filter(|price| plan.outlay.amount > price.amount * A_WORD) {
        Some(price) => {
            let card = money(lang, price, plan.rough);
            say!(
                lang,
                "{all}（卡 {card}，其余是电源和电费）",
                "{all} ({card} for the card, the rest for a supply and power)"
            )
        }
        None => all,
    }
}

/// What a pick is called; where something costs still less, it is not called the cheapest.
pub fn pick_of(pick: Pick, plans: &Plans) -> Message {
    match pick {
        Pick::Cheapest if plans.cheaper.is_some() || plans.left_out.is_some() => both!("省钱", "Low cost"),
        _ => super::pick(pick),
    }
}
