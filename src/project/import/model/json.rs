//! JSON as people paste it: cut off, with remarks, as Python prints it, with a name before it. Never refuses: what cannot
//! be read is passed over. A strict parser would say no to most of what stands in a clipboard, and one that says no is
//! also the larger download.

/// Deepest nesting that is followed.
const DEEPEST: usize = 48;

/// A value with the place where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::project::import) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    /// Key, value, and the byte at which the key stands.
    Map(Vec<(String, Json, usize)>),
}

impl Json {
    /// The first `{...}` of a text; `None` where there is none.
    pub(in crate::project::import) fn find(text: &str) -> Option<Self> {
        let at = text.find('{')?;
        Some(Parser { text, at }.value(0))
    }

    pub(in crate::project::import) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|(value, _)| value)
    }

    /// A value and the place of its key.
    pub(in crate::project::import) fn entry(&self, key: &str) -> Option<(&Self, usize)> {
        let Self::Map(entries) = self else { return None };
        entries.iter().find(|(known, ..)| known == key).map(|(_, value, at)| (value, *at))
    }

    pub(in crate::project::import) fn entries(&self) -> &[(String, Json, usize)] {
        if let Self::Map(entries) = self { entries } else { &[] }
    }

    pub(in crate::project::import) fn list(&self) -> &[Json] {
        if let Self::List(items) = self { items } else { &[] }
    }

    pub(in crate::project::import) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// A whole number above zero that a size can be.
    pub(in crate::project::import) fn size(&self) -> Option<u64> {
        match self {
            Self::Number(n) if *n >= 1.0 && *n < 1e15 => Some(*n as u64),
            _ => None,
        }
    }

    pub(in crate::project::import) fn flag(&self) -> Option<bool> {
        if let Self::Bool(on) = self { Some(*on) } else { None }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Passes over white space, commas and remarks.
    fn skip(&mut self) {
        while let Some(sign) = self.peek() {
            let rest = self.text.get(self.at..).unwrap_or_default();
            if sign == b'#' || rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if sign.is_ascii_whitespace() || sign == b',' {
                self.at += 1;
            } else {
                break;
            }
        }
    }

    fn value(&mut self, depth: usize) -> Json {
        self.skip();
        match self.peek() {
            Some(b'{' | b'[' | b'(') if depth >= DEEPEST => {
                // Deeper than anything that is meant: the rest is left.
                self.at = self.text.len();
                Json::Null
            }
            Some(b'{') => self.map(depth),
            Some(b'[' | b'(') => self.items(depth),
            Some(b'"' | b'\'') => Json::Text(self.quoted()),
            Some(_) => self.word(),
            None => Json::Null,
        }
    }

    fn map(&mut self, depth: usize) -> Json {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            self.skip();
            let at = self.at;
            let key = match self.peek() {
                None => break,
                Some(b'}') => {
                    self.at += 1;
                    break;
                }
                Some(b'"' | b'\'') => self.quoted(),
                Some(sign) if sign.is_ascii_alphanumeric() || sign == b'_' => self.bare().to_owned(),
                Some(_) => {
                    self.step();
                    continue;
                }
            };
            self.skip();
            if matches!(self.peek(), Some(b':' | b'=')) {
                self.at += 1;
                let value = self.value(depth + 1);
                entries.push((key, value, at));
            }
        }
        Json::Map(entries)
    }

    fn items(&mut self, depth: usize) -> Json {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip();
            match self.peek() {
                Some(b']' | b')') => {
                    self.at += 1;
                    break;
                }
                // The list was cut, or what holds it ends.
                None | Some(b'}') => break,
                Some(_) => {
                    let before = self.at;
                    items.push(self.value(depth + 1));
                    if self.at == before {
                        self.step();
                    }
                }
            }
        }
        Json::List(items)
    }

    /// Goes on by one sign.
    fn step(&mut self) {
        self.at += self.text.get(self.at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
    }

    fn quoted(&mut self) -> String {
        let quote = self.peek().unwrap_or(b'"') as char;
        self.at += 1;
        let mut read = String::new();
        let mut signs = self.text.get(self.at..).unwrap_or_default().char_indices();
        while let Some((at, sign)) = signs.next() {
            if sign == quote {
                self.at += at + 1;
                return read;
            }
            if sign == '\\' {
                match signs.next() {
                    Some((_, 'n')) => read.push('\n'),
                    Some((_, other)) => read.push(other),
                    None => {}
                }
            } else {
                read.push(sign);
            }
        }
        self.at = self.text.len();
        read
    }

    fn bare(&mut self) -> &str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest.find(|c: char| c.is_whitespace() || ",:=]})[({\"'".contains(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn word(&mut self) -> Json {
        let word = self.bare();
        let read = match word {
            "true" | "True" => Json::Bool(true),
            "false" | "False" => Json::Bool(false),
            "null" | "None" | "" => Json::Null,
            number => match crate::units::decimal::read(number) {
                Some(n) if n.is_finite() => Json::Number(n),
                _ => Json::Text(word.to_owned()),
            },
        };
        if read == Json::Null && self.peek().is_some_and(|sign| b":=".contains(&sign)) {
            self.step();
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_paste_is_read() {
        for (text, key, number) in [
            (r#"{"a": 1, "b": {"c": [1, 2.5e3]}}"#, "a", Some(1)),
            ("LlamaConfig {\n  \"a\": 4096,\n  // remark\n  \"b\": [1, 2", "a", Some(4096)),
            ("{'x': None, 'a': 7, 'y': (1, 2), }", "a", Some(7)),
            (r#"{"x": "a \" } ,", "a": 3"#, "a", Some(3)),
            ("{a: 5}", "a", Some(5)),
            (r#"{"a": null, "b" 4, ], "c"}"#, "a", None),
        ] {
            let read = Json::find(text).unwrap();
            assert_eq!(read.get(key).and_then(Json::size), number, "{text}");
        }
        assert_eq!(Json::find("nothing"), None);
    }
}
