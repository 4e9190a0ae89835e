//! Percent signs in addresses.

use std::fmt::Write as _;

/// Signs that stand for themselves in a query and in a fragment alike (RFC 3986, unreserved and some more).
fn is_safe(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || "-._~,:@/".contains(sign)
}

pub(super) fn encoded(value: &str) -> String {
    let mut text = String::new();
    for sign in value.chars() {
        if is_safe(sign) {
            text.push(sign);
        } else {
            let mut bytes = [0; 4];
            for byte in sign.encode_utf8(&mut bytes).bytes() {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

/// Percent signs and `+` as a browser's form writes them; what is no encoding stays as it is.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let pair = behind.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match (first, pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = behind;
            }
            (other, _) => {
                bytes.push(*other);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
