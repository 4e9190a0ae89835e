//! Plain SVG that reads on light and on dark paper.

use std::fmt::Write as _;

/// Colours as on the page (`style/base.css`), for light and for dark paper: names of classes with fill.
const COLOURS: [(&str, &str, &str); 7] = [
    ("weights", "#27406b", "#6283bd"),
    ("gradients", "#5c86c4", "#98b7e6"),
    ("optimizer", "#7a5ba6", "#a98ad4"),
    ("activations", "#2f9aa8", "#4fb4c0"),
    ("logits", "#c06a9e", "#d489b4"),
    ("temporaries", "#b29a63", "#c4ae7b"),
    ("overhead", "#9a958b", "#837e74"),
];

/// A picture: title and description are read out where it cannot be seen.
pub(crate) fn picture(width: u32, height: u32, title: &str, description: &str, body: &str) -> String {
    let mut light = String::new();
    let mut dark = String::new();
    for (name, on_light, on_dark) in COLOURS {
        let _ = write!(light, ".{name}{{fill:{on_light}}}");
        let _ = write!(dark, ".{name}{{fill:{on_dark}}}");
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-labelledby=\"t d\">\n<title id=\"t\">{}</title>\n<desc id=\"d\">{}</desc>\n<style>\ntext{{font:13px \
         system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica \
         Neue\",sans-serif;fill:#575146}}.strong{{font-weight:600;fill:#1e1b16}}.end{{text-anchor:end}}.middle{{\
         text-anchor:middle}}.rule{{stroke:#b9b09c;stroke-width:1;fill:none}}.faint{{stroke:#b9b09c;stroke-width:1;\
         stroke-dasharray:2 4;fill:none}}.mark{{stroke:#1e1b16;stroke-width:2;fill:#fffefb}}.band{{fill:#b9b09c;\
         fill-opacity:.25}}{light}\n@media(prefers-color-scheme:dark){{text{{fill:#b4ad9f}}.strong{{fill:#efeae0}}\
         .rule,.faint{{stroke:#6b655a}}.mark{{stroke:#efeae0;fill:#1e1b16}}{dark}}}\n</style>\n{body}</svg>\n",
        escaped(title),
        escaped(description),
    )
}

/// Text as XML has it.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A line of text; `class` may hold `strong`, `end`, `middle`.
pub(crate) fn text(x: f64, y: f64, class: &str, words: &str) -> String {
    format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>\n", escaped(words))
}

/// A line.
pub(crate) fn line(class: &str, from: (f64, f64), to: (f64, f64)) -> String {
    format!(
        "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>\n",
        from.0, from.1, to.0, to.1
    )
}

/// A rectangle.
pub(crate) fn rectangle(class: &str, x: f64, y: f64, width: f64, height: f64) -> String {
    format!("<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\n")
}

/// A step of an axis so that up to `most` of them reach `top`: 1, 2 or 5 times a power of ten.
pub(crate) fn axis_step(top: f64, most: f64) -> f64 {
    let least = (top / most).max(1e-9);
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= least).unwrap_or(least)
}
