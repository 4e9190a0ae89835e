//! The terms on which money is counted: currency and rate, electricity from the wall, what a card is worth after years,
//! what a rental costs beside the hour.

use crate::catalog::{Catalog, Gpu, GpuFamily};
use crate::project::{Place, PriceKind, Prices, Project, place};
use crate::units::{Currency, Money};

/// Dollars for a euro; no published rate for late 2026 was found (memory).
const USD_PER_EUR: f64 = 1.16;

/// Electricity for a kilowatt-hour. China: first to second tier of households, and commercial with time of use (memory,
/// 2025). United States: EIA residential average. European Union: Household Energy Price Index, early 2026. Germany:
/// household, 2026-03.
const ELECTRICITY: [(Place, Money); 5] = [
    (Place::China, Money::cny(0.60)),
    (Place::ChinaBusiness, Money::cny(0.85)),
    (Place::UnitedStates, Money::usd(0.17)),
    (Place::EuropeanUnion, Money::usd(0.26 * USD_PER_EUR)),
    (Place::Germany, Money::usd(0.384 * USD_PER_EUR)),
];

/// Average draw of a card in training over its board power: 70 to 95 % (memory).
const DRAW: f64 = 0.85;
/// Rest of a desktop under training load: 80 to 150 W (memory). Of a server for each of its cards: 800 to 1,500 W beside
/// eight of them.
const DESKTOP_W: f64 = 115.0;
/// Rest of a laptop or a mini computer: screen, memory, fans. A judgement.
const SMALL_W: f64 = 30.0;
/// Share of what comes out of the wall that leaves the power supply: 80 PLUS Gold to Platinum, 88 to 92 %.
const SUPPLY_EFFICIENCY: f64 = 0.9;

/// Supply of an ordinary computer with one card, watts (d2l-en, selecting servers and GPUs: one GPU 600 W).
const ORDINARY_SUPPLY_W: f64 = 650.0;
/// A good power supply for a watt, USD (memory: 850 W for 120 to 130).
const SUPPLY_USD_W: f64 = 0.15;
/// Processor under load, board, memory, disks and fans, for which a supply is sized (d2l.ai, "Selecting Servers and GPUs",
/// reckons 600 W for a machine with one card of 250 to 350 W).
const SUPPLY_REST_W: f64 = 250.0;
/// The same of a server for each of its cards: the upper end of 800 to 1,500 W beside eight (memory).
const SERVER_REST_W: f64 = 1500.0 / 8.0;
/// Margin over the sum, so that short spikes do not trip the supply: 20 to 25 % is the usual advice.
const SUPPLY_MARGIN: f64 = 1.25;
/// Most cards that a computer under a desk takes: lanes, slots, one circuit.
pub(super) const UNDER_A_DESK: u32 = 4;

/// What a card loses in value in a year. Judgements (no source agrees): 24 and 32 GB `GeForce` cards held their price in
/// 2025 and 2026, old data-center cards lost most.
const LOSS_LARGE_GEFORCE: f64 = 0.15;
const LOSS_GEFORCE: f64 = 0.22;
const LOSS_WORKSTATION: f64 = 0.18;
const LOSS_DATACENTER: f64 = 0.30;

/// Renting takes this long to set up and to put away, whatever the run.
pub const SET_UP_H: f64 = 1.0;
/// Disk that a rented machine keeps for its system, a small data set and the files of a small model, GB.
const LEAST_DISK_GB: f64 = 100.0;
/// Half of it is left to system and data where the model takes the rest; disks grow in steps of this.
const DISK_STEP_GB: f64 = 50.0;
/// Checkpoints that are kept at a time (judgement: the last two and the best).
const CHECKPOINTS: f64 = 3.0;
/// Bytes of a trained weight in a checkpoint that can be resumed: fp32 weight and both moments of Adam.
const RESUMABLE: f64 = 12.0;
/// Disk while the machine runs, and on its own between two rentals, USD for a GB and month (`RunPod`, 2026-08).
const DISK_USD: f64 = 0.10;
const KEPT_DISK_USD: f64 = 0.07;
/// Hours in a month.
const MONTH_H: f64 = 730.0;
/// Weeks in a year.
const YEAR_WEEKS: f64 = 52.18;

/// The person's terms.
pub(super) struct Terms<'a> {
    pub(super) currency: Currency,
    pub(super) prices: &'a Prices,
    /// For a kilowatt-hour, in `currency`.
    pub(super) electricity: f64,
    /// Disk that a rented machine keeps, GB.
    pub(super) disk_gb: f64,
}

