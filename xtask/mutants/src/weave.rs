//! Puts many changes into one source, each behind a switch: compiled once, tried one by one.

use crate::list::{Genre, Mutant, Place};
use proc_macro2::Span;
use std::collections::BTreeMap;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, Attribute, BinOp, Block, Expr, ExprBinary, ExprStruct, ExprUnary, Signature};

/// A source with its changes.
pub struct Woven {
    pub text: String,
    /// What was put around an expression, by its place in `text`, and which changes it holds.
    around: Vec<(Range<usize>, Vec<usize>)>,
    /// Which changes have found their place.
    pub placed: Vec<usize>,
}

impl Woven {
    /// The changes that an error at this place of the text comes from: of the innermost expression around it.
    pub fn at(&self, place: usize) -> &[usize] {
        let holds = self.around.iter().filter(|(range, _)| range.contains(&place));
        holds.min_by_key(|(range, _)| range.len()).map_or(&[], |(_, ids)| ids)
    }
}

/// Text to be put before `start` and after `end` of an expression, with parts of it left out.
struct Edit {
    range: Range<usize>,
    open: String,
    close: Vec<Piece>,
    /// What is replaced inside.
    inside: Vec<(Range<usize>, String)>,
    ids: Vec<usize>,
}

/// A piece of text, and the change that it is.
struct Piece(String, Option<usize>);

impl Piece {
    fn plain(text: impl Into<String>) -> Self {
        Self(text.into(), None)
    }
}

type Wanted<'a> = BTreeMap<Place, Vec<(usize, &'a Mutant)>>;

/// Weaves the changes, numbered, into the source they are of. Those at places that cannot hold a switch (constants, macros)
/// are left out.
pub fn weave(source: &str, mutants: &[(usize, &Mutant)]) -> Result<Woven, String> {
    let file = syn::parse_file(source).map_err(|error| error.to_string())?;
    let mut wanted = Wanted::new();
    for (id, mutant) in mutants {
        wanted.entry(mutant.span.start).or_default().push((*id, mutant));
    }
    let mut finder = Finder { source, wanted, edits: Vec::new() };
    finder.visit_file(&file);
    Ok(assemble(source, &finder.edits))
}

struct Finder<'a> {
    source: &'a str,
    wanted: Wanted<'a>,
    edits: Vec<Edit>,
}

fn on(id: usize) -> String {
    format!("crate::mutant::on({id})")
}

/// `if on(1) { one } else if on(2) { two } else { as it is }`.
fn choice(options: &[(usize, String)], else_: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (id, text) in options {
        pieces.push(Piece::plain(format!("if {} {{ ", on(*id))));
        pieces.push(Piece(text.clone(), Some(*id)));
        pieces.push(Piece::plain(" } else "));
    }
    pieces.push(Piece::plain(format!("{{ {else_} }}")));
    pieces
}

