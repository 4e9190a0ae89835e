//! A machine of one's own: what it takes to run a number of cards at home or in an office.

use super::terms::{can_own, files_gb, most_watts, supply_watts, wall_watts};
use super::{Advice, CardChoice, TYPICAL_CARD, Verdict};
use crate::catalog::{Catalog, Gpu, GpuFamily, Vendor};
use crate::project::{CARDS_PER_MACHINE, Place, Project, place};
use crate::units::Bytes;

/// Largest common supply for a desktop case, watts; beyond it two are used.
const LARGEST_PSU_W: f64 = 1600.0;
/// Share of a breaker's rating that may be drawn for hours (US National Electrical Code, 210.19 and 210.20).
const CONTINUOUS: f64 = 0.8;

/// A household circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Circuit {
    /// 15 A at 120 V.
    Us15A,
    /// 20 A at 120 V.
    Us20A,
    /// A 10 A socket at 220 V.
    China10A,
    /// A 16 A socket at 220 V, as for air conditioners.
    China16A,
    /// 16 A at 230 V.
    Europe16A,
}

impl Circuit {
    /// All of them, the smallest of each place first.
    pub const ALL: [Self; 5] = [Self::Us15A, Self::Us20A, Self::China10A, Self::China16A, Self::Europe16A];

    /// Watts that may be drawn for hours: 80 % of an American breaker; sockets elsewhere are rated for their current.
    pub const fn continuous_w(self) -> f64 {
        match self {
            Self::Us15A => 15.0 * 120.0 * CONTINUOUS,
            Self::Us20A => 20.0 * 120.0 * CONTINUOUS,
            Self::China10A => 10.0 * 220.0,
            Self::China16A => 16.0 * 220.0,
            Self::Europe16A => 16.0 * 230.0,
        }
    }
}

/// Board and processor that give the cards their lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Any desktop: one slot of 16 lanes.
    Desktop,
    /// A desktop board that splits the processor's 16 lanes into two slots of 8.
    DesktopTwoSlots,
    /// Threadripper, Xeon W, EPYC: 64 to 128 lanes, four slots of 16 and more.
    Workstation,
    /// A rack server: more than four cards.
    Server,
}

/// How the cards stay cool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cooling {
    /// Their own fans in an airy case.
    OwnFans,
    /// Cards of three slots side by side choke: risers and an open frame, blower or water-cooled versions.
    RisersOrBlowers,
    /// Passive cards want a server's air stream.
    ServerAir,
}

/// What the cards stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// A tower: the cards cover no more than the seven slots of an ATX board.
    Tower,
    /// An open frame or a case for large boards: the cards cover more.
    OpenFrame,
    /// A rack.
    Rack,
}

/// How loud it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// As any gaming computer under load.
    Usual,
    /// Nothing to sleep or to talk beside.
    Loud,
    /// A room of its own.
    ServerRoom,
}

/// What to check before buying, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Check {
    /// One or two supplies of so many watts together.
    PowerSupply {
        /// Watts in all.
        watts: f64,
        /// How many supplies.
        supplies: u32,
    },
    /// A cable of its own to each card, 12VHPWR or 12V-2x6 with an ATX 3 supply.
    TwelveVolt {
        /// Connectors.
        cables: u32,
    },
    /// Cables with eight pins to each card, one for each of its sockets.
    EightPin {
        /// To one card, at the least.
        each: u32,
        /// In all.
        cables: u32,
    },
    /// A bridge joins two of the cards directly.
    Bridge {
        /// What it carries, GB/s.
        gb_s: f64,
    },
    /// The circuits on which it may run for hours.
    Wall(Circuit),
    /// No single circuit of the list carries it.
    NoCircuit,
    /// Platform for the lanes.
    Board(Platform),
    /// Slots that the cards cover.
    Slots(u32),
    /// How they stay cool.
    Cool(Cooling),
    /// What the cards stand in.
    Case(Case),
    /// Main memory.
    Memory(Bytes),
    /// A disk of so many gigabytes beside the data set.
    Disk {
        /// Decimal gigabytes, as on the box.
        gb: u32,
    },
    /// How loud it is.
    Noise(Noise),
    /// Cards cannot read each other's memory: traffic goes through main memory.
    NoPeerToPeer,
}

