//! What a text was found to say.

use super::card::ListedCard;
use super::error::MemoryError;
use super::text::clipped;
use crate::catalog::Catalog;
use crate::project::link::{Link, Unread};
use crate::project::{Field, FieldError, Hardware, Parallel, Project, Sharding, fields, link};

/// What kind of text it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TextKind {
    /// Memory ran out.
    Error,
    /// A listing of cards.
    Cards,
    /// What a model is made of.
    Model,
    /// How a training is started.
    Script,
    /// A sentence in somebody's own words.
    Sentence,
    /// Nothing that is known here.
    #[default]
    Unknown,
}

/// The place in the text that something was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Line, counted from 1; 0 where the text has no lines (a binary file, the browser).
    pub line: usize,
    /// What stands there, clipped.
    pub text: String,
}

impl Piece {
    /// A piece of a line.
    pub fn new(line: usize, text: &str) -> Self {
        Self { line, text: clipped(text.trim()) }
    }
}

/// How a value follows from the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// It is likely by what else stands there: a function in a traceback.
    Implied,
    /// It stands there.
    Stated,
}

/// A setting that the text tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Key of the share link, as `model`, `batch`, `tied`.
    pub key: &'static str,
    /// Value as in the share link.
    pub value: String,
    /// How sure it is.
    pub basis: Basis,
    /// Where it was read.
    pub from: Piece,
}

impl Found {
    /// The field of the form, where it is one.
    pub fn field(&self) -> Option<Field> {
        link::field_of(self.key)
    }
}

/// What is to be known about a reading beside its values.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// The text is longer than what is read: bytes read and bytes there.
    Cut {
        /// Read.
        read: usize,
        /// There.
        of: usize,
    },
    /// Cards of several kinds; the form takes one kind.
    SeveralKinds,
    /// A card that is one of several, by its name as printed and the ids of those.
    OneOf(String, Vec<String>),
    /// The listing numbers its cards and does not name them.
    NamesMissing,
    /// A card that the catalog does not know, by its name.
    UnknownCard(String),
    /// A model that the catalog does not know, by its name.
    UnknownModel(String),
    /// The card is one slice of a larger one (MIG).
    Slice(String),
    /// A kind of architecture that nothing here knows, by its name: computed as a decoder of today's kind.
    UnknownKind(String),
    /// Numbers of a model that the file does not give, by their names there: the usual ones stand in.
    Assumed(Vec<&'static str>),
    /// Of a model that also sees or hears, the language part alone is known.
    LanguagePartOnly,
    /// Parameters as counted in the file itself.
    Parameters(u64),
    /// Parameters from the size of the files, at two bytes each.
    ParametersOfSize(u64),
    /// A table that shows blocks and not the layers in them; what they keep is estimated.
    ShallowTable,
    /// The error is no matter of memory: the installed PyTorch has no code for this card.
    NoKernelForCard,
    /// The file's beginning is not what it should be.
    Damaged,
    /// A network without attention, or with little: nothing here describes it.
    NoAttention(String),
    /// Windows lends main memory to the card, as somebody tells it.
    SharedMemory,
    /// No model is named.
    NoModel,
    /// Answers are sampled while it trains, which nothing here counts.
    Sampling,
    /// A number of steps ends the training, not passes over the data.
    Steps(u64),
}

/// What a text was found to say. Nothing in it is applied yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// What kind of text it is.
    pub kind: TextKind,
    /// Settings, one for a key.
    pub found: Vec<Found>,
    /// Seen, but not understood.
    pub unknown: Vec<Piece>,
    /// What else is to be known.
    pub notes: Vec<Note>,
    /// The error it tells of.
    pub error: Option<MemoryError>,
    /// The cards it lists.
    pub cards: Vec<ListedCard>,
    /// It tells a whole run: what it leaves out is what its library does, and nothing of the project in the form.
    pub whole: bool,
}

impl Reading {
    /// Adds a setting. What stands there beats what is likely; of two equals the first stays.
    pub fn add(&mut self, field: Field, value: impl Into<String>, basis: Basis, from: Piece) {
        self.add_key(link::key_of(field), value, basis, from);
    }

    /// The same for a key of the share link that is no field of the form.
    pub fn add_key(&mut self, key: &'static str, value: impl Into<String>, basis: Basis, from: Piece) {
        let new = Found { key, value: value.into(), basis, from };
        match self.found.iter_mut().find(|found| found.key == key) {
            Some(old) if old.basis < basis => *old = new,
            Some(_) => {}
            None => self.found.push(new),
        }
    }

    /// The value that was found for a field.
    pub fn value(&self, field: Field) -> Option<&str> {
        let key = link::key_of(field);
        self.found.iter().find(|found| found.key == key).map(|found| found.value.as_str())
    }

    /// Says what kind of text it is, unless that is known already.
    pub fn is(&mut self, kind: TextKind) {
        if self.kind == TextKind::Unknown {
            self.kind = kind;
        }
    }

    /// Whether nothing in the text was understood.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.notes.is_empty() && self.error.is_none() && self.cards.is_empty()
    }

    /// The project with everything that was found put onto it, and what of it a field does not take. The rest of the
    /// project stays; of a whole run, its cards, prices and data.
    pub fn apply(&self, base: &Project, catalog: &Catalog) -> (Project, Vec<Unread>) {
        let blank = self.whole.then(|| self.blank(base, catalog));
        let found = self.found.iter().map(|found| (found.key, found.value.as_str()));
        let (mut project, unread) = Link::of(found).onto(blank.as_ref().unwrap_or(base), catalog);
        if let Some(steps) = self.steps() {
            let hardware = &project.hardware;
            let copies = u64::from(hardware.parallel.data(hardware.count));
            let a_step = project.micro_batch.saturating_mul(project.accumulation).saturating_mul(copies);
            let passes = steps as f64 * a_step as f64 / project.samples.max(1) as f64;
            project.epochs = ((passes * 1e3).round() / 1e3).clamp(0.001, 1e6);
        }
        (project, unread)
    }

    /// The number of steps that ends the run.
    pub fn steps(&self) -> Option<u64> {
        self.notes.iter().find_map(|note| if let Note::Steps(steps) = note { Some(*steps) } else { None })
    }

    /// A project of which nothing is said but what the text cannot know: cards, prices, how much data there is, and
    /// the model where it names none.
    fn blank(&self, base: &Project, catalog: &Catalog) -> Project {
        let named = self.value(Field::Model);
        let mut there = base.clone();
        if let Some(model) = named {
            // A name that is refused is told of where everything is put on.
            let _: Result<(), FieldError> = fields::set(&mut there, Field::Model, model, catalog);
        }
        let hardware =
            Hardware { sharding: Sharding::default(), parallel: Parallel::default(), ..base.hardware.clone() };
        let (budget, prices) = (base.budget, base.prices.clone());
        let mut blank = Project { hardware, budget, prices, ..Project::default() };
        (blank.samples, blank.epochs) = (there.samples, there.epochs);
        if named.is_none() {
            (blank.custom, blank.network) = (base.custom.clone(), base.network.clone());
            let _: Result<(), FieldError> = fields::set(&mut blank, Field::Model, &base.model, catalog);
        }
        blank
    }
}
