//! Sizes as people write them: `512 in + 512 out`, `1333x800`, `short side 640-800, max 1333`, `480p-area, 81 frames`.

/// All numbers of a text in order, with the text that follows each. Digits that end a word (`wmt16`) are no number.
fn numbers(text: &str) -> Vec<(f64, &str)> {
    let mut found = Vec::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if c.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let (digits, after) = rest.split_at(end);
            if !before.is_alphabetic() || before == 'x' {
                found.extend(digits.trim_end_matches('.').parse::<f64>().ok().map(|value| (value, after)));
            }
            end
        } else {
            c.len_utf8()
        };
        before = c;
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

/// Tokens of a sample: `2048 cap` is 2048, `512 in + 512 out` their sum, `192 + 192 mem` is 192 (the memory is not
/// trained through).
pub(crate) fn tokens(text: &str) -> Option<u64> {
    let found = numbers(text);
    let (first, _) = *found.first()?;
    let sum: f64 = if text.contains('+') {
        found.iter().filter(|(_, after)| !after.trim_start().starts_with("mem")).map(|(v, _)| v).sum()
    } else {
        first
    };
    (sum >= 1.0).then_some(sum as u64)
}

/// A picture or a clip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Picture {
    /// Side of the square with the same area.
    pub(crate) side: u64,
    /// Frames.
    pub(crate) frames: u64,
}

/// Size of a picture, or of a clip of frames.
pub(crate) fn picture(text: &str) -> Option<Picture> {
    // What stands in brackets is a remark: `512x512 (page: 1024x1024)`.
    let text = text.split('(').next().unwrap_or_default();
    let found = numbers(text);
    let frames = found.iter().find(|(_, after)| after.trim_start().starts_with("frame")).map(|(v, _)| *v);
    // SimpleTuner's `resolution_type: pixel_area`: any shape with the area of such a square.
    if text.contains("480p-area") {
        return square(480.0, 480.0, frames);
    }
    if text.contains("480p") {
        return square(832.0, 480.0, frames);
    }
    if text.contains("720p") {
        return square(1280.0, 720.0, frames);
    }
    let values: Vec<f64> = found.iter().map(|(v, _)| *v).collect();
    let crosses = found.iter().filter(|(_, after)| after.starts_with(['x', '\u{d7}'])).count();
    match (crosses, values.as_slice()) {
        // Frames, height, width; or the three sides of a medical volume.
        (2, [f, h, w, ..]) => square(*h, *w, Some(*f)),
        (1, [w, h, ..]) => square(*w, *h, frames),
        // The longest sides set the peak: `short side 640-800, max 1333`.
        (_, many) if text.contains("multi-scale") => {
            // Detection's usual longest side is five thirds of the short one (800 and 1333).
            let short = many.iter().copied().fold(0.0, f64::max);
            let long = short * 5.0 / 3.0;
            // Pictures are put together by their shape, upright or flat; a crop has another shape than its picture, so
            // an upright and a flat one meet in a batch and are filled up to a square.
            if text.contains("crop") { square(long, long, None) } else { square(short, long, None) }
        }
        (_, many) if text.contains("side") || text.contains('-') || text.contains("max") => {
            let mut sides: Vec<f64> = many.iter().copied().filter(|v| *v >= 16.0).collect();
            sides.sort_by(f64::total_cmp);
            match sides.as_slice() {
                [.., short, long] => square(*short, *long, None),
                [only] => square(*only, *only, None),
                [] => None,
            }
        }
        (_, [side, ..]) => square(*side, *side, frames),
        _ => None,
    }
}

fn square(width: f64, height: f64, frames: Option<f64>) -> Option<Picture> {
    let side = (width * height).sqrt().round();
    (side >= 1.0).then_some(Picture { side: side as u64, frames: frames.unwrap_or(1.0).max(1.0) as u64 })
}

/// Seconds of sound in a sample.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    // Samples a second of LJSpeech, which the audio cases without a rate were trained on.
    const RATE: f64 = 22_050.0;
    // The longest clip of LJSpeech is 10.1 s; batches are padded to their longest clip.
    const LJSPEECH: f64 = 10.0;
    if text.contains("LJSpeech") {
        return Some(LJSPEECH);
    }
    let (value, after) = *numbers(text).first()?;
    let seconds = if after.trim_start().starts_with("sample") { value / RATE } else { value };
    (seconds > 0.0).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_as_written() {
        let cases = [
            ("2048", Some(2048)),
            ("512 in + 512 out", Some(1024)),
            ("192 + 192 mem", Some(192)),
            ("2048 cap, 12 frames <=50176 px", Some(2048)),
            ("8192 not packed", Some(8192)),
            ("wmt16 buckets", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn pictures_as_written() {
        let cases = [
            ("224", Some((224, 1))),
            ("512x512 (page: 1024x1024)", Some((512, 1))),
            ("short side 640-800, max 1333", Some((1033, 1))),
            ("1333x800", Some((1033, 1))),
            ("480p-area, 81 frames", Some((480, 81))),
            ("49x480x720", Some((588, 49))),
            ("480-800 multi-scale", Some((1033, 1))),
            ("480-800 multi-scale, crop", Some((1333, 1))),
            ("", None),
            ("full CT volume", None),
        ];
        for (text, expected) in cases {
            assert_eq!(picture(text).map(|p| (p.side, p.frames)), expected, "{text}");
        }
    }
}
