//! What a model is made of.

use super::{Hints, Reading, Text};

/// Reads a model's file in text form.
pub fn read(_text: &Text, _hints: Hints<'_>, _reading: &mut Reading) {}

/// Reads the beginning of a binary file of weights; `None` where it is none.
pub fn read_binary(_bytes: &[u8], _hints: Hints<'_>) -> Option<Reading> {
    None
}
