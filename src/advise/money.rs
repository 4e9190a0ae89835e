//! What a run costs by renting, and what the cards cost to buy.

use super::{Buy, Rent};
use crate::catalog::{Catalog, Gpu, Offer};
use crate::units::{Currency, Money};

/// Yuan for a dollar. No published rate for late 2026 was found: central parity 7.0074 on 2024-09-30, 7.1727 on
/// 2023-09-26 (China Foreign Exchange Trade System).
pub const CNY_PER_USD: f64 = 7.1;

/// Most cards that single-card offers of one provider are taken together for: one machine of a marketplace.
const CARDS_IN_A_MACHINE: u32 = 8;

/// Words in an offer's name that tell of a single machine of a private host, not of a data center.
const SINGLE_MACHINES: [&str; 3] = ["cheapest listed", "marketplace", "community"];

/// Offers by card, so that the list of cards does not search the list of offers again and again.
pub(super) struct Offers<'a> {
    by_gpu: Vec<(&'static str, Vec<&'a Offer>)>,
    currency: Currency,
    /// Providers of notebooks: one machine, as it is.
    notebooks: Vec<&'static str>,
}

impl<'a> Offers<'a> {
    pub(super) fn new(catalog: &'a Catalog, currency: Currency) -> Self {
        let mut by_gpu: Vec<(&'static str, Vec<&'a Offer>)> = Vec::new();
        for offer in catalog.offers.iter().filter(|o| o.gpus > 0 && o.price().is_some()) {
            match by_gpu.iter_mut().find(|(id, _)| *id == offer.gpu) {
                Some((_, offers)) => offers.push(offer),
                None => by_gpu.push((offer.gpu, vec![offer])),
            }
        }
        let notebooks = catalog.free.iter().map(|tier| tier.platform).collect();
        Self { by_gpu, currency, notebooks }
    }

    /// The cheapest way to rent `count` cards for `hours`. Offers quoted in the person's currency come first: a Chinese
    /// cloud asks for a Chinese account, and the other way round.
    pub(super) fn rent(&self, gpu: &Gpu, count: u32, hours: Option<f64>) -> Option<Rent> {
        let (_, offers) = self.by_gpu.iter().find(|(id, _)| *id == gpu.id)?;
        let quotes = offers.iter().filter_map(|offer| {
            let (machines, cards) = self.machines(offer, offers, count)?;
            let quoted = offer.price()?;
            let converted = quoted.currency != self.currency;
            let price = quoted.convert(self.currency, CNY_PER_USD).amount * f64::from(machines);
            Some((offer, price, converted, cards))
        });
        let (offer, price, converted, cards) =
            quotes.min_by(|a, b| (a.2, a.1).partial_cmp(&(b.2, b.1)).unwrap_or(std::cmp::Ordering::Equal))?;
        let money = |amount| Money { amount, currency: self.currency };
        Some(Rent {
            provider: offer.provider,
            instance: offer.instance,
            per_hour: money(price),
            run: hours.map(|h| money(price * h)),
            converted,
            china: offer.china,
            cards,
            as_of: offer.source.as_of,
            rough: offer.source.is_rough(),
        })
    }

    /// How many machines of this offer hold `count` cards, and how many cards those have in all. `None` where they
    /// cannot work as one: several small machines are no large one, unless the provider sells by the card (a
    /// marketplace, where the number of cards is a choice) or the machines are the largest there are, stand in one data
    /// center, and the job spans machines anyway.
    fn machines(&self, offer: &Offer, offers: &[&Offer], count: u32) -> Option<(u32, u32)> {
        if offer.gpus >= count {
            return Some((1, offer.gpus));
        }
        if self.notebooks.contains(&offer.provider) {
            return None;
        }
        let same = offers.iter().filter(|o| o.provider == offer.provider && o.china == offer.china);
        let largest = same.map(|o| o.gpus).max()?;
        let by_card = largest == 1 && count <= CARDS_IN_A_MACHINE;
        let lone = SINGLE_MACHINES.iter().any(|word| offer.instance.contains(word));
        let cluster = offer.gpus == largest && offer.gpus >= CARDS_IN_A_MACHINE && !lone;
        (by_card || cluster).then(|| {
            let machines = count.div_ceil(offer.gpus);
            (machines, machines * offer.gpus)
        })
    }
}

/// What `count` cards cost to buy, in the person's currency.
pub(super) fn buy(gpu: &Gpu, count: u32, currency: Currency) -> Option<Buy> {
    let price = &gpu.price;
    let all = |money: Money| {
        let m = money.convert(currency, CNY_PER_USD);
        Money { amount: m.amount * f64::from(count), ..m }
    };
    let usd = price.street_usd.map(Money::usd);
    let cny = price.street_cny.map(Money::cny);
    let street = if currency == Currency::Cny { cny.or(usd) } else { usd.or(cny) };
    let new = street.or(price.msrp_usd.map(Money::usd)).map(all);
    let used = price.used_usd.map(Money::usd).map(all);
    (new.is_some() || used.is_some()).then_some(Buy {
        new,
        used,
        as_of: price.source.as_of,
        rough: price.source.is_rough(),
    })
}
