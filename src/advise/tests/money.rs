//! Money on made-up offers and prices, by hand.

use super::super::money::{Offers, buy, second_hand};
use super::super::plans::Way;
use super::super::terms::{Terms, can_own, resale_share, supply_watts, wall_watts};
use super::super::ways::card_plans;
use super::super::{CardChoice, rent_or_buy, usual_price};
use crate::catalog::{Catalog, Gpu, GpuFamily, GpuPrice, Offer};
use crate::estimate::time;
use crate::project::{CardPrice, Field, Method, Project, Sharding};
use crate::units::{Bytes, Currency, Money};

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0), "{a} and {b}");
}

/// A machine with cards of one kind for so many dollars an hour.
fn offer(provider: &'static str, gpus: u32, usd: f64) -> Offer {
    let like = Catalog::bundled().offers[0].clone();
    Offer {
        provider,
        instance: "machine",
        gpu: "rtx-4090",
        gpus,
        usd_h: Some(usd),
        cny_h: None,
        spot_usd_h: None,
        china: false,
        unit_s: None,
        least_s: None,
        least_usd: (provider == "Google Colab").then_some(9.99),
        ..like
    }
}

fn shop(offers: Vec<Offer>) -> Catalog {
    Catalog { offers: offers.into(), ..Catalog::bundled() }
}

fn yuan() -> Project {
    let mut project = Project::default();
    project.budget.currency = Currency::Cny;
    project.prices.cny_per_usd = 7.0;
    project
}

#[test]
fn machines_are_rented_as_they_are_sold() {
    // What is offered, how many cards are wanted, for what in an hour and with how many cards, if at all.
    let single = || offer("by card", 1, 1.0);
    let eight = || offer("by machine", 8, 10.0);
    let lone = |instance| Offer { instance, ..offer("people", 8, 6.0) };
    let notebook = Catalog::bundled().free[0].platform;
    for (offers, count, expected) in [
        (vec![single()], 1, Some((1.0, 1))),
        (vec![single()], 3, Some((3.0, 3))),
        (vec![single()], 8, Some((8.0, 8))),
        // Nobody wires nine machines of one card together.
        (vec![single()], 9, None),
        (vec![eight()], 3, Some((10.0, 8))),
        (vec![eight()], 8, Some((10.0, 8))),
        (vec![eight()], 9, Some((20.0, 16))),
        (vec![eight()], 24, Some((30.0, 24))),
        (vec![offer("small", 4, 4.0)], 8, None),
        (vec![offer("small", 4, 4.0)], 4, Some((4.0, 4))),
        // Whoever has machines of eight sells no single ones in their place.
        (vec![offer("both", 1, 1.0), offer("both", 8, 10.0)], 4, Some((10.0, 8))),
        (vec![offer("both", 1, 1.0), offer("both", 8, 10.0)], 1, Some((1.0, 1))),
        (vec![offer("one", 1, 1.0), offer("other", 8, 10.0)], 4, Some((4.0, 4))),
        // People who rent out their machine have that one.
        (vec![lone("community")], 16, None),
        (vec![lone("marketplace, median")], 16, None),
        (vec![lone("community")], 8, Some((6.0, 8))),
        (vec![offer(notebook, 1, 0.5)], 1, Some((0.5, 1))),
        (vec![offer(notebook, 1, 0.5)], 2, None),
        (vec![], 1, None),
        (vec![Offer { gpu: "rtx-3090", ..single() }], 1, None),
    ] {
        let told = format!("{offers:?} {count}");
        let catalog = shop(offers);
        let project = Project::default();
        let terms = Terms::of(&project);
        let gpu = catalog.gpu("rtx-4090").unwrap();
        let found = Offers::new(&catalog, &terms).rent(gpu, count, None);
        assert_eq!(found.map(|rent| (rent.per_hour.amount, rent.cards)), expected, "{told}");
    }
}

