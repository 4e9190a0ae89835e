//! What the page knows: the project, what was typed, and everything that follows from them.

use crate::advise::{self, Advice, Changes, FixKind};
use crate::catalog::Catalog;
use crate::estimate::CannotEstimate;
use crate::project::link::Unread;
use crate::project::{
    Applied, Field, FieldError, Kind, Project, Relevant, Typed, apply, fields, priced_card, relevant,
};
use crate::text::{self, Answer, Lang, Message, featured};
use crate::units::{Currency, Date, Few};
use gloo::timers::callback::Timeout;
use leptos::prelude::*;
use std::sync::LazyLock;

/// What works the answer out. The page has one; tests bring their own.
#[derive(Clone, Copy)]
pub struct Engine {
    /// What exists.
    pub catalog: &'static Catalog,
    /// From a project to its advice.
    pub advise: fn(&Project, &Catalog) -> Result<Advice, CannotEstimate>,
}

impl Default for Engine {
    fn default() -> Self {
        static BUNDLED: LazyLock<Catalog> = LazyLock::new(Catalog::bundled);
        Self { catalog: &BUNDLED, advise: advise::advise }
    }
}

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Ink on paper.
    Light,
    /// Paper on ink.
    Dark,
}

/// The page as a frame of another page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// It is the compact form.
    pub embed: bool,
    /// Fields that stay as the link says.
    pub locked: Vec<Field>,
}

/// The signals of the page.
#[derive(Clone, Copy)]
pub struct Page {
    /// Language.
    pub lang: RwSignal<Lang>,
    /// Colours.
    pub theme: RwSignal<Theme>,
    /// The last valid project.
    pub project: RwSignal<Project>,
    /// Texts as typed, by field, where they differ from what the project would show.
    pub typed: RwSignal<Typed>,
    /// What is wrong, by field.
    pub errors: RwSignal<Few<Field, FieldError>>,
    /// Fixes applied, the latest last.
    pub changes: RwSignal<Changes>,
    /// Values that were read from what somebody pasted, by field.
    pub pasted: RwSignal<Few<Field, String>>,
    /// What its link said that was not understood.
    pub unread: RwSignal<Vec<Unread>>,
    /// The field that was typed into last, where nothing else was done since.
    pub typing: StoredValue<Option<Field>>,
    /// The value that the field being typed into had before.
    before: StoredValue<Option<(Field, String)>>,
    /// What was typed last is not part of the project yet; it will be when this is over.
    pending: StoredValue<Option<Timeout>, LocalStorage>,
    /// Whether and how it stands in another page.
    pub frame: StoredValue<Frame>,
    /// What the person measured.
    pub own: super::measured::Own,
    /// The advice for the project.
    pub advice: Memo<Result<Advice, CannotEstimate>>,
    /// The advice in words.
    pub answer: Memo<Answer>,
    /// The fields that matter.
    pub relevant: Memo<Relevant>,
    /// What exists.
    pub catalog: &'static Catalog,
    /// The day on which the page was opened.
    pub today: Date,
}

impl Page {
    /// A page with the project it opens with.
    pub fn new(engine: Engine) -> Self {
        let lang = RwSignal::new(Lang::default());
        let project = RwSignal::new(opening(engine.catalog));
        let Engine { catalog, advise } = engine;
        let advice = Memo::new(move |_| project.with(|p| advise(p, catalog)));
        let answer = Memo::new(move |_| project.with(|p| advice.with(|a| text::answer(lang.get(), p, a, catalog))));
        Self {
            lang,
            theme: RwSignal::new(Theme::Light),
            project,
            typed: RwSignal::default(),
            errors: RwSignal::default(),
            changes: RwSignal::default(),
            pasted: RwSignal::default(),
            unread: RwSignal::default(),
            typing: StoredValue::default(),
            before: StoredValue::default(),
            pending: StoredValue::new_local(None),
            frame: StoredValue::default(),
            own: super::measured::Own::new(),
            advice,
            answer,
            relevant: Memo::new(move |_| project.with(|p| relevant(p, catalog))),
            catalog,
            today: super::money::today(),
        }
    }

    /// A fixed text in the language of the moment.
    pub fn t(self, message: Message) -> impl Fn() -> &'static str + Copy + Send + 'static {
        move || message.text(self.lang.get())
    }

    /// The mark of a price that was read long ago.
    pub fn old_price(self, lang: Lang, as_of: &str) -> Option<AnyView> {
        let mark = text::old_price(lang, as_of, Some(self.today))?;
        Some(view! { <span class="tag old" title=text::OLD_PRICE.text(lang)>{mark}</span> }.into_any())
    }

    /// The text a field shows: what was typed, else the value.
    pub fn shown(self, field: Field) -> String {
        self.typed.with(|t| t.get(&field).cloned()).unwrap_or_else(|| self.project.with(|p| fields::get(p, field)))
    }

    /// The sentence at a field that is wrong.
    pub fn error(self, field: Field) -> Option<String> {
        self.errors.with(|errors| {
            let error = errors.get(&field)?;
            let raw = self.typed.with(|t| t.get(&field).cloned()).unwrap_or_default();
            Some(text::error(self.lang.get(), field, error, &raw, self.catalog))
        })
    }

