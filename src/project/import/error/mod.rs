//! Memory ran out: messages of frameworks, and the traceback above them.

use super::{Hints, Reading, Text};
use crate::units::Bytes;

/// What a message says of the memory that ran out. Amounts are as printed; `None` where it does not say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryError {
    /// Asked for.
    pub tried: Option<Bytes>,
    /// The device's total.
    pub capacity: Option<Bytes>,
}

/// Reads an error.
pub fn read(_text: &Text, _hints: Hints<'_>, _reading: &mut Reading) {}