#[test]
fn the_whole_run_decides_who_is_cheapest() {
    let project = Project::default();
    let terms = Terms::of(&project);
    let rent = |offers: Vec<Offer>, terms: &Terms<'_>, hours| {
        let catalog = shop(offers);
        let gpu = catalog.gpu("rtx-4090").unwrap().clone();
        Offers::new(&catalog, terms).rent(&gpu, 1, hours)
    };
    // Colab sells its units by the hundred, for ten dollars.
    let two = || vec![offer("Google Colab", 1, 1.0), offer("other", 1, 3.0)];
    assert_eq!(rent(two(), &terms, Some(1.0)).unwrap().provider, "other");
    let long = rent(two(), &terms, Some(10.0)).unwrap();
    assert_eq!(long.provider, "Google Colab");
    // 100 GB of disk cost some cents a day beside the hours and the hour to set up.
    let disk = 100.0 * 0.10 / 730.0;
    close(long.run.unwrap().amount, (1.0 + disk) * 11.0);
    close(long.storage.unwrap().amount, disk * 11.0);
    close(long.set_up.amount, 1.0);
    close(long.disk_gb, 100.0);
    close(rent(vec![offer("Google Colab", 1, 1.0)], &terms, Some(1.0)).unwrap().run.unwrap().amount, 9.99);
    assert_eq!(rent(two(), &terms, None).unwrap().provider, "Google Colab");
    // Machines that may be taken away: whoever has them for the least, where that is less.
    let spot = |usd| Offer { spot_usd_h: Some(usd), ..offer("spot", 1, 9.0) };
    let found = rent(vec![offer("plain", 1, 3.0), spot(1.0), spot(2.0)], &terms, Some(9.0)).unwrap();
    assert_eq!((found.provider, found.spot_provider), ("plain", "spot"));
    close(found.spot.unwrap().amount, 1.0);
    close(found.spot_run.unwrap().amount, (1.0 + disk) * 10.0);
    let found = rent(vec![offer("plain", 1, 3.0), spot(3.0)], &terms, Some(9.0)).unwrap();
    assert_eq!((found.spot, found.spot_run, found.spot_provider), (None, None, ""));
    let found = rent(vec![offer("plain", 1, 3.0), spot(1.0)], &terms, None).unwrap();
    assert!(found.spot.is_some() && found.spot_run.is_none() && found.run.is_none() && found.storage.is_none());
    // Offers in one's own currency come first, dear or not; others are converted.
    let asked = yuan();
    let in_yuan = Terms::of(&asked);
    let chinese = || Offer { usd_h: None, cny_h: Some(30.0), china: true, ..offer("chinese", 1, 0.0) };
    let found = rent(vec![offer("plain", 1, 1.0), chinese()], &in_yuan, Some(1.0)).unwrap();
    assert!(found.provider == "chinese" && found.china && !found.converted);
    let found = rent(vec![offer("plain", 1, 1.0), chinese()], &terms, Some(1.0)).unwrap();
    assert!(found.provider == "plain" && !found.china && !found.converted);
    let found = rent(vec![offer("plain", 1, 1.5)], &in_yuan, Some(1.0)).unwrap();
    assert!(found.converted);
    close(found.per_hour.amount, 10.5);
    close(found.run.unwrap().amount, (10.5 + 7.0 * disk) * 2.0);
    let found = rent(vec![chinese()], &Terms { prices: &asked.prices, ..Terms::of(&project) }, None).unwrap();
    close(found.per_hour.amount, 30.0 / 7.0);
    // One's own price is for each card.
    let mut own = Project::default();
    own.prices.cards = vec![CardPrice { gpu: "rtx-4090".into(), rent: Some(Money::usd(0.4)), ..CardPrice::default() }];
    let terms = Terms::of(&own);
    let catalog = shop(two());
    let found = Offers::new(&catalog, &terms).rent(catalog.gpu("rtx-4090").unwrap(), 3, Some(1.0)).unwrap();
    assert_eq!((found.provider, found.cards), ("", 3));
    close(found.per_hour.amount, 1.2);
}

