//! Scoring of estimates against known cases.

pub(crate) mod architecture;
pub(crate) mod engine;
pub(crate) mod oracle;
pub(crate) mod table;
