//! What was applied to a project, and the way back.

use super::FixKind;
use crate::project::Project;

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

    /// Takes the latest back: the project as it was before it.
    pub fn undo(&mut self) -> Option<Project> {
        self.0.pop().map(|change| change.before)
    }

    /// Forgets everything where the project was edited after the latest: what was edited cannot be taken back by undoing
    /// a fix. Tells whether it forgot.
    pub fn follow(&mut self, project: &Project) -> bool {
        let edited = self.0.last().is_some_and(|change| change.after != *project);
        if edited {
            self.0.clear();
        }
        edited
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