/// A disk holds the model in 16 bit, three checkpoints of twelve bytes a trained weight, and 50 GB; it comes in steps of 50.
#[test]
fn disks_hold_a_run() {
    let catalog = Catalog::bundled();
    let size = |model: &str, method| {
        let project = Project { model: model.into(), method, ..Project::default() };
        Terms::of(&project).for_run(&project, &catalog).disk_gb
    };
    assert_eq!(size("llama-3.1-8b", Method::Full), 400.0);
    assert_eq!(size("llama-3.1-8b", Method::Lora), 100.0);
    assert_eq!(size("llama-3.1-70b", Method::Lora), 250.0);
    assert_eq!(size("resnet50", Method::Full), 100.0);
    let project = Project::default();
    let terms = Terms { disk_gb: 200.0, ..Terms::of(&project) };
    close(terms.disk_hour() * 730.0, 20.0);
    // Kept between the hours of work for less, all week.
    let month = terms.kept_disk(730.0 / 168.0);
    assert!(month > 5.0 && month < 20.0, "{month}");
    close(terms.kept_disk(2.0), 2.0 * terms.kept_disk(1.0));
}

/// What power and a power supply come to, as rules of thumb have it: 25 % above what cards and 250 W for the rest draw, or
/// what the maker asks for and a card's power for each further one.
#[test]
fn supplies_and_power() {
    let catalog = Catalog::bundled();
    let gpu = |id| catalog.gpu(id).unwrap();
    assert_eq!(supply_watts(gpu("rtx-4090"), 1), Some(900.0));
    assert_eq!(supply_watts(gpu("rtx-4090"), 2), Some(1450.0));
    assert_eq!(supply_watts(gpu("rtx-3060-12gb"), 1), Some(550.0));
    assert_eq!(supply_watts(gpu("gtx-1080-ti"), 1), Some(650.0));
    let greedy = Gpu { min_psu_w: Some(1020.0), tdp_w: Some(450.0), ..gpu("rtx-4090").clone() };
    assert_eq!(supply_watts(&greedy, 1), Some(1050.0));
    assert_eq!(supply_watts(&greedy, 3), Some(2000.0));
    assert_eq!(supply_watts(&Gpu { tdp_w: None, ..greedy }, 1), None);
    let project = Project::default();
    let terms = Terms::of(&project);
    // Beyond an ordinary 650 W it costs some fifteen cents a watt.
    let (watts, price) = terms.supply(gpu("rtx-4090"), 2).unwrap();
    assert_eq!(watts, 1450.0);
    assert!((0.10..0.20).contains(&(price / watts)));
    assert!(terms.supply(gpu("gtx-1080-ti"), 1).is_none() && terms.supply(gpu("apple-m2-ultra"), 1).is_none());
    let asked = yuan();
    close(Terms::of(&asked).supply(gpu("rtx-4090"), 2).unwrap().1, 7.0 * price);
    // 85 % of 450 W and 115 for the rest, behind a supply of 90 %; cards under a desk share one rest, and of a server each
    // takes its part.
    close(wall_watts(gpu("rtx-4090"), 1).unwrap(), (450.0 * 0.85 + 115.0) / 0.9);
    close(wall_watts(gpu("rtx-4090"), 3).unwrap(), (3.0 * 450.0 * 0.85 + 115.0) / 0.9);
    close(wall_watts(gpu("rtx-4090"), 8).unwrap(), 8.0 * wall_watts(gpu("rtx-4090"), 1).unwrap());
    close(wall_watts(gpu("apple-m2-ultra"), 1).unwrap(), (150.0 * 0.85 + 30.0) / 0.9);
    close(terms.power(gpu("rtx-4090"), 1).unwrap(), wall_watts(gpu("rtx-4090"), 1).unwrap() / 1000.0 * 0.17);
}

