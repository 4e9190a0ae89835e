//! Programs that have been written and walked, for the variants of one project.

use super::tower::Beside;
use crate::network::Program;
use crate::network::diffusion::Latents;
use crate::network::speech::Sound;
use crate::network::vision::Pictures;
use crate::step::{self, StepConfig, StepResult, Walked};
use std::cell::RefCell;
use std::rc::Rc;

/// Variants of a project that differ in the card, in the number of cards, in accumulation, in the optimizer or in who
/// divides what share a program, and most of them its walk. For one catalog, and one project with its own model.
#[derive(Debug, Default)]
pub struct Walks(RefCell<Vec<(Key, Option<Rc<Written>>)>>);

/// A program, and what its walks came to once somebody asked.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) program: Program,
    walked: RefCell<Vec<(StepConfig, Walked)>>,
}

/// What a program depends on: the settings without those that only decide about its walk or add to it, and the input.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key {
    config: StepConfig,
    input: Input,
    /// The model's id; empty for a person's own.
    model: &'static str,
}

/// What goes in, and how the model takes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Input {
    /// Tokens. What lies beside the model, and how a library writes it: its family, and whether the head
    /// is the embedding.
    Tokens(Beside, &'static str, bool),
    Pictures(Pictures),
    Latents(Latents),
    Sound(Sound),
}

impl Walks {
    /// The program that `write` gives for these settings.
    pub(super) fn find(
        &self,
        model: &'static str,
        input: Input,
        config: &StepConfig,
        write: &dyn Fn(&StepConfig) -> Option<Program>,
    ) -> Option<Rc<Written>> {
        let key = Key { config: step::written(config), input, model };
        if let Some((_, written)) = self.0.borrow().iter().find(|(k, _)| *k == key) {
            return written.clone();
        }
        let written = write(&key.config).map(|program| Rc::new(Written { program, walked: RefCell::default() }));
        self.0.borrow_mut().push((key, written.clone()));
        written
    }
}

impl Written {
    /// The step with these settings, which are among those that the program was written for.
    pub(super) fn step(&self, config: &StepConfig) -> StepResult {
        let course = step::course(config);
        if let Some((_, walked)) = self.walked.borrow().iter().find(|(known, _)| *known == course) {
            return walked.step(&self.program, config);
        }
        let walked = step::walk(&self.program, config);
        let result = walked.step(&self.program, config);
        self.walked.borrow_mut().push((course, walked));
        result
    }
}
