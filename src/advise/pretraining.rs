//! Pre-training on many cards: days on the wall, GPU-hours, money, and what breaks on the way.

use super::Rent;
use super::money::Offers;
use super::plan::{Plan, plan};
use super::terms::Terms;
use crate::catalog::{Catalog, Gpu};
use crate::estimate::CARDS_PER_MACHINE;
use crate::project::Project;
use crate::units::{Flops, Money, Seconds};

/// Interruptions of a job for each card and day: 466 in 54 days on 16,384 cards, planned ones among them (The Llama 3
/// Herd of Models, section 3.3.4).
pub const INTERRUPTIONS_PER_CARD_DAY: f64 = 466.0 / (54.0 * 16_384.0);

/// Time that an interruption costs at the most, from the same report: more than 90 % of those 54 days were effective.
const LOST_PER_INTERRUPTION: Seconds = Seconds(0.1 * 54.0 * 86_400.0 / 466.0);

/// A run over a number of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PreTraining {
    /// Cards.
    pub cards: u32,
    /// Days on the wall with interruptions.
    pub days: f64,
    /// GPU-hours with interruptions.
    pub gpu_hours: f64,
    /// What it costs at the price of a GPU-hour that was given.
    pub cost: f64,
    /// Interruptions to reckon with, and restarts.
    pub interruptions: f64,
    /// Share of the time that goes into training.
    pub effective: f64,
    /// Rate on each card by the model's own operations.
    pub per_card: Flops,
    /// Tokens a second over all cards, while it runs.
    pub tokens_per_second: f64,
    /// Tokens of an optimizer step, over all cards.
    pub tokens_per_step: f64,
}

/// What it takes to train over `tokens` by this plan, at a price for each GPU-hour.
pub fn pretraining(plan: &Plan, tokens: f64, price_per_gpu_hour: f64) -> PreTraining {
    let p = &plan.project;
    let cards = p.hardware.count.max(1);
    let data = f64::from(p.hardware.parallel.data(cards));
    let samples = p.micro_batch as f64 * p.accumulation as f64 * data;
    let tokens_per_step = samples * p.sequence as f64;
    let tokens_per_second = tokens_per_step / plan.time.step.0;
    let training_days = tokens / tokens_per_second / 86_400.0;
    // Every lost hour is itself an hour in which something may break.
    let lost = INTERRUPTIONS_PER_CARD_DAY * f64::from(cards) * LOST_PER_INTERRUPTION.0 / 86_400.0;
    let effective = (1.0 - lost).max(0.05);
    let days = training_days / effective;
    let gpu_hours = days * 24.0 * f64::from(cards);
    PreTraining {
        cards,
        days,
        gpu_hours,
        cost: gpu_hours * price_per_gpu_hour,
        interruptions: INTERRUPTIONS_PER_CARD_DAY * f64::from(cards) * days,
        effective,
        per_card: Flops(plan.time.flops.0 / plan.time.step.0 / f64::from(cards)),
        tokens_per_second,
        tokens_per_step,
    }
}

/// What an hour of one card costs as clusters are rented: the eighth part of a machine of eight, or a single card where
/// nobody rents machines of eight. With it the offer that it comes from.
pub fn gpu_hour(project: &Project, gpu: &Gpu, catalog: &Catalog) -> Option<(Money, Rent)> {
    let terms = Terms::of(project);
    let offers = Offers::new(catalog, &terms);
    [CARDS_PER_MACHINE, 1].into_iter().find_map(|count| {
        let rent = offers.rent(gpu, count, None)?;
        Some((terms.money(rent.per_hour.amount / f64::from(rent.cards.max(count))), rent))
    })
}

/// Tokens that the project's samples come to.
pub fn tokens(project: &Project) -> f64 {
    project.samples as f64 * project.epochs * project.sequence as f64
}

/// The plan for `cards` cards with a step of the usual size, or with the smallest one that gives every card work.
pub fn usual_plan(project: &Project, gpu: &Gpu, cards: u32, catalog: &Catalog) -> Option<Plan> {
    let most = u64::from(cards);
    let mut samples = (usual_batch(project, catalog) / project.sequence.max(1) as f64).ceil() as u64;
    loop {
        let found = plan(project, gpu, cards, samples.max(1), catalog);
        if found.is_some() || samples >= most {
            return found;
        }
        samples = samples.max(1).saturating_mul(2).min(most);
    }
}

/// Tokens of an optimizer step that are usual for a model of this size, or what the project is set to where that is more.
pub fn usual_batch(project: &Project, catalog: &Catalog) -> f64 {
    published_batch(project, catalog).max(super::plan::samples_per_step(project) as f64 * project.sequence as f64)
}

/// Tokens of an optimizer step with which models of this size were trained: 0.5 M up to a billion weights, 2 M around ten
/// (GPT-3, table 2.1), 4 M around seventy (Llama 2, section 2.2), 16 M for four hundred (The Llama 3 Herd of Models, table
/// 4), 63 M beyond (DeepSeek-V3 Technical Report, section 4.2: up to 15,360 samples of 4,096).
pub fn published_batch(project: &Project, catalog: &Catalog) -> f64 {
    match project.parameters(catalog) as f64 {
        p if p < 2e9 => 0.5e6,
        p if p < 2e10 => 2e6,
        p if p < 2e11 => 4e6,
        p if p < 5e11 => 16e6,
        _ => 63e6,
    }
}