    /// Takes a keystroke in a field: its text at once, what follows from it in a task of its own. A browser hands over
    /// the keystrokes of one burst together, and one answer to the last of them is enough.
    pub fn type_into(self, field: Field, raw: String) {
        if self.typing.get_value() != Some(field) {
            self.take_up();
        }
        // What stood there before the first keystroke stands in for a value that is none.
        if self.before.with_value(|b| b.as_ref().is_none_or(|(of, _)| *of != field)) {
            self.before.set_value(Some((field, self.project.with_untracked(|p| fields::get(p, field)))));
        }
        self.typing.set_value(Some(field));
        self.typed.update(|t| {
            t.insert(field, raw);
        });
        if self.pending.with_value(Option::is_none) {
            self.pending.set_value(Some(Timeout::new(0, move || self.take_up())));
        }
    }

    /// Takes what was typed last into the project, where that has not been done.
    fn take_up(self) {
        // The page may be gone by now.
        if self.pending.try_with_value(Option::is_some) != Some(true) {
            return;
        }
        self.pending.set_value(None);
        let Some(field) = self.typing.get_value() else { return };
        self.settle(&self.project.get_untracked());
        let number = matches!(fields::kind(field), Kind::Number(_));
        if number && self.errors.with_untracked(|e| e.contains_key(&field)) {
            let mut last = self.project.get_untracked();
            let held = self.before.get_value();
            if held.is_some_and(|(_, value)| fields::set(&mut last, field, &value, self.catalog).is_ok()) {
                self.settle(&last);
            }
        }
    }

    /// The field is left, or its value confirmed: the next keystroke begins another edit.
    pub fn leave(self) {
        self.take_up();
        self.before.set_value(None);
    }

    /// Takes a choice: an option, a switch, a row of the catalog.
    pub fn choose(self, field: Field, id: &str) {
        self.take_up();
        let mut next = self.project.get_untracked();
        if fields::set(&mut next, field, id, self.catalog).is_ok() {
            self.typed.update(|t| {
                t.remove(&field);
            });
            self.replace(&next);
        } else {
            self.type_into(field, id.to_string());
            self.take_up();
        }
    }

    /// Chooses a card and how many of it, set as its row in the list was worked out.
    pub fn choose_card(self, id: &str, count: u32) {
        self.take_up();
        let choice = self.advice.with_untracked(|a| {
            let cards = a.as_ref().map(|a| a.cards.as_slice()).unwrap_or_default();
            cards.iter().find(|c| c.gpu == id && c.count == count).cloned()
        });
        let now = self.project.get_untracked();
        if let Some(next) = choice.and_then(|choice| advise::on_choice(&now, &choice, self.catalog)) {
            self.replace(&next);
        }
    }

    /// Applies a changed project, and remembers the way back.
    pub fn apply_fix(self, kinds: Vec<FixKind>, after: Project) {
        self.take_up();
        if !self.allows(&after) {
            return;
        }
        let before = self.project.get_untracked();
        self.replace(&after);
        self.changes.update(|c| c.push(kinds, before, after));
    }

    /// Takes the latest fix back.
    pub fn undo(self) {
        self.take_up();
        let now = self.project.get_untracked();
        let Some(before) = self.changes.write().undo(&now, self.catalog) else { return };
        let rest = self.changes.get_untracked();
        self.replace(&before);
        self.changes.set(rest);
    }

    /// Opens a project as a link tells it.
    pub fn open(self, project: Project) {
        self.pending.set_value(None);
        self.typed.set(Typed::new());
        self.errors.set(Few::new());
        self.changes.set(Changes::default());
        self.pasted.set(Few::new());
        self.typing.set_value(None);
        self.leave();
        self.project.set(project);
    }

    /// Whether a field stays as it is.
    pub fn is_locked(self, field: Field) -> bool {
        self.frame.with_value(|f| f.locked.contains(&field))
    }

    /// Whether a project leaves the locked fields as they are.
    pub fn allows(self, next: &Project) -> bool {
        let same = |field: &Field| self.project.with_untracked(|p| fields::get(p, *field) == fields::get(next, *field));
        self.frame.with_value(|f| f.locked.iter().all(same))
    }

    /// Puts another project in place, where it leaves the locked fields alone; texts stay where their field did not change.
    fn replace(self, next: &Project) {
        self.leave();
        self.typing.set_value(None);
        let before = self.project.get_untracked();
        if !self.allows(next) {
            return;
        }
        // A price that was typed belongs to its card.
        let same_card = priced_card(&before) == priced_card(next);
        let stays = |field: Field| same_card || !matches!(field, Field::PriceRent | Field::PriceNew | Field::PriceUsed);
        self.typed.update(|t| t.retain(|f, _| stays(*f) && fields::get(&before, *f) == fields::get(next, *f)));
        self.settle(next);
    }

    fn settle(self, base: &Project) {
        let Applied { project, errors } = apply(base, &self.typed.get_untracked(), self.catalog);
        if self.errors.with_untracked(|e| *e != errors) {
            self.errors.set(errors);
        }
        if self.project.with_untracked(|p| *p != project) {
            self.changes.maybe_update(|c| c.follow(&project));
            self.project.set(project);
        }
    }
}

/// The page of this view.
pub(super) fn page() -> Page {
    use_context().unwrap_or_else(|| Page::new(Engine::default()))
}

fn opening(catalog: &Catalog) -> Project {
    let preset = catalog.preset(featured::OPENING).or(catalog.presets.first());
    preset.map_or_else(Project::default, |p| Project::from_preset(p, catalog))
}

/// The currency that people of a language mostly pay in.
pub(super) const fn usual_currency(lang: Lang) -> Currency {
    match lang {
        Lang::Zh => Currency::Cny,
        Lang::En => Currency::Usd,
    }
}
