//! What the person knows better than the catalog: exchange rate, electricity, hours of use, what single cards cost.

use super::{Place, Project};
use crate::catalog::Catalog;
use crate::units::{Currency, Money, decimal};
use serde::{Deserialize, Serialize};

/// Yuan for a dollar. No published rate for late 2026 was found: central parity 7.0074 on 2024-09-30, 7.1727 on
/// 2023-09-26 (China Foreign Exchange Trade System).
pub const CNY_PER_USD: f64 = 7.1;

/// Card whose prices the form shows where none is chosen: what most hobbyists ask for first.
const USUAL_CARD: &str = "rtx-4090";

/// Prices that the person can change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Prices {
    /// Whose electricity it is.
    pub place: Place,
    /// Electricity for a kilowatt-hour, where it differs from what is usual at the place.
    pub electricity: Option<Money>,
    /// Yuan for a dollar.
    pub cny_per_usd: f64,
    /// Hours a week that a bought card would work.
    pub hours_a_week: f64,
    /// Id of the card whose prices the form shows; empty: the person's own.
    pub card: String,
    /// Prices of single cards that differ from the catalog's.
    pub cards: Vec<CardPrice>,
}

/// What a card costs, as far as the person said so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CardPrice {
    /// Id of the card.
    pub gpu: String,
    /// Renting one for an hour.
    pub rent: Option<Money>,
    /// Buying one new.
    pub new: Option<Money>,
    /// Buying one second hand.
    pub used: Option<Money>,
}

/// Which price of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriceKind {
    /// Renting one for an hour.
    Rent,
    /// Buying one new.
    New,
    /// Buying one second hand.
    Used,
}

impl Default for Prices {
    fn default() -> Self {
        Self {
            place: Place::Auto,
            electricity: None,
            cny_per_usd: CNY_PER_USD,
            // Two evenings and a night.
            hours_a_week: 10.0,
            card: String::new(),
            cards: Vec::new(),
        }
    }
}

impl Prices {
    /// What the person said about a card.
    pub fn of(&self, gpu: &str) -> Option<&CardPrice> {
        self.cards.iter().find(|c| c.gpu == gpu)
    }

    /// Sets a price, or takes it back; a card without any is forgotten.
    pub fn set(&mut self, gpu: &str, kind: PriceKind, price: Option<Money>) {
        if self.of(gpu).is_none() {
            self.cards.push(CardPrice { gpu: gpu.to_string(), ..CardPrice::default() });
        }
        for card in self.cards.iter_mut().filter(|c| c.gpu == gpu) {
            match kind {
                PriceKind::Rent => card.rent = price,
                PriceKind::New => card.new = price,
                PriceKind::Used => card.used = price,
            }
        }
        self.cards.retain(|c| c.rent.is_some() || c.new.is_some() || c.used.is_some());
    }

    /// Whether anything differs from what the catalog says.
    pub fn edited(&self) -> bool {
        let usual = Self::default();
        self.electricity.is_some()
            || !self.cards.is_empty()
            || self.cny_per_usd != usual.cny_per_usd
            || self.hours_a_week != usual.hours_a_week
            || self.place != usual.place
    }
}

impl CardPrice {
    /// One of the three.
    pub fn get(&self, kind: PriceKind) -> Option<Money> {
        match kind {
            PriceKind::Rent => self.rent,
            PriceKind::New => self.new,
            PriceKind::Used => self.used,
        }
    }
}

/// The card whose prices the form shows.
pub fn priced_card(project: &Project) -> &str {
    [project.prices.card.as_str(), project.hardware.gpu.as_str()]
        .into_iter()
        .find(|id| !id.is_empty())
        .unwrap_or(USUAL_CARD)
}

/// A price that the person gave, in the currency in which prices are shown now.
pub(super) fn shown(project: &Project, price: Option<Money>) -> Option<f64> {
    price.map(|p| p.convert(project.budget.currency, project.prices.cny_per_usd).amount)
}

/// An amount that was typed, in the currency in which prices are shown.
pub(super) fn typed(project: &Project, amount: Option<f64>) -> Option<Money> {
    amount.map(|amount| Money { amount, currency: project.budget.currency })
}

/// The place that goes with a currency where none was chosen.
pub fn place(project: &Project) -> Place {
    match (project.prices.place, project.budget.currency) {
        (Place::Auto, Currency::Cny) => Place::China,
        (Place::Auto, Currency::Usd) => Place::UnitedStates,
        (place, _) => place,
    }
}

/// The kinds of price in the order in which a link lists them.
const LISTED: [PriceKind; 3] = [PriceKind::Rent, PriceKind::New, PriceKind::Used];

/// What the person said about cards other than the one that the form shows, in the currency of the project:
/// `rtx-3090:0.2::700,a100-sxm-80gb:1.5`, rent for an hour, new and used.
pub(super) fn write(project: &Project) -> String {
    let others = project.prices.cards.iter().filter(|card| card.gpu != priced_card(project));
    let one = |card: &CardPrice| {
        let prices = LISTED.map(|kind| shown(project, card.get(kind)).map(decimal::short).unwrap_or_default());
        let text = format!("{}:{}", card.gpu, prices.join(":"));
        text.trim_end_matches(':').to_owned()
    };
    others.map(one).collect::<Vec<_>>().join(",")
}

/// Sets what [`write`] wrote; gives the first part that names no card or no price.
pub(super) fn read<'t>(project: &mut Project, list: &'t str, catalog: &Catalog) -> Option<&'t str> {
    let mut wrong = None;
    for part in list.split(',').filter(|part| !part.trim().is_empty()) {
        let mut pieces = part.trim().split(':');
        let gpu = pieces.next().and_then(|id| catalog.gpu(id.trim()));
        let amounts: Vec<&str> = pieces.map(str::trim).collect();
        let amount = |text: &str| decimal::read(text).filter(|price| *price >= 0.0 && *price <= MOST);
        let readable = amounts.len() <= LISTED.len() && amounts.iter().all(|a| a.is_empty() || amount(a).is_some());
        let (Some(gpu), true) = (gpu, readable) else {
            wrong = wrong.or(Some(part));
            continue;
        };
        for (kind, text) in LISTED.into_iter().zip(amounts) {
            let price = typed(project, amount(text));
            if price.is_some() {
                project.prices.set(gpu.id, kind, price);
            }
        }
    }
    wrong
}

/// Most that a card can be said to cost.
const MOST: f64 = 1e9;
