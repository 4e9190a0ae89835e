//! What a run costs by renting, and what the cards cost to buy.

use super::terms::{SET_UP_H, Terms};
use super::{Billed, Buy, Rent};
use crate::catalog::{Catalog, Gpu, Offer};
use crate::estimate::CARDS_PER_MACHINE;
use crate::project::{Field, PriceKind, Project, priced_card};
use crate::units::{Currency, Money};
use std::cell::OnceCell;

/// Words in an offer's name that tell of a single machine of a private host, not of a data center.
const SINGLE_MACHINES: [&str; 3] = ["cheapest listed", "marketplace", "community"];

/// Offers by card, so that the list of cards does not search the list of offers again and again.
pub(super) struct Offers<'a> {
    by_gpu: Vec<(u64, &'static str, Vec<Known<'a>>)>,
    terms: &'a Terms<'a>,
    /// Providers of notebooks: one machine, as it is.
    notebooks: Vec<&'static str>,
}

/// An offer, and how it grows, once somebody asked for more cards than it has.
#[derive(Clone)]
struct Known<'a> {
    offer: &'a Offer,
    grows: OnceCell<Grows>,
}

/// How an offer serves more cards than its machine has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grows {
    /// It does not.
    No,
    /// The provider sells by the card.
    ByCard,
    /// By further machines.
    Cluster,
}

/// A number by which most ids differ: quicker to compare.
fn number(id: &str) -> u64 {
    id.bytes().fold(0, |number: u64, byte| number.wrapping_mul(31).wrapping_add(u64::from(byte)))
}

impl<'a> Offers<'a> {
    pub(super) fn new(catalog: &'a Catalog, terms: &'a Terms<'a>) -> Self {
        let mut by_gpu: Vec<(u64, &'static str, Vec<Known<'a>>)> = Vec::with_capacity(catalog.gpus.len());
        for offer in catalog.offers.iter().filter(|o| o.gpus > 0 && o.price().is_some()) {
            let known = Known { offer, grows: OnceCell::new() };
            let number = number(offer.gpu);
            match by_gpu.iter_mut().find(|(other, id, _)| *other == number && *id == offer.gpu) {
                Some((.., offers)) => offers.push(known),
                None => by_gpu.push((number, offer.gpu, vec![known])),
            }
        }
        let notebooks = catalog.free.iter().map(|tier| tier.platform).collect();
        Self { by_gpu, terms, notebooks }
    }

