//! Everything that was typed, taken together: the project it makes, and what is wrong at which field.

use super::fields::{self, FieldError};
use super::{Field, Project, relevant};
use crate::catalog::Catalog;
use crate::units::Few;

/// What was typed, field by field, as typed.
pub type Typed = Few<Field, String>;

/// The outcome of [`apply`].
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The project with everything that is valid; an invalid field keeps its last valid value.
    pub project: Project,
    /// What is wrong, by field.
    pub errors: Few<Field, FieldError>,
}

/// Puts all typed texts onto the last valid project.
///
/// All at once, because fields depend on each other: 3,072 wide with 16 heads is fine, and so is 3,000 with 24, but one
/// cannot go from one to the other through a single field.
pub fn apply(last_valid: &Project, typed: &Typed, catalog: &Catalog) -> Applied {
    let mut project = last_valid.clone();
    let mut errors = Few::new();
    for (field, raw) in typed.iter() {
        if let Err(error) = fields::set(&mut project, *field, raw, catalog) {
            errors.insert(*field, error);
        }
    }
    let shown = relevant(&project, catalog);
    errors.retain(|field, _| always_shown(*field) || shown.contains(*field));
    if let Some((field, error)) = inconsistency(&project, typed) {
        if errors.keys().all(|f| !is_custom(*f)) {
            errors.insert(field, error);
        }
        project.custom.clone_from(&last_valid.custom);
    }
    Applied { project, errors }
}

const fn always_shown(field: Field) -> bool {
    matches!(field, Field::Preset | Field::Model | Field::Gpu | Field::Count | Field::BudgetLimit | Field::Currency)
        || is_price(field)
}

/// The fields of what the person knows better about prices.
const fn is_price(field: Field) -> bool {
    matches!(
        field,
        Field::Place
            | Field::Electricity
            | Field::ExchangeRate
            | Field::HoursAWeek
            | Field::PriceCard
            | Field::PriceRent
            | Field::PriceNew
            | Field::PriceUsed
    )
}

const fn is_custom(field: Field) -> bool {
    matches!(field, Field::CustomHidden | Field::CustomHeads | Field::CustomKvHeads)
}

/// Heads that do not share out the width, or key/value heads that do not share out the heads. The error stands at the
/// field that was typed into, else at the heads.
fn inconsistency(project: &Project, typed: &Typed) -> Option<(Field, FieldError)> {
    let model = project.custom.as_ref()?;
    let at = |candidates: [Field; 2]| candidates.into_iter().find(|f| typed.contains_key(f)).unwrap_or(candidates[0]);
    let (hidden, heads, kv_heads) = (model.hidden, model.heads, model.kv_heads);
    if heads == 0 || kv_heads == 0 {
        return None;
    }
    // Where heads have a size of their own they need not share the width out.
    if model.head_dim == 0 && !hidden.is_multiple_of(heads) {
        let error = FieldError::HeadsDoNotDivideHidden { hidden, heads, nearest: nearest_divisor(hidden, heads) };
        return Some((at([Field::CustomHeads, Field::CustomHidden]), error));
    }
    if !heads.is_multiple_of(kv_heads) {
        let error = FieldError::KvHeadsDoNotDivideHeads { heads, kv_heads, nearest: nearest_divisor(heads, kv_heads) };
        return Some((at([Field::CustomKvHeads, Field::CustomHeads]), error));
    }
    None
}

/// The divisor of `of` that is nearest to `to`; the smaller one if two are as near.
fn nearest_divisor(of: u64, to: u64) -> u64 {
    let below = (1..=to.min(of)).rev().find(|d| of.is_multiple_of(*d)).unwrap_or(1);
    let above = (to..=of.min(to.saturating_mul(2))).find(|d| of.is_multiple_of(*d)).unwrap_or(below);
    if to - below.min(to) <= above.abs_diff(to) { below } else { above }
}
