//! How a training is started.

use super::{Hints, Reading, Text};

/// Reads command lines, arguments and files of settings.
pub fn read(_text: &Text, _hints: Hints<'_>, _reading: &mut Reading) {}