#[test]
fn cards_cost_what_the_market_asks() {
    let catalog = Catalog::bundled();
    let like = catalog.gpu("rtx-4090").unwrap();
    let market = |msrp, street, used, cny| Gpu {
        price: GpuPrice { msrp_usd: msrp, street_usd: street, used_usd: used, street_cny: cny, ..like.price },
        ..like.clone()
    };
    let (mut dollars, asked) = (Project::default(), yuan());
    dollars.prices.cny_per_usd = 7.0;
    for (gpu, project, new, used) in [
        // The street's price before the list's; what is second hand, if it is cheaper.
        (market(Some(100.0), Some(120.0), Some(80.0), None), &dollars, Some(120.0), Some(80.0)),
        (market(Some(100.0), None, Some(80.0), None), &dollars, Some(100.0), Some(80.0)),
        (market(Some(100.0), None, None, None), &dollars, Some(100.0), None),
        (market(None, None, Some(80.0), None), &dollars, None, Some(80.0)),
        // Used for more than new: one of the two is wrong.
        (market(None, Some(100.0), Some(100.0), None), &dollars, Some(100.0), None),
        // The market in China, where it is no price of used ones: then it is new there, converted elsewhere.
        (market(None, Some(120.0), Some(80.0), Some(700.0)), &asked, Some(700.0), Some(560.0)),
        (market(None, Some(120.0), Some(80.0), Some(700.0)), &dollars, Some(120.0), Some(80.0)),
        (market(None, None, Some(80.0), Some(700.0)), &dollars, Some(100.0), Some(80.0)),
        // As cheap as a used one: it is a used one; nobody sells it new.
        (market(Some(200.0), None, Some(80.0), Some(560.0)), &asked, None, Some(560.0)),
        (market(Some(200.0), None, Some(80.0), Some(640.0)), &asked, None, Some(640.0)),
        (market(Some(200.0), None, Some(80.0), Some(660.0)), &asked, Some(660.0), Some(560.0)),
        (market(Some(200.0), Some(180.0), Some(80.0), Some(580.0)), &asked, Some(580.0), Some(560.0)),
        (market(Some(200.0), Some(180.0), Some(80.0), Some(550.0)), &asked, Some(1260.0), Some(550.0)),
        (market(Some(200.0), None, Some(80.0), Some(560.0)), &dollars, None, Some(80.0)),
    ] {
        let terms = Terms::of(project);
        for count in [1, 3] {
            let found = buy(&gpu, count, &terms).unwrap();
            let each = |m: Option<Money>| m.map(|m| (m.amount / f64::from(count) * 1e6).round() / 1e6);
            assert_eq!((each(found.new), each(found.used)), (new, used), "{:?}", gpu.price);
        }
    }
    assert!(buy(&market(None, None, None, None), 1, &Terms::of(&dollars)).is_none());
    // One's own price is neither old nor rough.
    let mut own = Project::default();
    let mine = CardPrice { gpu: "rtx-4090".into(), used: Some(Money::usd(900.0)), ..CardPrice::default() };
    own.prices.cards = vec![mine.clone()];
    let found = buy(&market(None, None, Some(80.0), None), 2, &Terms::of(&own)).unwrap();
    assert_eq!((found.new, found.used.unwrap().amount, found.as_of, found.rough), (None, 1800.0, "", false));
    // Where the other is the market's, it keeps its date.
    let found = buy(&market(None, Some(700.0), Some(80.0), None), 1, &Terms::of(&own)).unwrap();
    assert_eq!((found.new.unwrap().amount, found.used.unwrap().amount), (700.0, 900.0));
    assert_eq!(found.as_of, like.price.source.as_of);
    own.prices.cards = vec![CardPrice { new: Some(Money::usd(1000.0)), ..mine }];
    assert_eq!(buy(&market(None, Some(700.0), Some(80.0), None), 1, &Terms::of(&own)).unwrap().as_of, "");
    // A new card is a used one afterwards, and no dearer than it was.
    close(second_hand(100.0, Some(60.0)), 60.0);
    close(second_hand(100.0, Some(160.0)), 100.0);
    assert!((50.0..100.0).contains(&second_hand(100.0, None)));
}