/// What a project writes to a disk beside its data set, GB: the model as it is downloaded, and checkpoints.
pub(super) fn files_gb(project: &Project, catalog: &Catalog) -> f64 {
    let params = project.parameters(catalog) as f64;
    let trained = if project.method.is_adapter() { 0.02 * params } else { params };
    (2.0 * params + CHECKPOINTS * RESUMABLE * trained) / 1e9
}

impl<'a> Terms<'a> {
    pub(super) fn of(project: &'a Project) -> Self {
        let prices = &project.prices;
        let currency = project.budget.currency;
        let electricity = electricity(project).convert(currency, prices.cny_per_usd).amount;
        Self { currency, prices, electricity, disk_gb: LEAST_DISK_GB }
    }

    /// The same with a disk that holds what this project writes.
    pub(super) fn for_run(self, project: &Project, catalog: &Catalog) -> Self {
        let wanted = files_gb(project, catalog) + DISK_STEP_GB;
        Self { disk_gb: ((wanted / DISK_STEP_GB).ceil() * DISK_STEP_GB).max(LEAST_DISK_GB), ..self }
    }

    pub(super) fn money(&self, amount: f64) -> Money {
        Money { amount, currency: self.currency }
    }

    /// An amount in the person's currency.
    pub(super) fn convert(&self, money: Money) -> f64 {
        money.convert(self.currency, self.prices.cny_per_usd).amount
    }

    /// What the person said that a card costs, in their currency.
    pub(super) fn own_price(&self, gpu: &Gpu, kind: PriceKind) -> Option<f64> {
        Some(self.convert(self.prices.of(gpu.id)?.get(kind)?))
    }

    /// Electricity for an hour of training on `count` cards.
    pub(super) fn power(&self, gpu: &Gpu, count: u32) -> Option<f64> {
        Some(wall_watts(gpu, count)? / 1000.0 * self.electricity)
    }

    /// Disk for an hour of a running rented machine.
    pub(super) fn disk_hour(&self) -> f64 {
        self.convert(Money::usd(self.disk_gb * DISK_USD / MONTH_H))
    }

    /// Disk kept for some weeks between rentals.
    pub(super) fn kept_disk(&self, weeks: f64) -> f64 {
        self.convert(Money::usd(self.disk_gb * KEPT_DISK_USD / MONTH_H * 24.0 * 7.0 * weeks))
    }

    /// A larger power supply, where the cards need one.
    pub(super) fn supply(&self, gpu: &Gpu, count: u32) -> Option<(f64, f64)> {
        let carried = matches!(gpu.family, GpuFamily::Laptop | GpuFamily::Apple);
        let watts = supply_watts(gpu, count).filter(|_| !carried)?;
        (watts > ORDINARY_SUPPLY_W).then(|| (watts, self.convert(Money::usd(watts * SUPPLY_USD_W))))
    }
}

/// What a kilowatt-hour costs, as the person said or as is usual where they are.
pub fn electricity(project: &Project) -> Money {
    let there = place(project);
    let usual = ELECTRICITY.iter().find(|(place, _)| *place == there).map_or(Money::usd(0.17), |(_, price)| *price);
    project.prices.electricity.unwrap_or(usual)
}

/// Power from the wall while `count` cards train: (cards + rest) / efficiency of the supply. Cards under a desk share one
/// computer; those of servers take a part of one each.
pub fn wall_watts(gpu: &Gpu, count: u32) -> Option<f64> {
    let cards = f64::from(count.max(1));
    let rest = match gpu.family {
        GpuFamily::Laptop | GpuFamily::Apple => SMALL_W * cards,
        _ if can_own(gpu, count) => DESKTOP_W,
        _ => DESKTOP_W * cards,
    };
    Some((gpu.tdp_w? * cards * DRAW + rest) / SUPPLY_EFFICIENCY)
}

/// The most that cards and the rest of their machine take together, before the supply.
fn full_load(gpu: &Gpu, count: u32) -> Option<f64> {
    let cards = f64::from(count.max(1));
    let rest = if can_own(gpu, count) { SUPPLY_REST_W } else { SUPPLY_REST_W.max(SERVER_REST_W * cards) };
    Some(gpu.tdp_w? * cards + rest)
}

/// The same from the wall, which the circuit has to carry.
pub(super) fn most_watts(gpu: &Gpu, count: u32) -> Option<f64> {
    Some(full_load(gpu, count)? / SUPPLY_EFFICIENCY)
}

/// The power supply that a computer with `count` cards wants, watts: cards and the rest with a margin, or what the maker
/// asks for one card and the others' power on top; in steps of 50 W, as they are sold.
pub(super) fn supply_watts(gpu: &Gpu, count: u32) -> Option<f64> {
    let (each, cards) = (gpu.tdp_w?, f64::from(count.max(1)));
    let needed = full_load(gpu, count)? * SUPPLY_MARGIN;
    let asked = gpu.min_psu_w.unwrap_or(0.0) + (cards - 1.0) * each;
    Some((needed.max(asked) / 50.0).ceil() * 50.0)
}