    /// The cheapest way to rent `count` cards for `hours`. Offers quoted in the person's currency come first: a Chinese
    /// cloud asks for a Chinese account, and the other way round.
    pub(super) fn rent(&self, gpu: &Gpu, count: u32, hours: Option<f64>) -> Option<Rent> {
        if let Some(price) = self.terms.own_price(gpu, PriceKind::Rent) {
            return Some(self.as_said(price * f64::from(count), count, hours));
        }
        let number = number(gpu.id);
        let (.., offers) = self.by_gpu.iter().find(|(other, id, _)| *other == number && *id == gpu.id)?;
        let quotes = offers.iter().filter_map(|known| {
            let offer = known.offer;
            let (machines, cards) = self.machines(known, offers, count)?;
            let quoted = offer.price()?;
            let converted = quoted.currency != self.terms.currency;
            let price = self.terms.convert(quoted) * f64::from(machines);
            Some((offer, price, converted, cards, machines))
        });
        // What the whole run costs decides, where it is known: the cheapest hour may be sold by the hundred.
        let total = |offer: &Offer, price: f64| hours.map_or(price, |h| self.run(offer, price, h));
        let (offer, price, converted, cards, _) = quotes.clone().min_by(|a, b| {
            let (one, other) = (total(a.0, a.1), total(b.0, b.1));
            a.2.cmp(&b.2).then(one.total_cmp(&other)).then(a.1.total_cmp(&b.1))
        })?;
        // Machines that may be taken away at any moment, of whoever has them for the least.
        let spot = quotes
            .filter(|q| q.2 == converted)
            .filter_map(|(offer, .., machines)| {
                Some((self.terms.convert(Money::usd(offer.spot_usd_h?)) * f64::from(machines), offer))
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .filter(|(spot, _)| *spot < price);
        Some(Rent {
            provider: offer.provider,
            instance: offer.instance,
            spot: spot.map(|(price, _)| self.terms.money(price)),
            spot_run: spot.zip(hours).map(|((price, offer), h)| self.terms.money(self.run(offer, price, h))),
            spot_provider: spot.map_or("", |(_, offer)| offer.provider),
            converted,
            china: offer.china,
            cards,
            as_of: offer.source.as_of,
            rough: offer.source.is_rough(),
            run: hours.map(|h| self.terms.money(self.run(offer, price, h))),
            set_up: self.terms.money(price * (offer.billed(hours.unwrap_or(0.0) + SET_UP_H) - hours.unwrap_or(0.0))),
            billed: Billed::of(offer),
            ..self.hours(price, hours)
        })
    }

    /// A rental at the price that the person gave.
    fn as_said(&self, price: f64, cards: u32, hours: Option<f64>) -> Rent {
        Rent { cards, ..self.hours(price, hours) }
    }

    /// What the hours cost; who rents out is for the caller to fill in.
    fn hours(&self, price: f64, hours: Option<f64>) -> Rent {
        let money = |amount| self.terms.money(amount);
        Rent {
            provider: "",
            instance: "",
            per_hour: money(price),
            run: hours.map(|h| money((price + self.terms.disk_hour()) * (h + SET_UP_H))),
            set_up: money(price * SET_UP_H),
            storage: hours.map(|h| money(self.terms.disk_hour() * (h + SET_UP_H))),
            disk_gb: self.terms.disk_gb,
            spot: None,
            spot_run: None,
            spot_provider: "",
            converted: false,
            china: false,
            cards: 0,
            as_of: "",
            rough: false,
            billed: Billed::AsSaid,
        }
    }

    /// All of a run: its hours with the hour to set up, as the provider bills them, and the disk for as long.
    fn run(&self, offer: &Offer, price: f64, hours: f64) -> f64 {
        let all = hours + SET_UP_H;
        let least = offer.least_usd.map_or(0.0, |usd| self.terms.convert(Money::usd(usd)));
        (price * offer.billed(all) + self.terms.disk_hour() * all).max(least)
    }

    /// How many machines of this offer hold `count` cards, and how many cards those have in all. `None` where they
    /// cannot work as one: several small machines are no large one, unless the provider sells by the card (a
    /// marketplace, where the number of cards is a choice) or the machines are the largest there are, stand in one data
    /// center, and the job spans machines anyway.
    fn machines(&self, known: &Known<'_>, offers: &[Known<'_>], count: u32) -> Option<(u32, u32)> {
        let each = known.offer.gpus;
        if each >= count {
            return Some((1, each));
        }
        match known.grows.get_or_init(|| self.grows(known.offer, offers)) {
            Grows::Cluster => {}
            Grows::ByCard if count <= CARDS_PER_MACHINE => {}
            _ => return None,
        }
        let machines = count.div_ceil(each);
        Some((machines, machines * each))
    }

    fn grows(&self, offer: &Offer, offers: &[Known<'_>]) -> Grows {
        if self.notebooks.contains(&offer.provider) {
            return Grows::No;
        }
        let same = offers.iter().map(|k| k.offer).filter(|o| o.provider == offer.provider && o.china == offer.china);
        let largest = same.map(|o| o.gpus).max().unwrap_or(offer.gpus);
        if largest == 1 {
            return Grows::ByCard;
        }
        let lone = || SINGLE_MACHINES.iter().any(|word| offer.instance.contains(word));
        let cluster = offer.gpus == largest && offer.gpus >= CARDS_PER_MACHINE && !lone();
        if cluster { Grows::Cluster } else { Grows::No }
    }
}

/// What a field of prices would hold without the person: the catalog's price of the card that the form shows, or what
/// electricity usually costs there.
pub fn usual_price(project: &Project, field: Field, catalog: &Catalog) -> Option<Money> {
    let mut usual = project.clone();
    usual.prices.cards.clear();
    usual.prices.electricity = None;
    let terms = Terms::of(&usual);
    let gpu = catalog.gpu(priced_card(project))?;
    match field {
        Field::PriceRent => Some(Offers::new(catalog, &terms).rent(gpu, 1, None)?.per_hour),
        Field::PriceNew => buy(gpu, 1, &terms)?.new,
        Field::PriceUsed => buy(gpu, 1, &terms)?.used,
        Field::Electricity => Some(terms.money(terms.electricity)),
        _ => None,
    }
}

/// A new card costs more than this many times a used one: those of the catalog that are sold both ways in dollars cost
/// 1.1 to 1.6 times as much.
const ABOVE_USED: f64 = 1.15;
/// What a used card costs of a new one: the median over the 18 cards of the catalog with both prices in dollars.
const USED_SHARE: f64 = 0.75;

/// What a card that was bought new would bring at once: the price of a used one, or the usual share of a new one's.
pub(super) fn second_hand(new: f64, used: Option<f64>) -> f64 {
    used.unwrap_or(new * USED_SHARE).min(new)
}

/// What `count` cards cost to buy, in the person's currency.
pub(super) fn buy(gpu: &Gpu, count: u32, terms: &Terms<'_>) -> Option<Buy> {
    let price = &gpu.price;
    let one = |money: Money| terms.convert(money);
    let all = |each: f64| terms.money(each * f64::from(count));
    let usd = price.street_usd.map(Money::usd);
    let used_usd = price.used_usd.map(Money::usd);
    let cny = price.street_cny.map(Money::cny);
    // Hardly dearer in yuan than a used one where nobody sells it new in dollars, or no dearer at all: what the market in
    // China asks is for used ones.
    let above = if usd.is_none() { ABOVE_USED } else { 1.0 };
    let only_used = cny.zip(used_usd).is_some_and(|(market, used)| one(market) <= one(used) * above);
    let (new_cny, used_cny) = if only_used { (None, cny) } else { (cny, None) };
    let msrp = price.msrp_usd.filter(|_| !only_used).map(Money::usd);
    let in_yuan = terms.currency == Currency::Cny;
    // Nobody ever quoted it in dollars: it is sold in China alone.
    let in_china_alone = usd.is_none() && used_usd.is_none() && price.msrp_usd.is_none() && cny.is_some();
    let new_cny = new_cny.filter(|_| in_yuan || !in_china_alone);
    let street = if in_yuan { new_cny.or(usd) } else { usd.or(new_cny) };
    let second_hand = if in_yuan { used_cny.or(used_usd) } else { used_usd };
    let (own_new, own_used) = (terms.own_price(gpu, PriceKind::New), terms.own_price(gpu, PriceKind::Used));
    let new = own_new.or(street.or(msrp).map(one)).map(all);
    // Nobody pays more for a used card than for a new one: one of the two prices is wrong, and the new one is seen more.
    let doubtful = own_used.is_none()
        && own_new.is_none()
        && new.zip(second_hand).is_some_and(|(new, used)| one(used) * f64::from(count) >= new.amount);
    let used = own_used.or(second_hand.filter(|_| !doubtful).map(one)).map(all);
    // A price that the person gave is neither dated nor rough.
    let said = (own_new.is_some() || new.is_none()) && (own_used.is_some() || used.is_none());
    (new.is_some() || used.is_some()).then_some(Buy {
        new,
        used,
        as_of: if said { "" } else { price.source.as_of },
        rough: !said && (doubtful || price.source.is_rough()),
    })
}