/// The whole account of renting and buying, from the sums that are shown.
#[test]
fn a_choice_is_worked_out_to_the_cent() {
    let catalog = Catalog::bundled();
    let project = Project { model: "qwen2.5-7b".into(), method: Method::QLora, ..Project::default() };
    let terms = Terms::of(&project);
    for (id, count) in [("rtx-4090", 1), ("rtx-3090", 2), ("a100-pcie-80gb", 1)] {
        let gpu = catalog.gpu(id).unwrap();
        let time = time(&project, gpu, count, &catalog).unwrap();
        let hours = time.run.hours();
        let rent = Offers::new(&catalog, &terms).rent(gpu, count, Some(hours)).unwrap();
        let choice = CardChoice {
            gpu: gpu.id,
            count,
            sharding: Sharding::Ddp,
            accumulation: 1,
            card: Bytes::from_gib(10.0),
            usable: gpu.usable,
            band: 0.1,
            spare: Bytes::ZERO,
            fits: true,
            tight: false,
            time: Some(time),
            rent: Some(rent),
            buy: buy(gpu, count, &terms),
            instead_of_bf16: None,
            overpriced: false,
            pick: None,
            short_list: false,
        };
        let plans = card_plans(&project, gpu, &choice);
        let of = |way| plans.iter().find(|p| p.way == way);
        let rented = of(Way::Rent).unwrap();
        assert_eq!((rented.cost, rented.outlay, rented.who), (rent.run.unwrap(), rent.run.unwrap(), rent.provider));
        close(rented.wait, hours + 1.0);
        if let Some(spot) = of(Way::Spot) {
            assert_eq!((spot.cost, spot.who), (rent.spot_run.unwrap(), rent.spot_provider));
        }
        let price = choice.buy.unwrap();
        let power = wall_watts(gpu, count).unwrap() / 1000.0 * 0.17 * hours;
        let supply = terms.supply(gpu, count).map_or(0.0, |s| s.1);
        for (way, paid) in [(Way::New, price.new), (Way::Used, price.used)] {
            let (Some(plan), Some(paid)) = (of(way), paid) else {
                assert!(of(way).is_none() && paid.is_none());
                continue;
            };
            close(plan.outlay.amount, paid.amount + supply + power);
            // After less than a year it is worth a year less.
            let market = price.used.map(|m| m.amount);
            let base = if way == Way::Used { paid.amount } else { second_hand(paid.amount, market) };
            close(plan.worth.unwrap().amount, base * resale_share(gpu, 0.0));
            close(plan.cost.amount, plan.outlay.amount - plan.worth.unwrap().amount);
            // A parcel takes two days.
            close(plan.wait, hours + 48.0);
            close(plan.hours, hours);
        }
    }
}

