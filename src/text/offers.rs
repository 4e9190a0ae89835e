//! Words about an offer: its disk, the account that it takes, what a pick among them is called.

use super::numbers::plain;
use super::{Lang, Message, both};
use crate::advise::{Pick, Plans};
use crate::units::Currency;

/// A size of a disk: `100 GB`, `2.7 TB`.
pub(super) fn disk(gb: f64) -> String {
    if gb >= 1000.0 { format!("{} TB", crate::units::significant(gb / 1000.0)) } else { format!("{} GB", plain(gb)) }
}

/// What an offer in another currency asks for.
pub(super) fn abroad(lang: Lang, converted: bool, currency: Currency) -> &'static str {
    match currency {
        _ if !converted => "",
        Currency::Cny => both!("，要境外账号、用外币付", ", with an account and money from abroad").text(lang),
        Currency::Usd => both!("，要境内账号、用人民币付", ", with an account in China, paid in yuan").text(lang),
    }
}

/// What a pick is called; where something costs still less, it is not called the cheapest.
pub fn pick_of(pick: Pick, plans: &Plans) -> Message {
    match pick {
        Pick::Cheapest if plans.cheaper.is_some() || plans.left_out.is_some() => both!("省钱", "Low cost"),
        _ => super::pick(pick),
    }
}
