//! Where things stand in the pictures about money: shares of the drawing, worked out apart from the views.

use crate::advise::{CostPoint, Pick, Plan, Plans, RentOrBuy, Way};
use crate::app::geometry::tenths;

/// Width and height of the drawings in their own units.
pub(super) const WIDTH: f64 = 1000.0;
pub(super) const HEIGHT: f64 = 500.0;

/// Most marks on an axis.
const MARKS: usize = 5;

/// A mark on an axis: where, as a percentage, and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    /// Percentage from the left, or from the top.
    pub at: f64,
    /// Hours, or money.
    pub value: f64,
}

/// A plan in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dot {
    /// Percentage from the left.
    pub x: f64,
    /// Percentage from the top.
    pub y: f64,
    /// The plan.
    pub plan: Plan,
}

/// Time against money.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Front {
    /// The line that joins the front, as steps.
    pub line: String,
    /// Plans of it.
    pub best: Vec<Dot>,
    /// Others.
    pub others: Vec<Dot>,
    /// Marks of the wait.
    pub hours: Vec<Mark>,
    /// Marks of the money.
    pub money: Vec<Mark>,
}

/// Lays the front out: both axes by orders of magnitude, nothing at the bottom.
pub(super) fn front(plans: &Plans) -> Front {
    // What is a hundred times dearer or slower than anything worth a look says nothing.
    const FAR: f64 = 4.0;
    let most = |key: fn(&Plan) -> f64| plans.front.iter().map(key).fold(0.0, f64::max);
    let (cost, wait) = (|p: &Plan| p.cost.amount, |p: &Plan| p.wait);
    let (dearest, longest) = (most(cost).max(1e-3), most(wait).max(1e-3));
    let near = |p: &&Plan| cost(p) <= dearest * FAR && wait(p) <= longest * FAR;
    let others: Vec<Plan> = plans.others.iter().filter(near).filter(|p| !plans.front.contains(p)).copied().collect();
    let all = || plans.front.iter().chain(&others);
    let (first, last) = all().map(wait).fold((f64::INFINITY, 0.0_f64), |(low, high), w| (low.min(w), high.max(w)));
    let (first, last) = (first.max(1e-3) / 1.15, last.max(first * 1.5) * 1.15);
    // Below this, money is nothing.
    let least = all().map(cost).filter(|c| *c > 0.0).fold(f64::INFINITY, f64::min).min(dearest).max(1e-3) / 3.0;
    let top = all().map(cost).fold(dearest, f64::max) * 1.4;
    let x = |hours: f64| (hours.max(first) / first).ln() / (last / first).ln() * 100.0;
    let y = |amount: f64| 100.0 - (amount.max(0.0) / least).ln_1p() / (top / least).ln_1p() * 94.0 - 3.0;
    let dot = |plan: &Plan| Dot { x: x(plan.wait), y: y(plan.cost.amount), plan: *plan };
    let dots: Vec<Dot> = plans.front.iter().map(dot).collect();
    Front {
        line: steps(&dots),
        best: dots,
        others: others.iter().map(dot).collect(),
        hours: thinned(
            [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 24.0, 72.0, 168.0, 720.0, 2160.0]
                .into_iter()
                .filter(|h| (first..=last).contains(h))
                .map(|h| Mark { at: x(h), value: h })
                .collect(),
        ),
        money: {
            let free = all().any(|p| cost(p) <= 0.0).then_some(0.0);
            free.into_iter().chain(amounts(least, top)).map(|m| Mark { at: y(m), value: m }).collect()
        },
    }
}

/// Round amounts between two: powers of ten, and halves and doubles of them where those would be too few for an axis.
fn amounts(least: f64, top: f64) -> Vec<f64> {
    let round = |figures: &[f64]| -> Vec<f64> {
        let all = (-3..9).flat_map(|power| figures.iter().map(move |f| f * 10_f64.powi(power)));
        all.filter(|m| (least..=top).contains(m)).collect()
    };
    let tens = round(&[1.0]);
    thinned(if tens.len() < 2 { round(&[1.0, 2.0, 5.0]) } else { tens })
}

/// The picks with the places where their names stand: at the plan of the front that is nearest to them.
pub(super) fn places(plans: &Plans) -> Vec<(Pick, Dot)> {
    let drawn = front(plans);
    let all: Vec<&Dot> = drawn.best.iter().chain(&drawn.others).collect();
    plans
        .picks
        .iter()
        .filter_map(|(pick, plan)| {
            let off = |d: &&&Dot| {
                let other = d.plan.gpu != plan.gpu || d.plan.count != plan.count;
                (d.plan != *plan, other, (d.plan.wait / plan.wait).ln().abs())
            };
            let nearest = all.iter().min_by(|a, b| {
                let (a, b) = (off(a), off(b));
                (a.0, a.1).cmp(&(b.0, b.1)).then(a.2.total_cmp(&b.2))
            })?;
            Some((*pick, **nearest))
        })
        .collect()
}