/// Rent or buy: every point of the curves, by price, hours, power and what the card is worth after so many weeks.
#[test]
fn curves_of_renting_and_owning() {
    let catalog = Catalog::bundled();
    let mut project = Project { model: "qwen2.5-7b".into(), method: Method::QLora, ..Project::default() };
    project.prices.hours_a_week = 20.0;
    let gpu = catalog.gpu("rtx-3090").unwrap();
    let price = buy(gpu, 1, &Terms::of(&project)).unwrap();
    let told = rent_or_buy(&project, gpu, 1, Some(50.0), &catalog).unwrap();
    assert_eq!(told.points.len(), 49);
    assert_eq!(told.points[0].hours, 0.0);
    let supply = told.supply.map_or(0.0, |(_, m)| m.amount);
    let used = price.used.unwrap().amount;
    for point in &told.points {
        // A GeForce card of 24 GB loses 15 % a year, the first of which is over once it is unpacked.
        let years = (point.hours / 20.0 / 52.18).max(1.0);
        let power = told.power_hour.unwrap().amount * point.hours;
        close(point.used.unwrap(), used + supply - used * 0.85_f64.powf(years) + power);
        assert_eq!(point.new.is_some(), price.new.is_some());
    }
    // At least two years of twenty hours a week, or to a quarter beyond the crossing.
    let end = told.points.last().unwrap().hours;
    let crossing = [told.new, told.used].into_iter().flatten().filter_map(|p| p.pays_from_h).fold(0.0, f64::max);
    close(end, (104.0_f64 * 20.0).max(crossing * 1.25).min(20.0 * 52.0 * 6.0));
    close(told.two_years.hours, 2080.0);
    // For the project as it would be rented: with the hour to set up and the disk.
    let rent =
        Offers::new(&catalog, &Terms::of(&project).for_run(&project, &catalog)).rent(gpu, 1, Some(50.0)).unwrap();
    close(told.project.unwrap().rent, rent.run.unwrap().amount);
    let best = told.best().unwrap();
    let earliest =
        [told.new, told.used].into_iter().flatten().filter_map(|p| p.pays_from_h).fold(f64::INFINITY, f64::min);
    assert!(best.1.pays_from_h.is_none_or(|from| from == earliest));
    // Nobody owns modules, and of whole computers one.
    assert!(rent_or_buy(&project, catalog.gpu("h100-sxm").unwrap(), 1, None, &catalog).is_none());
    let owned = |id: &str, count| can_own(catalog.gpu(id).unwrap(), count);
    assert!(owned("rtx-4090", 4) && !owned("rtx-4090", 5) && owned("apple-m2-ultra", 1) && !owned("apple-m2-ultra", 2));
    for id in ["mi300x", "h20", "gh200", "b200"] {
        let module = catalog.gpus.iter().find(|g| g.id.contains(id)).unwrap();
        assert!(!can_own(module, 1), "{}", module.id);
    }
}

#[test]
fn usual_prices_are_those_before_ones_own() {
    let catalog = shop(vec![offer("plain", 1, 0.5)]);
    let mut project = Project::default();
    project.hardware.gpu = "rtx-4090".into();
    let mine = Some(Money::usd(9.0));
    project.prices.cards = vec![CardPrice { gpu: "rtx-4090".into(), rent: mine, new: mine, used: mine }];
    project.prices.electricity = mine;
    let usual = |field| usual_price(&project, field, &catalog).map(|m| m.amount);
    let price = buy(catalog.gpu("rtx-4090").unwrap(), 1, &Terms::of(&Project::default())).unwrap();
    assert_eq!(usual(Field::PriceRent), Some(0.5));
    assert_eq!(usual(Field::PriceNew), price.new.map(|m| m.amount));
    assert_eq!(usual(Field::PriceUsed), price.used.map(|m| m.amount));
    assert_eq!(usual(Field::Electricity), Some(0.17));
    assert_eq!(usual(Field::Epochs), None);
}

/// Cards lose by their kind: large game cards least, those of data centers most.
#[test]
fn cards_lose_worth_by_the_year() {
    let catalog = Catalog::bundled();
    let share = |id: &str, years: f64| resale_share(catalog.gpu(id).unwrap(), years * 52.18);
    for (id, loss) in [("rtx-4090", 0.15), ("rtx-4060-ti-16gb", 0.22), ("apple-m2-ultra", 0.22), ("rtx-6000-ada", 0.18)]
    {
        close(share(id, 1.0), 1.0 - loss);
        close(share(id, 3.0), (1.0_f64 - loss).powi(3));
        close(share(id, 0.2), 1.0 - loss);
    }
    close(share("a100-pcie-80gb", 2.0), 0.49);
    let laptop = catalog.gpus.iter().find(|g| g.family == GpuFamily::Laptop).unwrap();
    close(resale_share(laptop, 0.0), 0.78);
}
