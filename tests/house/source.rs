//! Rust source as tokens: comments are gone, strings are literals, and paths can be read off.

use std::fs;
use std::path::Path;
use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A string in the source.
pub(crate) struct Literal {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// One file of the library.
#[derive(Clone)]
pub(crate) struct File {
    /// From the root of the project: `src/estimate/mod.rs`.
    pub(crate) path: String,
    /// The modules it stands for: `["estimate", "engine"]`; empty for the crate itself.
    modules: Vec<String>,
    tokens: TokenStream,
}

impl File {
    /// Every file of Rust in a folder and below.
    pub(crate) fn all_in(source: &Path) -> Vec<Self> {
        let mut files = Vec::new();
        collect(source, source, &mut files);
        files
    }

    /// A file of this text, `inside` the folder of the source.
    pub(crate) fn of(inside: &Path, text: &str) -> Self {
        let path = format!("src/{}", inside.display());
        let tokens = TokenStream::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
        let modules = inside.with_extension("");
        let mut modules: Vec<String> =
            modules.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        modules.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
        Self { path, modules, tokens }
    }

    /// The room it lies in; none for `lib.rs` and `main.rs`.
    pub(crate) fn room(&self) -> Option<String> {
        self.modules.first().cloned()
    }

    /// The same without modules and items that are compiled for tests only.
    pub(crate) fn outside_tests(&self) -> Self {
        Self { tokens: without_tests(self.tokens.clone()), ..self.clone() }
    }

    /// The rooms that it names by a path from the crate's root, each with its line.
    pub(crate) fn rooms_used(&self) -> Vec<(String, usize)> {
        let mut used = Vec::new();
        for (path, line, depth) in self.paths_with_depth() {
            let mut parts = path.split("::").peekable();
            let from_root = match parts.peek() {
                Some(&"crate" | &"enough_gpu") => parts.next().is_some(),
                Some(&"super") => {
                    let mut up = 0;
                    while parts.next_if_eq(&"super").is_some() {
                        up += 1;
                    }
                    up == depth
                }
                _ => false,
            };
            if let (true, Some(room)) = (from_root, parts.next()) {
                used.push((room.to_owned(), line));
            }
        }
        used
    }

    /// The paths that it names (`a::b::c`, a group `a::{b, c}` unfolded), each with its line.
    pub(crate) fn paths(&self) -> Vec<(String, usize)> {
        self.paths_with_depth().into_iter().map(|(path, line, _)| (path, line)).collect()
    }

    fn paths_with_depth(&self) -> Vec<(String, usize, usize)> {
        let mut paths = Vec::new();
        read_paths(self.tokens.clone(), "", self.modules.len(), &mut paths);
        paths
    }

    /// The strings in it, but for those of documentation and other attributes.
    pub(crate) fn literals(&self) -> Vec<Literal> {
        let mut literals = Vec::new();
        read_literals(self.tokens.clone(), &mut literals);
        literals
    }
}

fn collect(folder: &Path, source: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("a folder of the source").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, source, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a file of the source");
            files.push(File::of(path.strip_prefix(source).expect("a file below src"), &text));
        }
    }
}

fn is_punctuation(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == sign)
}

/// Reads `::`-separated paths. `before` is the path that a group `{...}` continues.
fn read_paths(tokens: TokenStream, before: &str, depth: usize, paths: &mut Vec<(String, usize, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Group(group) => read_paths(group.stream(), "", depth, paths),
            TokenTree::Ident(name) if *name == "mod" && is_block(tokens.get(at + 2)) => {
                if let Some(TokenTree::Group(body)) = tokens.get(at + 2) {
                    read_paths(body.stream(), "", depth + 1, paths);
                }
                at += 2;
            }
            TokenTree::Ident(first) => {
                let line = first.span().start().line;
                let mut path = if before.is_empty() { first.to_string() } else { format!("{before}::{first}") };
                let mut group = None;
                while is_punctuation(tokens.get(at + 1), ':') && is_punctuation(tokens.get(at + 2), ':') {
                    match tokens.get(at + 3) {
                        Some(TokenTree::Ident(next)) => {
                            path = format!("{path}::{next}");
                            at += 3;
                        }
                        Some(TokenTree::Group(found)) if found.delimiter() == Delimiter::Brace => {
                            group = Some(found.stream());
                            at += 3;
                            break;
                        }
                        _ => break,
                    }
                }
                match group {
                    Some(group) => read_paths(group, &path, depth, paths),
                    None => paths.push((path, line, depth)),
                }
            }
            _ => {}
        }
        at += 1;
    }
}

fn is_block(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
}

/// Leaves out what follows `#[cfg(test)]` or `#[test]`, up to the end of that item.
fn without_tests(tokens: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let attribute = match (&token, rest.peek()) {
            (TokenTree::Punct(sign), Some(TokenTree::Group(group))) if sign.as_char() == '#' => {
                group.stream().to_string().replace(' ', "")
            }
            _ => String::new(),
        };
        if attribute == "cfg(test)" || attribute == "test" {
            let ends = |token: &TokenTree| is_block(Some(token)) || is_punctuation(Some(token), ';');
            // The attribute's own brackets are no block, so this stops at the item's body.
            let _ = rest.by_ref().find(ends);
        } else if let TokenTree::Group(group) = &token {
            let inner = proc_macro2::Group::new(group.delimiter(), without_tests(group.stream()));
            kept.push(TokenTree::Group(inner));
        } else {
            kept.push(token);
        }
    }
    kept.into_iter().collect()
}

fn read_literals(tokens: TokenStream, literals: &mut Vec<Literal>) {
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        match token {
            TokenTree::Punct(sign) if sign.as_char() == '#' => {
                let _ = rest.next_if(|next| is_punctuation(Some(next), '!'));
                let is_attribute = |next: &TokenTree| matches!(next, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
                let _ = rest.next_if(is_attribute);
            }
            TokenTree::Group(group) => read_literals(group.stream(), literals),
            TokenTree::Literal(literal) => {
                let (text, line) = (literal.to_string(), literal.span().start().line);
                if text.contains('"') {
                    let text = text.trim_matches(|sign| sign == '"' || sign == 'r' || sign == '#').to_owned();
                    literals.push(Literal { text, line });
                }
            }
            _ => {}
        }
    }
}
