//! What was applied to a project, and the way back.

use super::FixKind;
use crate::catalog::Catalog;
use crate::project::{CustomModel, CustomNetwork, Field, Project, fields, link};

/// Fixes that were applied together, with the project before and after.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    kinds: Vec<FixKind>,
    before: Project,
    after: Project,
}

/// Fixes that were applied, the latest last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes(Vec<Change>);

impl Changes {
    /// Remembers that `before` became `after`.
    pub fn push(&mut self, kinds: Vec<FixKind>, before: Project, after: Project) {
        self.0.push(Change { kinds, before, after });
    }

    /// Takes the latest back: `now` with every setting that it changed as it was before. What was edited since stays.
    pub fn undo(&mut self, now: &Project, catalog: &Catalog) -> Option<Project> {
        let Change { before, after, .. } = self.0.pop()?;
        if after == *now {
            return Some(before);
        }
        let mut back = now.clone();
        if subject(&before) != subject(&after) {
            back.model.clone_from(&before.model);
            back.custom.clone_from(&before.custom);
            back.network.clone_from(&before.network);
        }
        for field in changed(&before, &after).filter(|field| holds(*field, &after, now)) {
            // What no longer goes with the rest stays as it is.
            let _ = fields::set(&mut back, field, &fields::get(&before, field), catalog);
        }
        Some(back)
    }

    /// Forgets what an edit left nothing of, from the latest back, and everything where the model was changed: the
    /// settings are then another training's. Tells whether it forgot.
    pub fn follow(&mut self, project: &Project) -> bool {
        let many = self.0.len();
        if self.0.last().is_some_and(|change| subject(&change.after) != subject(project)) {
            self.0.clear();
        }
        while self.0.last().is_some_and(|c| !changed(&c.before, &c.after).any(|field| holds(field, &c.after, project)))
        {
            self.0.pop();
        }
        self.0.len() != many
    }

    /// Whether there is nothing to take back.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What was changed each time, the latest last; nothing where it is what somebody pasted.
    pub fn kinds(&self) -> impl Iterator<Item = &[FixKind]> {
        self.0.iter().map(|change| change.kinds.as_slice())
    }
}

/// What is trained.
fn subject(project: &Project) -> (&str, Option<&CustomModel>, Option<&CustomNetwork>) {
    (&project.model, project.custom.as_ref(), project.network.as_ref())
}

/// The settings that differ.
fn changed<'a>(before: &'a Project, after: &'a Project) -> impl Iterator<Item = Field> + 'a {
    let fields = link::KEYS.iter().map(|(_, field)| *field).filter(|field| *field != Field::Preset);
    fields.filter(|field| !holds(*field, before, after))
}

/// Whether a setting is the same in both.
fn holds(field: Field, one: &Project, other: &Project) -> bool {
    fields::get(one, field) == fields::get(other, field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::Optimizer;

    #[test]
    fn a_fix_is_taken_back_after_an_edit_and_the_edit_stays() {
        let catalog = Catalog::bundled();
        let first = Project { model: "qwen2.5-7b".to_owned(), micro_batch: 8, ..Project::default() };
        let second = Project { micro_batch: 2, accumulation: 4, ..first.clone() };
        let third = Project { optimizer: Optimizer::AdamW8bit, ..second.clone() };
        let mut changes = Changes::default();
        changes.push(Vec::new(), first.clone(), second.clone());
        changes.push(Vec::new(), second, third.clone());
        let edited = Project { samples: 77, ..third };
        assert!(!changes.follow(&edited));
        let back = changes.undo(&edited, &catalog).unwrap_or_default();
        assert_eq!((back.optimizer, back.micro_batch, back.samples), (first.optimizer, 2, 77));
        assert!(!changes.follow(&back));
        let back = changes.undo(&back, &catalog).unwrap_or_default();
        assert_eq!(back, Project { samples: 77, ..first });
        assert!(changes.is_empty());
    }

    #[test]
    fn what_was_edited_away_or_is_of_another_model_is_forgotten() {
        let before = Project { model: "qwen2.5-7b".to_owned(), micro_batch: 8, ..Project::default() };
        let after = Project { micro_batch: 2, ..before.clone() };
        let mut changes = Changes::default();
        changes.push(Vec::new(), before.clone(), after.clone());
        assert!(changes.clone().follow(&Project { micro_batch: 3, ..after.clone() }));
        assert!(changes.clone().follow(&Project { model: "qwen2.5-3b".to_owned(), ..after.clone() }));
        assert!(!changes.follow(&Project { epochs: 9.0, ..after }));
    }
}