impl Finder<'_> {
    fn at(&self, span: Span, genre: Genre) -> Vec<(usize, String)> {
        let start = span.start();
        let place = Place { line: start.line, column: start.column + 1 };
        let found = self.wanted.get(&place).into_iter().flatten().filter(|(_, mutant)| mutant.genre == genre);
        found.map(|(id, mutant)| (*id, mutant.replacement.clone())).collect()
    }

    fn text(&self, span: Span) -> &str {
        self.source.get(span.byte_range()).unwrap_or_default()
    }

    fn edit(
        &mut self,
        span: Span,
        open: &str,
        close: Vec<Piece>,
        inside: Vec<(Range<usize>, String)>,
        ids: Vec<usize>,
    ) {
        self.edits.push(Edit { range: span.byte_range(), open: open.to_owned(), close, inside, ids });
    }

    fn binary(&mut self, e: &ExprBinary) -> bool {
        let options = self.at(e.op.span(), Genre::BinaryOperator);
        if options.is_empty() {
            return true;
        }
        let ids = options.iter().map(|(id, _)| *id).collect();
        let (left, right) = (e.left.span().byte_range(), e.right.span().byte_range());
        let (between, op) = (left.end..right.start, self.text(e.op.span()).to_owned());
        let option = |(id, new): &(usize, String)| (*id, format!("__l {new} __r"));
        match e.op {
            BinOp::And(_) | BinOp::Or(_) => {
                let same = matches!(e.op, BinOp::And(_));
                let other = if same { "||" } else { "&&" };
                let Some((id, _)) = options.iter().find(|(_, new)| new == other) else { return true };
                if has_let(&e.left) || has_let(&e.right) {
                    return true;
                }
                let asked = if same { "!=" } else { "==" };
                let then = format!("; if __l {asked} {} {{ ", on(*id));
                self.edit(
                    e.span(),
                    "({ let __l: bool = ",
                    vec![Piece::plain(" } else { __l } })")],
                    vec![(between, then)],
                    vec![*id],
                );
            }
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                let mut close = vec![Piece::plain(")) { (__l, __r) => ")];
                close.extend(choice(&options.iter().map(option).collect::<Vec<_>>(), &format!("__l {op} __r")));
                close.push(Piece::plain(" })"));
                self.edit(e.span(), "(match (&(", close, vec![(between, "), &(".to_owned())], ids);
            }
            _ if op.ends_with('=') => {
                let place = self.text(e.left.span()).to_owned();
                let option = |(id, new): &(usize, String)| (*id, format!("{place} {new} __r;"));
                let mut close = vec![Piece::plain(") { __r => ")];
                close.extend(choice(&options.iter().map(option).collect::<Vec<_>>(), &format!("{place} {op} __r;")));
                close.push(Piece::plain(" }"));
                self.edit(e.span(), "match (", close, vec![(left.start..right.start, String::new())], ids);
                self.visit_expr(&e.right);
                return false;
            }
            _ => {
                let mut close = vec![Piece::plain(") { (__l, __r) => ")];
                close.extend(choice(&options.iter().map(option).collect::<Vec<_>>(), &format!("__l {op} __r")));
                close.push(Piece::plain(" })"));
                self.edit(e.span(), "(match (", close, vec![(between, ", ".to_owned())], ids);
            }
        }
        true
    }

    fn body(&mut self, signature: &Signature, block: &Block) -> bool {
        if signature.constness.is_some() {
            return false;
        }
        let Some(first) = block.stmts.first() else { return true };
        let options = self.at(first.span(), Genre::FnValue);
        if !options.is_empty() {
            let start = first.span().byte_range().start;
            let mut pieces = Vec::new();
            for (id, value) in &options {
                pieces.push(Piece::plain(format!("if {} {{ ", on(*id))));
                pieces.push(Piece(format!("return {value};"), Some(*id)));
                pieces.push(Piece::plain(" } "));
            }
            let ids = options.iter().map(|(id, _)| *id).collect();
            self.edits.push(Edit { range: start..start, open: String::new(), close: pieces, inside: Vec::new(), ids });
        }
        true
    }
}

/// Whether an expression binds names (`if let .. && ..`): it can stand nowhere else.
fn has_let(e: &Expr) -> bool {
    match e {
        Expr::Let(_) => true,
        Expr::Binary(e) => has_let(&e.left) || has_let(&e.right),
        _ => false,
    }
}

fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| a.path().is_ident("test") || a.path().is_ident("cfg"))
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    // No switch can be looked at where the compiler works a value out.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}

    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}

    fn visit_type(&mut self, _: &'ast syn::Type) {}

    fn visit_pat(&mut self, _: &'ast syn::Pat) {}

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !for_tests(&item.attrs) && self.body(&item.sig, &item.block) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if self.body(&item.sig, &item.block) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_expr_repeat(&mut self, e: &'ast syn::ExprRepeat) {
        self.visit_expr(&e.expr);
    }

    fn visit_expr_binary(&mut self, e: &'ast ExprBinary) {
        if self.binary(e) {
            visit::visit_expr_binary(self, e);
        }
    }

    fn visit_expr_unary(&mut self, e: &'ast ExprUnary) {
        let options = self.at(e.op.span(), Genre::UnaryOperator);
        if let Some((id, _)) = options.first() {
            let op = self.text(e.op.span()).to_owned();
            let mut close = vec![Piece::plain(") { __x => ")];
            close.extend(choice(&[(*id, "__x".to_owned())], &format!("{op}__x")));
            close.push(Piece::plain(" })"));
            let inside = vec![(e.op.span().byte_range(), String::new())];
            self.edit(e.span(), "(match (", close, inside, vec![*id]);
        }
        visit::visit_expr_unary(self, e);
    }

    fn visit_expr_struct(&mut self, e: &'ast ExprStruct) {
        if let Some(rest) = &e.rest {
            let base = match self.text(rest.span()) {
                "Default::default()" => format!("<{} as Default>::default()", self.text(e.path.span())),
                other => format!("({other})"),
            };
            for field in &e.fields {
                let Some((id, _)) = self.at(field.span(), Genre::StructField).into_iter().next() else { continue };
                let name = self.text(field.member.span()).to_owned();
                let open = if field.colon_token.is_some() { String::new() } else { format!("{name}: ") };
                let open = format!("{open}if !{} {{ ", on(id));
                let close =
                    vec![Piece::plain(" } else { "), Piece(format!("{base}.{name}"), Some(id)), Piece::plain(" }")];
                let span = field.expr.span();
                self.edit(span, &open, close, Vec::new(), vec![id]);
            }
        }
        visit::visit_expr_struct(self, e);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        let left_out = self.at(arm.span(), Genre::MatchArm).into_iter().next();
        match &arm.guard {
            Some((_, guard)) if !has_let(guard) => {
                let options = self.at(guard.span(), Genre::MatchArmGuard);
                let mut ids: Vec<usize> = options.iter().map(|(id, _)| *id).collect();
                let mut open = String::new();
                if let Some((id, _)) = left_out {
                    ids.push(id);
                    open = format!("!{} && ", on(id));
                }
                for (id, value) in &options {
                    // `on(1) || guard`, `!on(2) && guard`.
                    let switch =
                        if value == "true" { format!("({} || ", on(*id)) } else { format!("(!{} && ", on(*id)) };
                    open.push_str(&switch);
                }
                let close = ")".repeat(options.len() + 1);
                if !ids.is_empty() {
                    self.edit(guard.span(), &format!("{open}("), vec![Piece::plain(close)], Vec::new(), ids);
                }
            }
            None => {
                if let Some((id, _)) = left_out {
                    let end = arm.pat.span().byte_range().end;
                    let close = vec![Piece::plain(format!(" if !{}", on(id)))];
                    self.edits.push(Edit {
                        range: end..end,
                        open: String::new(),
                        close,
                        inside: Vec::new(),
                        ids: vec![id],
                    });
                }
            }
            Some(_) => {}
        }
        visit::visit_arm(self, arm);
    }
}

/// What happens at a place of the source, in this order.
enum Event {
    Close(usize),
    Replace(usize, String),
    Open(usize),
}

fn assemble(source: &str, edits: &[Edit]) -> Woven {
    // Expressions are found from the outside in: at one place inner ones close first and open last.
    let mut events: Vec<(usize, u8, isize, Event)> = Vec::new();
    for (n, edit) in edits.iter().enumerate() {
        let order = isize::try_from(n).unwrap_or(isize::MAX);
        events.push((edit.range.start, 2, order, Event::Open(n)));
        // What stands between two tokens is put there, nothing is around it.
        let rank = u8::from(edit.range.is_empty());
        events.push((edit.range.end, rank, -order, Event::Close(n)));
        for (range, text) in &edit.inside {
            events.push((
                range.start,
                if range.start == edit.range.start { 3 } else { 1 },
                order,
                Event::Replace(range.end, text.clone()),
            ));
        }
    }
    events.sort_by_key(|(place, rank, order, _)| (*place, *rank, *order));
    let (mut text, mut done, mut opened) = (String::with_capacity(source.len() * 2), 0, vec![0; edits.len()]);
    let (mut around, mut placed) = (Vec::new(), Vec::new());
    for (place, _, _, event) in events {
        if place > done {
            text.push_str(source.get(done..place).unwrap_or_default());
            done = place;
        }
        match event {
            Event::Open(n) => {
                if let (Some(at), Some(edit)) = (opened.get_mut(n), edits.get(n)) {
                    *at = text.len();
                    text.push_str(&edit.open);
                }
            }
            Event::Replace(end, new) => {
                text.push_str(&new);
                done = done.max(end);
            }
            Event::Close(n) => {
                let (Some(at), Some(edit)) = (opened.get(n), edits.get(n)) else { continue };
                for Piece(piece, id) in &edit.close {
                    let start = text.len();
                    text.push_str(piece);
                    if let Some(id) = id {
                        around.push((start..text.len(), vec![*id]));
                    }
                }
                around.push((*at..text.len(), edit.ids.clone()));
                placed.extend(&edit.ids);
            }
        }
    }
    text.push_str(source.get(done..).unwrap_or_default());
    Woven { text, around, placed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Span;

    fn woven(source: &str, changes: &[(usize, Genre, &str)]) -> String {
        let mutants: Vec<Mutant> = changes
            .iter()
            .map(|(column, genre, replacement)| Mutant {
                file: String::new(),
                genre: *genre,
                name: String::new(),
                replacement: (*replacement).to_owned(),
                span: Span { start: Place { line: 1, column: *column } },
            })
            .collect();
        weave(source, &mutants.iter().enumerate().collect::<Vec<_>>()).map(|w| w.text).unwrap_or_default()
    }

    #[test]
    fn operators_inside_operators() {
        let text = woven(
            "fn f(a: u8) -> u8 { a * 2 + a }",
            &[(23, Genre::BinaryOperator, "/"), (27, Genre::BinaryOperator, "-"), (21, Genre::FnValue, "1")],
        );
        assert_eq!(
            text,
            "fn f(a: u8) -> u8 { if crate::mutant::on(2) { return 1; } (match ((match (a, 2) { (__l, __r) => if \
             crate::mutant::on(0) { __l / __r } else { __l * __r } }), a) { (__l, __r) => if crate::mutant::on(1) { \
             __l - __r } else { __l + __r } }) }"
        );
    }

    #[test]
    fn logic_stays_lazy_and_guards_are_switched() {
        assert_eq!(
            woven(
                "fn f(a: bool, b: bool) -> bool { a && !b }",
                &[(36, Genre::BinaryOperator, "||"), (39, Genre::UnaryOperator, "")]
            ),
            "fn f(a: bool, b: bool) -> bool { ({ let __l: bool = a; if __l != crate::mutant::on(0) { (match (b) { __x => \
             if crate::mutant::on(1) { __x } else { !__x } }) } else { __l } }) }"
        );
        assert_eq!(
            woven(
                "fn f(a: u8) -> u8 { match a { 1 if t() => 2, 3 => 4, _ => 5 } }",
                &[(36, Genre::MatchArmGuard, "true"), (36, Genre::MatchArmGuard, "false"), (46, Genre::MatchArm, ""),]
            ),
            "fn f(a: u8) -> u8 { match a { 1 if (crate::mutant::on(0) || (!crate::mutant::on(1) && (t()))) => 2, 3 if \
             !crate::mutant::on(2) => 4, _ => 5 } }"
        );
    }
}
