//! Projects by throwing dice: the same ones in every run.
#![allow(dead_code, unreachable_pub)]

use enough_gpu::catalog::Catalog;
use enough_gpu::project::{Field, Kind, Project, choices, fields, relevant};

/// A small generator of numbers (Knuth's MMIX constants).
pub struct Dice(pub u64);

impl Dice {
    /// A whole number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }

    /// From 0 to 1.
    pub fn part(&mut self) -> f64 {
        self.below(1 << 30) as f64 / f64::from(1 << 30)
    }

    /// One of several.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// A text that a field may take.
pub fn something(field: Field, project: &Project, catalog: &Catalog, dice: &mut Dice) -> String {
    match fields::kind(field) {
        Kind::Number(range) if range.whole => {
            let most = range.max.min(1e6);
            (range.min + (dice.part() * dice.part() * (most - range.min)).floor()).to_string()
        }
        Kind::Number(range) => (range.min + dice.part() * (range.max.min(1e4) - range.min)).to_string(),
        Kind::Toggle => ["on", "off"][dice.below(2)].to_string(),
        Kind::Choice => {
            let offered = choices(field, project, catalog);
            offered[dice.below(offered.len())].to_string()
        }
        Kind::Search => match (field, dice.below(10)) {
            (Field::Gpu, 0) => fields::NO_GPU.to_string(),
            (Field::Gpu, _) => dice.of(&catalog.gpus).id.to_string(),
            (Field::Model, 0) => fields::CUSTOM_MODEL.to_string(),
            (Field::Model, 1) => fields::CUSTOM_NETWORK.to_string(),
            (Field::Model, _) => dice.of(&catalog.models).id.to_string(),
            _ => dice.of(&catalog.presets).id.to_string(),
        },
    }
}

/// A preset with up to `edits` fields edited, as the form lets one.
pub fn project(edits: usize, catalog: &Catalog, dice: &mut Dice) -> Project {
    let mut project = Project::from_preset(dice.of(&catalog.presets), catalog);
    for _ in 0..dice.below(edits + 1) {
        let shown = relevant(&project, catalog);
        let mut fields: Vec<Field> = shown.primary.iter().chain(&shown.folded).chain(&shown.several).copied().collect();
        // Prices of several cards do not fit into a link.
        fields.retain(|field| !matches!(field, Field::PriceRent | Field::PriceNew | Field::PriceUsed));
        fields.extend([Field::Preset, Field::Model, Field::Gpu, Field::Count, Field::BudgetLimit, Field::Currency]);
        let field = *dice.of(&fields);
        let text = something(field, &project, catalog, dice);
        let mut next = project.clone();
        if fields::set(&mut next, field, &text, catalog).is_ok() {
            // As the form does it: heads that do not share out the width are not taken.
            project = enough_gpu::project::apply(&project, &[(field, text)].into_iter().collect(), catalog).project;
        }
    }
    project
}

/// The project with sizes that somebody might train, on one card.
pub fn sane(mut project: Project, dice: &mut Dice) -> Project {
    project.micro_batch = 1 + dice.below(32) as u64;
    project.accumulation = 1 + dice.below(8) as u64;
    project.sequence = 64 << dice.below(8);
    project.image_side = 64 * (1 + dice.below(16)) as u64;
    project.frames = *dice.of(&[1, 1, 1, 17, 49]);
    project.audio_seconds = *dice.of(&[0.5, 2.0, 10.0, 30.0]);
    project.hardware.count = 1;
    project
}

/// Below this many cases one core looks at them, with the whole catalog: the same ones in every run.
const FEW: usize = 10_000;

/// Looks at so many cases. Many of them on all cores, each with dice of its own, and before shelves drawn from the
/// catalog, because most of the time of an advice goes to walking along all cards; all cards have their turn.
pub fn throw(cases: usize, seed: u64, look: impl Fn(&Catalog, &mut Dice) + Sync) {
    let catalog = Catalog::bundled();
    if cases < FEW {
        let mut dice = Dice(seed);
        (0..cases).for_each(|_| look(&catalog, &mut dice));
        return;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for core in 0..cores {
            let (look, catalog) = (&look, &catalog);
            scope.spawn(move || {
                let mut dice = Dice(seed + ((core as u64) << 40));
                let mut here = catalog.clone();
                for case in 0..cases.div_ceil(cores) {
                    if case % 50 == 0 {
                        here = shelf(catalog, &mut dice);
                    }
                    look(&here, &mut dice);
                }
            });
        }
    });
}

/// A catalog with some of the cards and what is offered of them; one in fifty times with all.
fn shelf(catalog: &Catalog, dice: &mut Dice) -> Catalog {
    /// Cards that the page itself and tests name.
    const ALWAYS: [&str; 5] = ["rtx-4090", "rtx-3060-12gb", "t4", "rx-6700-xt", "a100-sxm-80gb"];
    const DRAWN: usize = 20;
    let mut shelf = catalog.clone();
    if dice.below(50) > 0 {
        let drawn: Vec<&str> = (0..DRAWN).map(|_| dice.of(&catalog.gpus).id).chain(ALWAYS).collect();
        shelf.gpus.to_mut().retain(|gpu| drawn.contains(&gpu.id));
        shelf.offers.to_mut().retain(|offer| drawn.contains(&offer.gpu));
    }
    shelf
}

/// How many cases a test looks at: `few`, or one of `each` that `cargo xtask fuzz` asks for. A case that takes the time of
/// many is looked at less often.
pub fn cases(few: usize, each: usize) -> usize {
    std::env::var("ENOUGH_GPU_CASES").ok().and_then(|n| n.parse::<usize>().ok()).map_or(few, |n| n / each)
}