/// What is left of a card's worth after some weeks. A card is not sold the day after: at least a year is counted.
pub(super) fn resale_share(gpu: &Gpu, weeks: f64) -> f64 {
    (1.0 - yearly_loss(gpu)).powf((weeks / YEAR_WEEKS).max(1.0))
}

/// What a card loses in value in a year.
pub fn yearly_loss(gpu: &Gpu) -> f64 {
    match gpu.family {
        // On the box: 24 GB cards show 24 GiB.
        GpuFamily::Consumer if gpu.memory.gib() >= 23.0 => LOSS_LARGE_GEFORCE,
        GpuFamily::Consumer | GpuFamily::Laptop | GpuFamily::Apple => LOSS_GEFORCE,
        GpuFamily::Workstation => LOSS_WORKSTATION,
        GpuFamily::Datacenter | GpuFamily::Accelerator => LOSS_DATACENTER,
    }
}

/// Parts of the names of what is soldered to a server's board.
const MODULES: [&str; 13] =
    ["sxm", "h20", "gh200", "b200", "b300", "gb300", "mi250", "mi300", "mi325", "mi350", "mi355", "gaudi", "ascend"];

/// Whether a person can put `count` of these cards into a computer of their own: no modules of servers, no more than
/// fit under a desk, and what comes as a whole machine alone.
pub(super) fn can_own(gpu: &Gpu, count: u32) -> bool {
    let whole = || matches!(gpu.family, GpuFamily::Laptop | GpuFamily::Apple) || gpu.memory_type.contains("LPDDR");
    // The quickest to tell first: it is asked a thousand times.
    let server = matches!(gpu.family, GpuFamily::Datacenter | GpuFamily::Accelerator);
    let module = || server && MODULES.iter().any(|word| gpu.id.contains(word));
    count <= UNDER_A_DESK && (count <= 1 || !whole()) && !module()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn power_and_worth_are_as_the_facts_say() {
        let catalog = Catalog::bundled();
        let gpu = |id| catalog.gpu(id).unwrap();
        // A desktop with an RTX 4090 takes some 520 W from the wall, one with a 350 W card some 500 W.
        assert!((450.0..600.0).contains(&wall_watts(gpu("rtx-4090"), 1).unwrap()));
        assert!((420.0..520.0).contains(&wall_watts(gpu("rtx-3090"), 1).unwrap()));
        // Four cards share one computer, and what is drawn on average is less than what is drawn at most.
        assert!((1800.0..1900.0).contains(&wall_watts(gpu("rtx-4090"), 4).unwrap()));
        for gpu in catalog.gpus.iter().filter(|gpu| gpu.tdp_w.is_some()) {
            for count in [1, 2, 3, 4, 5, 8, 16, 64] {
                let (usual, most) = (wall_watts(gpu, count).unwrap(), most_watts(gpu, count).unwrap());
                assert!(usual < most, "{count} x {}: {usual} of {most}", gpu.id);
            }
        }
        // A server of eight H100 takes 700 W a card, and 800 to 1,500 W beside them.
        let server = wall_watts(gpu("h100-sxm"), 8).unwrap() * SUPPLY_EFFICIENCY - 8.0 * 700.0 * DRAW;
        assert!((800.0..1500.0).contains(&server), "{server}");
        assert!((resale_share(gpu("rtx-3090"), 2.0 * YEAR_WEEKS) - 0.85 * 0.85).abs() < 1e-9);
        assert_eq!(resale_share(gpu("rtx-3090"), 0.0), 0.85);
        assert_eq!(yearly_loss(gpu("rtx-3060-12gb")), LOSS_GEFORCE);
        assert!(can_own(gpu("rtx-4090"), 4) && !can_own(gpu("rtx-4090"), 8) && !can_own(gpu("h100-sxm"), 1));
    }

    #[test]
    fn electricity_goes_with_the_place() {
        let mut project = Project::default();
        assert_eq!(electricity(&project), Money::usd(0.17));
        project.budget.currency = Currency::Cny;
        assert_eq!(electricity(&project), Money::cny(0.60));
        project.prices.place = Place::Germany;
        assert_eq!(electricity(&project).currency, Currency::Usd);
        project.prices.electricity = Some(Money::cny(1.2));
        assert_eq!(Terms::of(&project).electricity, 1.2);
        for place in <Place as crate::project::Choice>::ALL.iter().filter(|p| **p != Place::Auto) {
            assert!(ELECTRICITY.iter().any(|(p, _)| p == place), "{place:?}");
        }
    }
}
