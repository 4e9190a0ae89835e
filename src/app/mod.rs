//! The page: one [`Page`] of signals, everything else derived from it.
//!
//! Stable `data-testid` attributes, for tests of the built page:
//!
//! | id | what |
//! | --- | --- |
//! | `lang-zh`, `lang-en`, `theme` | switches in the header |
//! | `field-FIELD` | the row of a field; FIELD is a name of `project::Field` in kebab case, as `field-micro-batch` |
//! | `input-FIELD` | its control: text input, select, checkbox or combobox |
//! | `error-FIELD`, `pasted-FIELD` | the sentence beside it when it is wrong; the mark of a value that was pasted |
//! | `list-FIELD`, `option-ID` | the open list of a combobox and its options |
//! | `answer` | the verdict card; `data-tone` is `good`, `tight`, `bad` or `open` |
//! | `answer-head`, `answer-detail`, `answer-why`, `answer-next`, `next-apply` | its parts |
//! | `memory-bar`, `memory-table`, `part-PART` | where the memory goes |
//! | `oom` | the message in `PyTorch`'s shape |
//! | `timeline` | the course of a step |
//! | `fixes`, `fix-N`, `apply-N`, `make-it-fit`, `undo` | fixes, counted from 0 |
//! | `money`, `afford`, `picks`, `pick-PICK`, `step-up` | ways to get it done |
//! | `front`, `curve`, `curve-card`, `break-even`, `one-project`, `two-years` | the pictures about money |
//! | `prices`, `why-not`, `why-not-card`, `why-not-answer`, `sides`, `sides-table`, `sides-add`, `growth` | folds below |
//! | `cards`, `card-ID-COUNT`, `choose-ID-COUNT`, `cards-all` | ranked cards |
//! | `free`, `warnings` | free notebooks, warnings about the card |
//! | `several`, `look-at`, `ways`, `way-SHARDING`, `use-SHARDING`, `plan`, `plan-apply`, `plan-undo`, `joined` | several cards |
//! | `cluster`, `cluster-tokens`, `cluster-cards`, `cluster-answer`, `cluster-apply` | pre-training |
//! | `rig`, `rig-list`, `rig-print` | a machine of one's own |
//! | `recipes`, `library-FRAMEWORK`, `file-NAME`, `copy-file-NAME`, `download-NAME` | files ready to run |
//! | `more` | the fold of the further settings |
//! | `share`, `save`, `sharing`, `share-close` | the buttons in the header and the dialog |
//! | `link`, `embed-plain`, `embed-fitting`, `copy-ID` | texts to copy in it |
//! | `unread`, `unread-close`, `full` | what a link said in vain; the way from a frame to the whole page |
//! | `door`, `door-room`, `door-close`, `door-undo`, `door-browser` | the entry for what people have at hand, what opens, the way back |
//! | `door-text`, `door-file`, `door-clear` | where it goes |
//! | `door-reading`, `door-kind`, `door-error`, `door-causes`, `door-first`, `door-cards`, `door-card-ID` | what was read of it |
//! | `door-notes`, `door-found`, `door-found-KEY`, `door-fill`, `door-unknown` | settings by their keys in the link |
//! | `runs`, `run-N` | measured runs of others, counted from 0 |
//! | `mine`, `own-peak`, `own-meter`, `own-error`, `own-compared`, `own-shared`, `own-keep`, `own-kept`, `own-export` | the person's own measurement |
//! | `moves`, `move-FIELD` | what moves the number |
//! | `live` | the polite live region |

// `#[component]` makes public items of whatever it is put on.
#![allow(unreachable_pub)]

mod address;
mod answer;
mod ask;
mod bar;
mod cards;
mod combobox;
mod door;
mod field;
mod fixes;
mod fold;
mod footer;
mod geometry;
mod header;
mod live;
mod measured;
mod money;
mod moves;
mod notices;
mod options;
mod page;
mod preferences;
mod recipes;
mod rig;
mod settings;
mod several;
mod share;
mod sign;
mod term;
mod timeline;

pub use page::{Engine, Page, Theme};

use gloo::timers::callback::Timeout;
use leptos::mount::{UnmountHandle, mount_to};
use leptos::prelude::*;
use leptos::web_sys::HtmlElement;

/// Puts the page into the document, in place of the first paint.
pub fn mount() {
    let document = leptos::prelude::document();
    let place = document.get_element_by_id("app").or_else(|| document.body().map(Into::into));
    if let Some(place) = place.and_then(|p| leptos::wasm_bindgen::JsCast::dyn_into::<HtmlElement>(p).ok()) {
        // A document that was saved when the page ran is mounted like a new one.
        place.set_inner_html("");
        mount_to(place, || app(Engine::default(), true)).forget();
    }
}

/// Puts the page into an element, in place of what is there, with an engine of the caller's choice. It leaves the
/// address and the project of the last visit alone.
pub fn mount_at(place: HtmlElement, engine: Engine) -> UnmountHandle<impl Mountable> {
    place.set_inner_html("");
    mount_to(place, move || app(engine, false))
}

fn app(engine: Engine, addressed: bool) -> impl IntoView {
    let page = Page::new(engine);
    provide_context(page);
    preferences::settle(page);
    if addressed {
        address::settle(page);
        address::follow(page);
    }
    preferences::follow(page);
    // What stands below the first screen comes after the answer, each part in a task of its own: on a slow phone the whole
    // page at once would hold up the first touch.
    let drawn = RwSignal::new(if addressed { 0 } else { PARTS });
    if addressed {
        draw_next(drawn);
    }
    view! {
        <a class="skip" href="#answer">{page.t(crate::text::labels::SKIP)}</a>
        <header::Header />
        <share::Unread />
        <main class="page" aria-busy=live::words(move || (drawn.get() < PARTS).to_string())>
            <ask::Ask />
            <settings::Settings />
            <answer::Answer />
            {after(drawn, 1, || view! { <money::Money /> }.into_any())}
            {after(drawn, 2, || view! { <cards::Cards /> }.into_any())}
            {after(drawn, 3, || view! { <several::Deeper /> }.into_any())}
            {after(drawn, PARTS, || view! { <notices::Notices /> }.into_any())}
        </main>
        <footer::Footer />
    }
}

/// Parts of the page that come after the answer.
const PARTS: u8 = 4;

/// Draws one part after the other.
fn draw_next(drawn: RwSignal<u8>) {
    Timeout::new(0, move || {
        drawn.update(|n| *n += 1);
        if drawn.get_untracked() < PARTS {
            draw_next(drawn);
        }
    })
    .forget();
}

/// A part that is there once so many are drawn.
fn after(drawn: RwSignal<u8>, number: u8, view: fn() -> AnyView) -> live::Part {
    let there = Memo::new(move |_| drawn.get() >= number);
    live::part(move || there.get().then(view).into_any())
}
