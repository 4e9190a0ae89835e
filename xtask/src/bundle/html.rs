//! A document as text, changed at the few places that are known. No parser: the document is the project's own.

use crate::shell::Outcome;

/// Stands between the styles of the first drawing and those of the page that has started.
const STARTED: &str = "<!-- started -->";

/// The text of a document.
pub(super) struct Html(String);

/// An element found in the text: where it lies, its opening tag and what stands in it.
pub(super) struct Element<'a> {
    start: usize,
    end: usize,
    pub(super) tag: &'a str,
    pub(super) content: &'a str,
}

impl Html {
    pub(super) fn new(text: &str) -> Self {
        // As a browser reads it, so that hashes are of what it sees.
        Self(text.replace("\r\n", "\n"))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }

    /// The elements of a name whose content is raw text: `script`, `style`.
    pub(super) fn elements(&self, name: &str) -> Vec<Element<'_>> {
        let (open, close) = (format!("<{name}"), format!("</{name}>"));
        let mut found = Vec::new();
        let mut from = 0;
        while let Some(start) = self.0[from..].find(&open).map(|at| from + at) {
            let Some(inside) = self.0[start..].find('>').map(|at| start + at + 1) else { break };
            let Some(until) = self.0[inside..].find(&close).map(|at| inside + at) else { break };
            let end = until + close.len();
            found.push(Element { start, end, tag: &self.0[start..inside], content: &self.0[inside..until] });
            from = end;
        }
        found
    }

    /// Removes `<link>` elements that name one of these files.
    pub(super) fn remove_links_to(&mut self, files: &[String]) {
        let mut from = 0;
        while let Some(start) = self.0[from..].find("<link").map(|at| from + at) {
            let Some(end) = self.0[start..].find('>').map(|at| start + at + 1) else { break };
            if names(&self.0[start..end], files) {
                self.0.replace_range(start..end, "");
                from = start;
            } else {
                from = end;
            }
        }
    }

    /// Removes scripts that name one of these files.
    pub(super) fn remove_scripts_with(&mut self, files: &[String]) {
        let ranges: Vec<_> = self
            .elements("script")
            .into_iter()
            .filter(|script| names(script.tag, files) || names(script.content, files))
            .map(|script| script.start..script.end)
            .collect();
        for range in ranges.into_iter().rev() {
            self.0.replace_range(range, "");
        }
    }

    /// Makes one style sheet of all before the mark `<!-- started -->`, in their order, where the first one stands. Those
    /// behind it go out of the document, and are returned as one: only a page that has started needs them.
    pub(super) fn merge_styles(&mut self) -> String {
        let mark = self.0.find(STARTED).unwrap_or(self.0.len());
        let (first, later): (Vec<_>, Vec<_>) = self.elements("style").into_iter().partition(|style| style.start < mark);
        let sheet = |styles: &[Element<'_>]| styles.iter().map(|style| tight(style.content)).collect::<String>();
        let (sheet, rest) = (format!("<style>{}</style>", sheet(&first)), sheet(&later));
        let ranges: Vec<_> = first.iter().chain(&later).map(|style| style.start..style.end).collect();
        for (at, range) in ranges.into_iter().enumerate().rev() {
            self.0.replace_range(range, if at == 0 { &sheet } else { "" });
        }
        self.0 = self.0.replacen(STARTED, "", 1);
        rest
    }

    /// Leaves out the space before lines, empty lines, and comments of scripts.
    pub(super) fn remove_margins(&mut self) {
        let lines = self.0.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        self.0 = lines.collect::<Vec<_>>().join("\n");
    }

    /// Adds at the end of the body.
    pub(super) fn append_to_body(&mut self, text: &str) -> Outcome<()> {
        let end =
            self.0.rfind("</body>").ok_or("index.html has no </body>: write it, the page's code goes before it.")?;
        self.0.insert_str(end, text);
        Ok(())
    }

    /// Puts the policy behind the character set, before anything it is to govern.
    pub(super) fn put_policy(&mut self, policy: &str) -> Outcome<()> {
        let missing = "index.html has no <meta charset>: write it first in the head, the policy goes behind it.";
        let start = self.0.find("<meta charset").ok_or(missing)?;
        let end = self.0[start..].find('>').ok_or(missing)? + start + 1;
        self.0.insert_str(end, &format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">"));
        Ok(())
    }
}

fn names(text: &str, files: &[String]) -> bool {
    files.iter().any(|file| text.contains(file.as_str()))
}

/// A style sheet without comments and without the space that means nothing. In quotes nothing is changed; a space before
/// a colon or a bracket stays, because it may stand between two elements.
fn tight(sheet: &str) -> String {
    let mut out = String::with_capacity(sheet.len());
    let mut rest = sheet;
    let mut quote = None;
    while let Some(sign) = rest.chars().next() {
        if quote.is_none()
            && let Some(comment) = rest.strip_prefix("/*")
        {
            rest = comment.split_once("*/").map_or("", |(_, after)| after);
            continue;
        }
        rest = &rest[sign.len_utf8()..];
        match quote {
            Some(end) if end == sign => quote = None,
            None if matches!(sign, '"' | '\'') => quote = Some(sign),
            None if sign.is_ascii_whitespace() => {
                let before = out.ends_with(|last: char| "{};,: ".contains(last)) || out.is_empty();
                let after = rest.trim_start().starts_with(|next: char| "{};,".contains(next));
                if !before && !after {
                    out.push(' ');
                }
                continue;
            }
            None if sign == '}' && out.ends_with(';') => drop(out.pop()),
            _ => {}
        }
        out.push(sign);
    }
    out.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::tight;

    #[test]
    fn space_that_means_nothing_goes() {
        let sheet = "/* why */\na :is(b, c) > d,\n.e {\n  content: \"a  ; /* b */\";\n  margin: 0 calc(1px + 2px);\n}\n\n@media print {\n  f {\n    g: h;\n  }\n}\n";
        let expected = "a :is(b,c) > d,.e{content:\"a  ; /* b */\";margin:0 calc(1px + 2px)}@media print{f{g:h}}";
        assert_eq!(tight(sheet), expected);
    }
}