/// Why a machine is none for a person's home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAtHome {
    /// The card is a module of a server.
    Module,
    /// The card is part of a whole computer, one in each.
    WholeComputer,
    /// More cards than stand under a desk.
    TooMany,
    /// The card is soldered into a laptop.
    Laptop,
}

/// Why `count` of these cards are nothing for a home; `None` where they can stand there.
pub fn not_at_home(gpu: &Gpu, count: u32) -> Option<NotAtHome> {
    let whole = gpu.family == GpuFamily::Apple || gpu.memory_type.contains("LPDDR");
    Some(match () {
        () if gpu.family == GpuFamily::Laptop => NotAtHome::Laptop,
        () if whole && can_own(gpu, 1) => NotAtHome::WholeComputer,
        () if can_own(gpu, count) => return None,
        () if !can_own(gpu, 1) => NotAtHome::Module,
        () if !can_own(gpu, 2) => NotAtHome::WholeComputer,
        () => NotAtHome::TooMany,
    })
}

/// What there is to build for a project.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Build {
    /// A machine of so many of these cards: the person's own, or such as the project runs on.
    Machine(&'static str, u32),
    /// Nothing: whatever runs it has no place at home. The least that does, where anything does.
    Cluster(Option<(&'static str, u32)>),
}

/// What there is to build: around the person's own cards, else around as few as do it of the card that many rent, else of
/// any that stands at home. What no single machine holds is built by nobody.
pub fn build(project: &Project, advice: &Advice, catalog: &Catalog) -> Build {
    let fitting = || advice.cards.iter().filter(|c| c.fits);
    let cuda = |c: &CardChoice| catalog.gpu(c.gpu).is_some_and(|gpu| gpu.vendor == Vendor::Nvidia);
    let least = fitting().min_by_key(|c| (!cuda(c), c.count)).map(|c| (c.gpu, c.count));
    let own = if project.hardware.no_gpu { None } else { catalog.gpu(&project.hardware.gpu) };
    let holds = matches!(advice.verdict, Verdict::Fits { .. } | Verdict::Tight { .. } | Verdict::NoGpuNeeded { .. });
    let helped = holds || advice.make_it_fit.is_some();
    if least.is_none_or(|(_, count)| count > CARDS_PER_MACHINE) && !helped {
        return Build::Cluster(least);
    }
    if let Some(own) = own {
        return Build::Machine(own.id, project.hardware.count.max(1));
    }
    let home = || fitting().filter(|c| catalog.gpu(c.gpu).is_some_and(|gpu| not_at_home(gpu, c.count).is_none()));
    let usual = home().filter(|c| c.gpu == TYPICAL_CARD).min_by_key(|c| c.count);
    let price = |c: &&CardChoice| c.buy.and_then(|b| b.new.or(b.used)).map_or(f64::INFINITY, |money| money.amount);
    let found = usual.or_else(|| home().min_by(|a, b| price(a).total_cmp(&price(b))));
    match found {
        Some(choice) => Build::Machine(choice.gpu, choice.count),
        None if holds => Build::Machine(TYPICAL_CARD, 1),
        None => Build::Cluster(least),
    }
}

/// A machine for a number of cards.
#[derive(Clone, Debug, PartialEq)]
pub struct Rig {
    /// Watts that the supply should be rated for.
    pub supply_w: f64,
    /// Watts drawn from the wall at full load.
    pub wall_w: f64,
    /// Kilowatt-hours of a month of training day and night.
    pub month_kwh: f64,
    /// No machine for a person's home: modules of servers, or more cards than stand under a desk.
    pub not_at_home: bool,
    /// The list, to be ticked off.
    pub checks: Vec<Check>,
}

/// Power through the slot, and through a plug with eight pins (PCI Express Card Electromechanical Specification).
const SLOT_W: f64 = 75.0;
/// See [`SLOT_W`].
const EIGHT_PIN_W: f64 = 150.0;
/// Slots of an ATX board (ATX Specification 2.2, section 3.3).
const ATX_SLOTS: f64 = 7.0;

/// Disk for system, libraries and caches, GB: CUDA wheels and a few environments (judgement).
const SYSTEM_GB: f64 = 150.0;
/// Sizes that disks are sold in, GB.
const DISKS: [u32; 7] = [500, 1000, 2000, 4000, 8000, 16_000, 32_000];

/// Disk for a project beside its data set: system, the model as it is downloaded, and checkpoints.
pub fn disk(project: &Project, catalog: &Catalog) -> Check {
    let wanted = SYSTEM_GB + files_gb(project, catalog);
    let largest = DISKS.last().copied().unwrap_or(0);
    Check::Disk { gb: DISKS.into_iter().find(|gb| f64::from(*gb) >= wanted).unwrap_or(largest) }
}

/// The circuits that are usual where the person's electricity comes from.
pub fn circuits(project: &Project) -> &'static [Circuit] {
    match place(project) {
        Place::UnitedStates | Place::Auto => &[Circuit::Us15A, Circuit::Us20A],
        Place::China | Place::ChinaBusiness => &[Circuit::China10A, Circuit::China16A],
        Place::EuropeanUnion | Place::Germany => &[Circuit::Europe16A],
    }
}

/// The machine for `count` of these cards that a run needs `host` bytes of main memory on; `None` where the card's power
/// is not known.
pub fn rig(gpu: &Gpu, count: u32, host: Bytes) -> Option<Rig> {
    let count = count.max(1);
    let each = gpu.tdp_w?;
    let cards = f64::from(count);
    let supply_w = supply_watts(gpu, count)?;
    let supplies = (supply_w / LARGEST_PSU_W).ceil().max(1.0);
    let wall_w = most_watts(gpu, count)?;
    let month_kwh = wall_watts(gpu, count)? * 24.0 * 30.0 / 1000.0;
    let mut checks = vec![Check::PowerSupply { watts: supply_w, supplies: supplies as u32 }];
    // NVIDIA's game cards of 300 W and more since 2022 carry the 16-pin connector (specifications of the RTX 4080 to 5090:
    // "300 W or greater PCIe Gen 5 cable"); AMD's do not.
    let consumer = gpu.family == GpuFamily::Consumer;
    let recent = gpu.vendor == Vendor::Nvidia && gpu.launched >= "2022-09" && consumer;
    if recent && each >= 300.0 {
        checks.push(Check::TwelveVolt { cables: count });
    } else if consumer && !recent && each > SLOT_W {
        let sockets = ((each - SLOT_W) / EIGHT_PIN_W).ceil() as u32;
        checks.push(Check::EightPin { each: sockets, cables: sockets.saturating_mul(count) });
    }
    let walls: Vec<Check> = Circuit::ALL.into_iter().filter(|c| c.continuous_w() >= wall_w).map(Check::Wall).collect();
    if walls.is_empty() {
        checks.push(Check::NoCircuit);
    }
    checks.extend(walls);
    checks.push(Check::Board(match count {
        1 => Platform::Desktop,
        2 => Platform::DesktopTwoSlots,
        3 | 4 => Platform::Workstation,
        _ => Platform::Server,
    }));
    let slots = gpu.slots.unwrap_or(2.0);
    checks.push(Check::Slots((slots * cards).ceil() as u32));
    let covered = slots * cards;
    let passive = matches!(gpu.family, GpuFamily::Datacenter | GpuFamily::Accelerator);
    let rack = passive || count > super::terms::UNDER_A_DESK;
    checks.push(Check::Case(match () {
        () if rack => Case::Rack,
        () if covered > ATX_SLOTS => Case::OpenFrame,
        () => Case::Tower,
    }));
    checks.push(Check::Cool(if passive {
        Cooling::ServerAir
    } else if count > 1 && slots > 2.0 || count > 2 {
        Cooling::RisersOrBlowers
    } else {
        Cooling::OwnFans
    }));
    // Twice what the cards hold is the usual advice: loading, caches of data, states that wait.
    let twice = Bytes(gpu.memory.0.saturating_mul(u64::from(count))) * 2;
    let modules = [32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048];
    let wanted = host.max(twice).gib();
    let memory = modules.into_iter().find(|m| f64::from(*m) >= wanted * 0.98).unwrap_or(4096);
    checks.push(Check::Memory(Bytes::from_gib(f64::from(memory))));
    checks.push(Check::Noise(match count {
        _ if rack => Noise::ServerRoom,
        1 => Noise::Usual,
        _ => Noise::Loud,
    }));
    if count > 1 && recent {
        checks.push(Check::NoPeerToPeer);
    }
    if let Some(gb_s) = gpu.nvlink_gb_s.filter(|_| count > 1 && !passive) {
        checks.push(Check::Bridge { gb_s });
    }
    let not_at_home = !can_own(gpu, count);
    Some(Rig { supply_w, wall_w, month_kwh, not_at_home, checks })
}
