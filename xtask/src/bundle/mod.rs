//! Makes the page one file: what Trunk built, with everything inside and nothing to fetch.
//!
//! A page from `file://` may neither fetch wasm nor load module files. So the wasm stands in the document as text,
//! compressed, wasm-bindgen's loader is an inline module, and a policy forbids the page all else.

mod encode;
mod html;
mod loader;
mod module;
mod policy;
mod split;
mod tidy;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::shell::{Outcome, say};
use html::Html;
use module::Module;
pub use policy::sha256;
use split::Parts;

/// What starts the page: it unpacks the rest.
const START: &str = include_str!("start.js");
/// What puts the wasm together, packed with the loader and in the same module.
const JOIN: &str = include_str!("join.js");

/// Called by Trunk once a build is done (see `Trunk.toml`): release builds become one file.
pub fn by_trunk() -> Outcome<ExitCode> {
    let told = |name: &str| std::env::var(name).map_err(|_| format!("{name} is not set: `bundle` is called by Trunk."));
    if told("TRUNK_PROFILE")? == "release" {
        let html = told("TRUNK_HTML_FILE")?;
        let html = Path::new(&html).file_name().map_or_else(|| "index.html".into(), PathBuf::from);
        bundle(Path::new(&told("TRUNK_STAGING_DIR")?), &html)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Puts everything that lies in a folder into its HTML file, and removes the rest.
fn bundle(folder: &Path, html: &Path) -> Outcome<()> {
    let page = folder.join(html);
    let (loader, wasm) = (only(folder, "js")?, only(folder, "wasm")?);
    let text = fs::read_to_string(&page).map_err(|error| cannot("read", &page, &error))?;
    let script = fs::read_to_string(&loader).map_err(|error| cannot("read", &loader, &error))?;
    let code = fs::read(&wasm).map_err(|error| cannot("read", &wasm, &error))?;

    let whole = single(&text, &[name(&loader), name(&wasm)], &script, &code)?;
    fs::write(&page, &whole).map_err(|error| cannot("written", &page, &error))?;
    for part in [&loader, &wasm] {
        fs::remove_file(part).map_err(|error| cannot("remove", part, &error))?;
    }
    if let Some(left) = files(folder)?.into_iter().find(|file| *file != page) {
        return Err(format!("the page is to be one file, but the build left {} beside it.", left.display()));
    }
    let (all, gzipped) = (kilobytes(whole.len()), kilobytes(encode::gzip(whole.as_bytes())?.len()));
    say(&format!("One file: {all} kB, {gzipped} kB when a host compresses it; the same commit gives the same bytes:"));
    say(&format!("SHA-256 {}", sha256(whole.as_bytes())));
    Ok(())
}

/// The one file, from Trunk's document, the names it loads, the loader and the wasm.
fn single(document: &str, files: &[String], loader: &str, wasm: &[u8]) -> Outcome<String> {
    let mut html = Html::new(document);
    html.remove_links_to(files);
    html.remove_scripts_with(files);
    let style = html.merge_styles();
    html.remove_margins();
    let start = tight(&without_comments(START));
    if let Some(mark) = ["</script", "<!--"].iter().find(|mark| start.to_ascii_lowercase().contains(**mark)) {
        return Err(format!("start.js contains `{mark}`, which cannot stand inside a script."));
    }
    // The loader is packed with the code; `startPage` is in start.js.
    let mut module = Module::read(wasm)?;
    tidy::tidy(&mut module)?;
    let loader = without_comments(&loader::shorten(loader, &mut module)?);
    tidy::put_like_together(&mut module)?;
    let loader = format!("{}\n{loader}\nstartPage(__wbg_init, join);", tight(&without_comments(JOIN)));
    let code = encode::text(&packed(&module, &style, &loader)?);
    html.append_to_body(&format!("<script type=\"text/plain\" id=\"wasm\">{code}</script>"))?;
    html.append_to_body(&format!("<script type=\"module\">{start}</script>"))?;
    html.put_policy(&policy::of(&html, &loader, &style))?;
    if let Some(name) = files.iter().find(|name| html.text().contains(name.as_str())) {
        return Err(format!("the page still loads {name}."));
    }
    Ok(html.into_text())
}

/// The wasm with its style and loader as the fewest bytes: the number of functions, the lengths of the parts, the parts,
/// the style, a zero, the loader.
fn packed(module: &Module, style: &str, loader: &str) -> Outcome<Vec<u8>> {
    let Parts { before, after, functions, locals, opcodes, operands } = split::split(module);
    let parts = [&before, &after, &locals, &opcodes].into_iter().chain(&operands);
    let mut all = Vec::new();
    for number in [functions].into_iter().chain(parts.clone().map(Vec::len)) {
        all.extend(u32::try_from(number).map_err(|_| "the wasm is larger than 4 GB.".to_owned())?.to_le_bytes());
    }
    parts.for_each(|part| all.extend(part));
    all.extend(style.as_bytes());
    all.push(0);
    all.extend(loader.as_bytes());
    encode::lzma(&all)
}

/// A script without lines that are comments and without the space before lines. It is the loader's and the project's own:
/// no text in it runs over several lines.
fn without_comments(script: &str) -> String {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in script.lines().map(str::trim) {
        inside |= line.starts_with("/*");
        if !inside && !line.is_empty() && !line.starts_with("//") {
            lines.push(line);
        }
        inside &= !line.ends_with("*/");
    }
    lines.join("\n")
}

/// A script without the spaces that mean nothing. It is the project's own: no regular expression is in it.
fn tight(script: &str) -> String {
    const SIGNS: &str = "(){}[],;=<>?:&|!*%^\n";
    let mut out = String::with_capacity(script.len());
    let (mut quote, mut escaped) = (None, false);
    let mut rest = script.chars().peekable();
    while let Some(sign) = rest.next() {
        if quote.is_none() && sign == ' ' {
            let beside = |other: char| SIGNS.contains(other);
            if out.chars().next_back().is_some_and(beside) || rest.peek().copied().is_some_and(beside) {
                continue;
            }
        }
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if sign == '\\' => escaped = true,
            Some(end) if end == sign => quote = None,
            None if matches!(sign, '"' | '\'' | '`') => quote = Some(sign),
            _ => {}
        }
        out.push(sign);
    }
    out
}

fn files(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(|error| cannot("read", folder, &error))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// The only file of a kind in a folder.
fn only(folder: &Path, extension: &str) -> Outcome<PathBuf> {
    let mut found: Vec<PathBuf> =
        files(folder)?.into_iter().filter(|file| file.extension().is_some_and(|e| e == extension)).collect();
    match (found.pop(), found.is_empty()) {
        (Some(file), true) => Ok(file),
        (None, _) => Err(format!("the build left no .{extension} file in {}.", folder.display())),
        _ => Err(format!("the build left several .{extension} files in {}.", folder.display())),
    }
}

fn name(file: &Path) -> String {
    file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn cannot(done: &str, file: &Path, error: &std::io::Error) -> String {
    format!("{} cannot be {done}: {error}.", file.display())
}

fn kilobytes(bytes: usize) -> usize {
    bytes.div_ceil(1000)
}

#[cfg(test)]
mod tests {
    use super::single;

    const DOCUMENT: &str = "<!doctype html><html><head><meta charset=utf-8><link rel=modulepreload href=./a-1.js \
        integrity=sha384-x><link rel=icon href=\"data:image/svg+xml,%3Csvg/%3E\"><style>a{b:c}</style><style>d{e:f}\
        </style><!-- started --><style>g{h:i}</style><script>early()</script></head><body><p>first</p><script type=module>import init from './a-1.js';\
        init('./a-1_bg.wasm')</script></body></html>";

    /// A module whose code is empty.
    const WASM: &[u8] = b"\0asm\x01\0\0\0\x0a\x01\0";

    fn whole() -> String {
        let loaded = ["a-1.js".to_owned(), "a-1_bg.wasm".to_owned()];
        single(DOCUMENT, &loaded, "export default function __wbg_init() {}", WASM).expect("one file")
    }

    #[test]
    fn one_file_holds_everything_and_loads_nothing() {
        let page = whole();
        assert!(!page.contains("a-1"), "{page}");
        assert!(
            page.contains("<style>a{b:c}d{e:f}</style>") && !page.contains("g{h:i}") && page.contains("rel=icon"),
            "{page}"
        );
        assert!(page.contains("id=\"wasm\"") && page.contains("startPage"), "{page}");
    }

    #[test]
    fn the_policy_allows_what_is_inside_and_nothing_else() {
        let page = whole();
        let policy = page.split_once("Content-Security-Policy\" content=\"").expect("a policy").1;
        let policy = policy.split_once('"').expect("its end").0;
        assert!(policy.starts_with("default-src 'none'; script-src 'wasm-unsafe-eval' 'sha256-"), "{policy}");
        // Both scripts, the packed loader and both style sheets; not the wasm, which is data.
        assert_eq!(policy.matches("'sha256-").count(), 5, "{policy}");
        assert!(page.find("Content-Security-Policy") < page.find("<style"), "{page}");
    }

    #[test]
    fn the_same_parts_make_the_same_bytes() {
        assert_eq!(whole(), whole());
    }

    #[test]
    fn spaces_of_a_script_stay_where_they_mean_something() {
        let script = "const a = { b: c }, d = \"e = \\\" f\";\nif (g + +h) return i - 1;";
        assert_eq!(super::tight(script), "const a={b:c},d=\"e = \\\" f\";\nif(g + +h)return i - 1;");
    }

    #[test]
    fn comments_stay_out() {
        let script = "/**\n * What.\n */\nfunction f() {\n    // why\n    return 1; /* inline */\n}\n";
        assert_eq!(super::without_comments(script), "function f() {\nreturn 1; /* inline */\n}");
    }

    #[test]
    fn what_is_no_wasm_is_refused() {
        assert!(single(DOCUMENT, &[], "", b"").is_err());
    }
}
