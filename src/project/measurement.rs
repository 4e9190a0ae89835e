//! What a run really took.

use super::Meter;
use super::number::{self, Kilo};
use crate::units::{Bytes, GIB};

/// A figure that somebody read from a meter when a project ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The peak on one card.
    pub peak: Bytes,
    /// What it was read from.
    pub meter: Meter,
}

/// The largest that a meter shows: far above the memory of any card.
const MOST_GIB: f64 = 100_000.0;

impl Measurement {
    /// Reads what was typed: `13.6`, `13.6 GiB`, `13.6G`, `14,231 MiB`, and what `nvidia-smi` shows: `13926MiB / 16380MiB`.
    /// A bare number counts as GiB, above a thousand as MiB.
    ///
    /// ```
    /// use enough_gpu::project::{Measurement, Meter};
    /// use enough_gpu::units::Bytes;
    ///
    /// let read = |text| Measurement::read(text, Meter::Smi).map(|m| m.peak);
    /// assert_eq!(read("13.6"), Some(Bytes::from_gib(13.6)));
    /// assert_eq!(read("13926MiB / 16380MiB"), Some(Bytes::from_mib(13926)));
    /// assert_eq!(read("a lot"), None);
    /// ```
    pub fn read(text: &str, meter: Meter) -> Option<Self> {
        let text = text.split('/').next().unwrap_or_default().trim().to_ascii_lowercase();
        let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (digits, unit) = text.split_at_checked(end)?;
        let value = number::parse(digits, Kilo::Thousand).ok().filter(|n| n.is_finite() && *n > 0.0)?;
        let gib = match unit.trim() {
            "" if value < 1000.0 => value,
            "" if value < 1e7 => value / 1024.0,
            "g" | "gb" | "gib" => value,
            "m" | "mb" | "mib" => value / 1024.0,
            "" | "b" | "bytes" => value / GIB as f64,
            _ => return None,
        };
        (gib <= MOST_GIB).then(|| Self { peak: Bytes::from_gib(gib), meter })
    }

    /// The peak in GiB, as it is written: three decimals and no zeros behind.
    pub fn gib(&self) -> f64 {
        (self.peak.gib() * 1000.0).round() / 1000.0
    }
}
