//! Home machines, line by line.

use enough_gpu::advise::rig::{
    Case, Check, Circuit, Cooling, Noise, NotAtHome, Platform, circuits, disk, not_at_home, rig,
};
use enough_gpu::advise::wall_watts;
use enough_gpu::catalog::Catalog;
use enough_gpu::project::{Method, Project};
use enough_gpu::units::{Bytes, Currency};

#[test]
fn two_rtx_3090() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("rtx-3090").unwrap();
    let found = rig(gpu, 2, Bytes::from_gib(32.0)).unwrap();
    // 2 x 350 W and 250 W for the rest, 25 % on top: 1,200 W. Two high-end cards: about 1,000 W at the least (d2l.ai).
    assert_eq!(found.supply_w, 1200.0);
    assert_eq!(found.checks[0], Check::PowerSupply { watts: 1200.0, supplies: 1 });
    // 950 W behind a Gold supply: 1,056 W, which every circuit carries; 15 A at 120 V: 1,440 W for hours.
    assert!((found.wall_w - 1055.6).abs() < 0.1);
    assert!((Circuit::Us15A.continuous_w() - 1440.0).abs() < 1e-9);
    for circuit in Circuit::ALL {
        assert!(found.checks.contains(&Check::Wall(circuit)), "{circuit:?}");
    }
    assert!(found.checks.contains(&Check::Board(Platform::DesktopTwoSlots)));
    assert!(found.checks.contains(&Check::Cool(Cooling::RisersOrBlowers)));
    assert!(found.checks.contains(&Check::Memory(Bytes::from_gib(96.0))));
    // Two cards of three slots: six of an ATX board's seven.
    assert!(found.checks.contains(&Check::Case(Case::Tower)) && found.checks.contains(&Check::Noise(Noise::Loud)));
    assert!(!found.not_at_home);
    // The 3090 came before the 16-pin connector was usual, and its driver's rules.
    assert!(!found.checks.iter().any(|c| matches!(c, Check::TwelveVolt { .. } | Check::NoPeerToPeer)));
    // The same power while it trains as everywhere on the page, for 720 hours.
    let training = wall_watts(gpu, 2).unwrap();
    assert!((found.month_kwh - training * 0.72).abs() < 0.1, "{}", found.month_kwh);
    assert!((700.0..found.wall_w).contains(&training), "{training}");
}

#[test]
fn four_rtx_4090() {
    let catalog = Catalog::bundled();
    let gpu = catalog.gpu("rtx-4090").unwrap();
    let found = rig(gpu, 4, Bytes::from_gib(32.0)).unwrap();
    // 4 x 450 + 250 W, 25 % on top: 2,562 W, two supplies. Four cards: 1,600 to 2,000 W at the least (d2l.ai).
    assert_eq!(found.checks[0], Check::PowerSupply { watts: 2600.0, supplies: 2 });
    assert_eq!(found.checks[1], Check::TwelveVolt { cables: 4 });
    // 2,278 W from the wall: more than 15 or 20 A at 120 V and than a Chinese 10 A socket carry for hours.
    let walls: Vec<_> = found.checks.iter().filter(|c| matches!(c, Check::Wall(_))).collect();
    assert_eq!(walls, [&Check::Wall(Circuit::China16A), &Check::Wall(Circuit::Europe16A)]);
    assert!(found.checks.contains(&Check::Board(Platform::Workstation)));
    assert!(found.checks.contains(&Check::Cool(Cooling::RisersOrBlowers)));
    assert!(found.checks.contains(&Check::Memory(Bytes::from_gib(192.0))));
    assert!(found.checks.contains(&Check::NoPeerToPeer));
    assert!(found.checks.contains(&Check::Case(Case::OpenFrame)));
}

/// The connector and the driver's rule are NVIDIA's, and begin at 300 W: the RTX 5070 Ti has it, Radeons never.
#[test]
fn the_connector_is_nvidias() {
    let catalog = Catalog::bundled();
    let told = |id: &str| {
        let checks = rig(catalog.gpu(id).unwrap(), 2, Bytes::from_gib(32.0)).unwrap().checks;
        (checks.contains(&Check::TwelveVolt { cables: 2 }), checks.contains(&Check::NoPeerToPeer))
    };
    assert_eq!(told("rtx-5070-ti"), (true, true));
    assert_eq!(told("rtx-4070"), (false, true));
    assert_eq!(told("rx-7900-xtx"), (false, false));
    assert_eq!(told("rtx-6000-ada"), (false, false));
}

#[test]
fn what_no_home_holds() {
    let catalog = Catalog::bundled();
    let server = rig(catalog.gpu("h100-sxm").unwrap(), 8, Bytes::from_gib(32.0)).unwrap();
    assert!(server.not_at_home && server.checks.contains(&Check::Case(Case::Rack)));
    assert!(server.checks.contains(&Check::NoCircuit));
    // Each for its own reason: a consumer card is no module of a server.
    let why = |id: &str, count| not_at_home(catalog.gpu(id).unwrap(), count);
    assert_eq!(why("h100-sxm", 8), Some(NotAtHome::Module));
    assert_eq!((why("rtx-3060-12gb", 4), why("rtx-3060-12gb", 8)), (None, Some(NotAtHome::TooMany)));
    assert_eq!(why("apple-m3-max-64gb", 2), Some(NotAtHome::WholeComputer));
}

#[test]
fn disks_and_circuits_follow_the_project() {
    let catalog = Catalog::bundled();
    let mut project = Project { model: "llama-3.1-8b".to_owned(), method: Method::QLora, ..Project::default() };
    // 150 GB for the system, 16 for the model, 6 for three checkpoints of adapters.
    assert_eq!(disk(&project, &catalog), Check::Disk { gb: 500 });
    // All weights: 3 x 96 GB of checkpoints on top.
    project.method = Method::Full;
    assert_eq!(disk(&project, &catalog), Check::Disk { gb: 500 });
    project.model = "llama-3.1-70b".to_owned();
    assert_eq!(disk(&project, &catalog), Check::Disk { gb: 4000 });
    assert_eq!(circuits(&project), [Circuit::Us15A, Circuit::Us20A]);
    project.budget.currency = Currency::Cny;
    assert_eq!(circuits(&project), [Circuit::China10A, Circuit::China16A]);
}

#[test]
fn every_card_and_count_has_an_answer_or_none() {
    let catalog = Catalog::bundled();
    for gpu in catalog.gpus.iter() {
        for count in [0, 1, 2, 8, u32::MAX] {
            if let Some(found) = rig(gpu, count, Bytes(u64::MAX)) {
                assert!(found.supply_w.is_finite() && found.supply_w > 0.0, "{}", gpu.id);
            }
        }
    }
}
