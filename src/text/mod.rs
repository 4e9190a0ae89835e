//! Every sentence the user sees, Chinese and English side by side.
//!
//! The rest of the library returns facts; the functions here put them into words. Fixed words stand in [`labels`]; a
//! sentence with figures is a function of the language and the facts. Both are written with macros that take the two
//! languages together, so that a missing translation does not compile.

mod answer;
mod beside;
mod budget;
mod cards;
mod choices;
mod compare;
mod curve;
pub mod doors;
pub mod explained;
pub mod featured;
mod fields;
mod fixes;
pub mod labels;
mod less;
pub mod measured;
mod memory;
mod money;
mod names;
mod next;
pub mod numbers;
mod offers;
mod oom;
mod partial;
pub mod recipes;
pub mod rig;
pub mod several;
pub mod share;
mod speed;
mod step;

pub use answer::{Answer, Tone, answer, cannot_estimate};
pub use beside::{at_home, beside_afford};
pub use budget::afford;
pub use cards::{
    accelerator_family, buy, buy_over, dated, free_card, free_choice, free_limits, pick, preset_group, rent, rent_over,
    rental_pick, restriction, warning, warning_detail,
};
pub use choices::choice;
pub use compare::{Line, growth, side_lines, why_not};
pub use curve::{break_even, curve_alt, curve_terms, one_project, two_years};
pub use fields::{error, field, hint, unit};
pub use fixes::{fix, fix_detail, gain, more_cards, more_fixes, pace, risk};
use less::less;
pub use memory::{method_note, moment, part, part_detail, timeline_summary, why};
pub use money::{
    OLD_PRICE, front_alt, old_price, pick_reason, plan_card, plan_cost, plan_detail, plan_way, step_up, usual_price,
};
pub use names::{card as card_called, model as model_called, says_no_gpu};
pub use next::{Action, Next, next};
pub use offers::pick_of;
pub use oom::{out_of_memory, out_of_memory_intro};

/// A language of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Lang {
    /// Simplified Chinese.
    #[default]
    Zh,
    /// English.
    En,
}

impl Lang {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Zh, Self::En];

    /// The tag for the `lang` attribute.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Zh => "zh-CN",
            Self::En => "en",
        }
    }

    /// The short id, as it is stored.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Zh => "zh",
            Self::En => "en",
        }
    }

    /// The language of a browser's tag (`zh-Hant-TW`, `en-GB`); `None` for any other.
    pub fn from_tag(tag: &str) -> Option<Self> {
        let tag = tag.to_ascii_lowercase();
        match tag.split(['-', '_']).next() {
            Some("zh") => Some(Self::Zh),
            Some("en") => Some(Self::En),
            _ => None,
        }
    }

    /// The one of two values that belongs to this language.
    pub fn pick<T>(self, zh: T, en: T) -> T {
        match self {
            Self::Zh => zh,
            Self::En => en,
        }
    }
}

/// A fixed text in both languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Chinese.
    pub zh: &'static str,
    /// English.
    pub en: &'static str,
}

impl Message {
    /// The text in one language.
    pub const fn text(self, lang: Lang) -> &'static str {
        match lang {
            Lang::Zh => self.zh,
            Lang::En => self.en,
        }
    }
}

/// Both languages of a fixed text.
macro_rules! both {
    ($zh:literal, $en:literal $(,)?) => {
        $crate::text::Message { zh: $zh, en: $en }
    };
}

/// A sentence with figures, in the language asked for.
macro_rules! say {
    ($lang:expr, $zh:literal, $en:literal $(,)?) => {
        match $lang {
            $crate::text::Lang::Zh => format!($zh),
            $crate::text::Lang::En => format!($en),
        }
    };
}

pub(crate) use {both, say};