/// Whoever wants it a little sooner than one plan pays for the next: the line goes up, then along.
fn steps(dots: &[Dot]) -> String {
    let step = |(at, dot): (usize, &Dot)| {
        let (x, y) = (dot.x / 100.0 * WIDTH, dot.y / 100.0 * HEIGHT);
        let (x, y) = (tenths(x), tenths(y));
        if at == 0 { format!("M{x} {y}") } else { format!("V{y}H{x}") }
    };
    dots.iter().enumerate().map(step).collect::<Vec<_>>().concat()
}

/// Every second or third where there are too many.
fn thinned<T>(marks: Vec<T>) -> Vec<T> {
    let every = marks.len().div_ceil(MARKS).max(1);
    marks.into_iter().step_by(every).collect()
}

/// Rent or buy.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    /// Lines with the way they stand for.
    pub lines: Vec<(Way, String)>,
    /// Where each line ends, as a percentage from the top.
    pub ends: Vec<(Way, f64)>,
    /// Where buying begins to pay, as percentages from the left and the top.
    pub crossing: Option<(f64, f64)>,
    /// Marks of the hours.
    pub hours: Vec<Mark>,
    /// Marks of the money.
    pub money: Vec<Mark>,
}

/// Lays the curve out.
pub(super) fn curve(r: &RentOrBuy) -> Curve {
    type Cost = fn(&CostPoint) -> Option<f64>;
    let ways: [(Way, Cost); 3] = [(Way::Rent, |p| Some(p.rent)), (Way::New, |p| p.new), (Way::Used, |p| p.used)];
    let end = r.points.last().map_or(1.0, |p| p.hours).max(1e-6);
    let top = r.points.iter().flat_map(|p| ways.map(|(_, c)| c(p).unwrap_or(0.0))).fold(1e-6, f64::max) * 1.08;
    let (x, y) = (|hours: f64| hours / end * 100.0, |amount: f64| 100.0 - amount / top * 100.0);
    let line = |cost: Cost| {
        let place = |p: &CostPoint| Some((x(p.hours) / 100.0 * WIDTH, y(cost(p)?) / 100.0 * HEIGHT));
        let points: Vec<String> =
            r.points.iter().filter_map(place).map(|(x, y)| format!("{},{}", tenths(x), tenths(y))).collect();
        points.join(" ")
    };
    let drawn = ways.into_iter().filter(|(_, cost)| r.points.iter().all(|p| cost(p).is_some()));
    let crossing = r.best().and_then(|(used, purchase)| {
        let from = purchase.pays_from_h?;
        let after = r.points.iter().find(|p| p.hours >= from)?;
        let cost = if used { after.used? } else { after.new? };
        Some((x(from), y(cost)))
    });
    Curve {
        lines: drawn.clone().map(|(way, cost)| (way, line(cost))).collect(),
        ends: drawn.filter_map(|(way, cost)| Some((way, y(cost(r.points.last()?)?)))).collect(),
        crossing,
        hours: rounds(end).into_iter().map(|h| Mark { at: x(h), value: h }).collect(),
        money: rounds(top).into_iter().map(|m| Mark { at: y(m), value: m }).collect(),
    }
}

/// Round numbers from nothing to an end: 0, 200, 400 ...
fn rounds(end: f64) -> Vec<f64> {
    let rough = end / 4.0;
    let size = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|s| s * size).find(|s| *s >= rough).unwrap_or(rough);
    (0..=MARKS).map(|i| i as f64 * step).filter(|v| *v <= end).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::advise::{advise, rent_or_buy};
    use crate::catalog::Catalog;
    use crate::project::Project;
    use wasm_bindgen_test::wasm_bindgen_test;

    #[wasm_bindgen_test]
    fn everything_stays_inside_the_pictures() {
        let catalog = Catalog::bundled();
        for preset in catalog.presets.iter().filter(|p| p.id.contains("lora") || p.id.contains("scratch")) {
            let project = Project::from_preset(preset, &catalog);
            let Ok(advice) = advise(&project, &catalog) else { continue };
            let drawn = front(&advice.plans);
            for dot in drawn.best.iter().chain(&drawn.others) {
                assert!((0.0..=100.0).contains(&dot.x) && (0.0..=100.0).contains(&dot.y), "{}: {dot:?}", preset.id);
            }
            for mark in drawn.hours.iter().chain(&drawn.money) {
                assert!((0.0..=100.0).contains(&mark.at), "{}: {mark:?}", preset.id);
            }
            let gpu = catalog.gpu("rtx-3090").unwrap();
            let r = rent_or_buy(&project, gpu, 1, Some(3.0), &catalog).unwrap();
            let drawn = curve(&r);
            assert!(drawn.lines.len() >= 2 && drawn.lines.len() == drawn.ends.len());
            for (_, line) in &drawn.lines {
                for pair in line.split_whitespace() {
                    let (x, y) = pair.split_once(',').unwrap();
                    let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
                    assert!((0.0..=WIDTH).contains(&x) && (0.0..=HEIGHT).contains(&y), "{pair}");
                }
            }
        }
        assert_eq!(amounts(0.3, 5000.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(amounts(0.023, 0.098), [0.05]);
        assert_eq!(amounts(0.3, 7.0), [0.5, 1.0, 2.0, 5.0]);
        assert_eq!(rounds(1040.0), [0.0, 500.0, 1000.0]);
        assert_eq!(rounds(90.0), [0.0, 25.0, 50.0, 75.0]);
    }
}
