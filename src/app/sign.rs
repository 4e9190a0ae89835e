//! The sign beside every verdict: a shape, so that it does not depend on colour.

use crate::text::Tone;
use leptos::prelude::*;

/// The id of a tone, as it stands in `data-tone`.
pub(super) const fn tone_id(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Tight => "tight",
        Tone::Bad => "bad",
        Tone::Open => "open",
    }
}

/// Check, wave, cross or dot in a filled circle.
pub(super) fn sign(tone: Tone) -> AnyView {
    let path = match tone {
        Tone::Good => "M5.2 10.4l3.2 3.2 6.4-7",
        Tone::Tight => "M4.8 11.4c1.7-3 3.4-3 5.2-1.4s3.5 1.6 5.2-1.4",
        Tone::Bad => "M6.2 6.2l7.6 7.6M13.8 6.200l-7.6 7.6",
        Tone::Open => "M10 9.2v5.2M10 5.8v.1",
    };
    view! {
        <svg class="sign" data-tone=tone_id(tone) viewBox="0 0 20 20" aria-hidden="true">
            <circle cx="10" cy="10" r="10" />
            <path d=path />
        </svg>
    }
    .into_any()
}
