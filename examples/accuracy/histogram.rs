//! Signed errors as histograms.

use crate::pages::svg;
use crate::scoring::case::{Domain, Scored};
use crate::scoring::report::quantile;
use crate::{Answers, name};

/// A histogram to draw: its errors in percent, how far its axis reaches, how wide a bar is.
struct Histogram {
    title: String,
    errors: Vec<f64>,
    reach: f64,
    bar: f64,
    /// Half-width of the band that the page shows, in percent.
    band: Option<f64>,
}

/// File of the histogram of a domain's traced or measured cases.
pub(crate) fn file(measured: bool, domain: Domain) -> String {
    format!("accuracy/{}-{}.svg", if measured { "measured" } else { "traced" }, name(domain))
}

/// The middle of the bands that are shown for these runs, in percent.
fn band(rows: &[&Scored]) -> Option<f64> {
    let mut bands: Vec<f64> = rows.iter().filter_map(|s| Some(s.figures.as_ref().ok()?.band? * 100.0)).collect();
    bands.sort_by(f64::total_cmp);
    quantile(&bands, 0.5)
}

/// All pictures with their files.
pub(crate) fn all(answers: &Answers) -> Vec<(String, String)> {
    let errors = |rows: &[&Scored]| rows.iter().filter_map(|s| s.error()).collect::<Vec<f64>>();
    let mut pictures = Vec::new();
    for domain in Domain::ALL {
        for measured in [false, true] {
            let rows = if measured { answers.measured(domain, false) } else { answers.traced(domain) };
            let (reach, bar) = if measured { (60.0, 5.0) } else { (10.0, 1.0) };
            let kind = if measured { "measured runs on one card" } else { "traced steps" };
            let band = if measured { band(&rows) } else { None };
            let histogram =
                Histogram { title: format!("{}, {kind}", name(domain)), errors: errors(&rows), reach, bar, band };
            if !histogram.errors.is_empty() {
                pictures.push((format!("docs/{}", file(measured, domain)), histogram.picture()));
            }
        }
    }
    pictures
}

impl Histogram {
    fn picture(&self) -> String {
        const LEFT: f64 = 40.0;
        const WIDTH: f64 = 640.0;
        const TOP: f64 = 44.0;
        const HEIGHT: f64 = 150.0;
        let half = (self.reach / self.bar).round() as usize;
        // The outermost bars hold everything beyond.
        let mut bars = vec![0u32; 2 * half + 2];
        for error in &self.errors {
            let at = (error / self.bar).floor() + half as f64 + 1.0;
            if let Some(bar) = bars.get_mut(at.clamp(0.0, (2 * half + 1) as f64) as usize) {
                *bar += 1;
            }
        }
        let highest = f64::from(bars.iter().copied().max().unwrap_or(1).max(1));
        let pitch = WIDTH / bars.len() as f64;
        let x = |error: f64| LEFT + (error / self.bar + half as f64 + 1.0) * pitch;
        let y = |count: f64| TOP + HEIGHT * (1.0 - count / highest);
        let mut body = svg::text(LEFT, 22.0, "strong", &format!("{}: {} cases", self.title, self.errors.len()));
        if let Some(band) = self.band {
            body += &svg::rectangle("band", x(-band), TOP, x(band) - x(-band), HEIGHT);
        }
        for (k, count) in bars.iter().enumerate().filter(|(_, count)| **count > 0) {
            let left = LEFT + k as f64 * pitch;
            let count = f64::from(*count);
            body += &svg::rectangle("activations", left + 1.0, y(count), pitch - 2.0, TOP + HEIGHT - y(count));
            body += &svg::text(left + pitch / 2.0, y(count) - 4.0, "middle", &format!("{count}"));
        }
        body += &svg::line("rule", (LEFT, TOP + HEIGHT), (LEFT + WIDTH, TOP + HEIGHT));
        body += &svg::line("rule", (x(0.0), TOP), (x(0.0), TOP + HEIGHT));
        for quarter in -2i32..=2 {
            let error = f64::from(quarter) * self.reach / 2.0;
            body += &svg::text(x(error), TOP + HEIGHT + 18.0, "middle", &format!("{error:+} %"));
        }
        body += &svg::text(LEFT, TOP + HEIGHT + 38.0, "", "estimated less than it was");
        body += &svg::text(LEFT + WIDTH, TOP + HEIGHT + 38.0, "end", "estimated more than it was");
        let description = format!(
            "Histogram of signed errors in bars of {} %; the first and last bar hold everything beyond {} %.",
            self.bar, self.reach
        );
        svg::picture(720, 248, &self.title, &description, &body)
    }
}
