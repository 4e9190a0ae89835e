//! What leaves the page by the person's own hand: the link, the saved file, the frame for another page.

use super::{Lang, Message, both, featured, fields, labels, say};
use crate::catalog::Catalog;
use crate::project::Project;
use crate::project::link::{Unread, Why};

/// The line for the parts of a link that are not told one by one.
pub fn unread_more(lang: Lang, more: usize) -> String {
    say!(lang, "还有 {more} 处没看懂", "{more} more that were not understood")
}

/// The sentence for a part of a link that was not understood.
pub fn unread(lang: Lang, part: &Unread, catalog: &Catalog) -> String {
    let (key, value) = (shortened(&part.key), &shortened(&part.value));
    let why = &part.why;
    let part = if value.is_empty() { key } else { format!("{key}={value}") };
    match why {
        Why::Key => say!(lang, "{part}：没有这一项", "{part}: there is no such setting"),
        Why::Value => say!(lang, "{part}：不能这样写", "{part}: it does not go here"),
        Why::Field(field, error) => {
            let sentence = fields::error(lang, *field, error, value, catalog);
            say!(lang, "{part}：{sentence}", "{part}: {sentence}")
        }
    }
}

/// What a link says, as far as it needs to be seen to be found again.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Signs of a link that are quoted.
const LONGEST_QUOTE: usize = 40;

/// The name of a project, for the saved file and the title of a frame.
pub fn project_name(lang: Lang, project: &Project, catalog: &Catalog) -> String {
    if let Some(name) = featured::name(&project.preset) {
        return name.text(lang).to_string();
    }
    if let Some(preset) = catalog.preset(&project.preset) {
        return lang.pick(preset.name_zh, preset.name_en).to_string();
    }
    let model = catalog.model(&project.model);
    let model = model.map_or_else(|| labels::PROJECT_OWN.text(lang).to_string(), |m| super::model_called(lang, m));
    let method = super::choice(lang, crate::project::Field::Method, crate::project::Choice::id(project.method));
    format!("{model} {method}")
}

/// The name of the saved file: nothing that a file system refuses.
pub fn file_name(lang: Lang, project: &Project, catalog: &Catalog) -> String {
    let name = project_name(lang, project, catalog);
    let name: String = name.chars().map(|c| if "\\/:*?\"<>|".contains(c) { ' ' } else { c }).collect();
    format!("{} - {}.html", labels::TITLE.text(lang), name.trim())
}

/// The address of the page, where it is not known: opened from a file.
pub const SOMEWHERE: &str = "https://example.org/enough-gpu/";

/// What keeps settings of a frame as they are, as an example.
pub const LOCK: &str = "&lock=model,method";

/// A frame for another page. `address` ends in its link.
pub fn frame(lang: Lang, address: &str, name: &str) -> String {
    let title = format!("{} · {name}", labels::TITLE.text(lang)).replace('&', "&amp;").replace('"', "&quot;");
    let address = address.replace('&', "&amp;").replace('"', "&quot;");
    format!(
        "<iframe class=\"enough-gpu\" src=\"{address}\" title=\"{title}\"\n  width=\"100%\" height=\"640\" loading=\"lazy\" \
         style=\"border:0\"></iframe>"
    )
}

/// The script that gives every such frame the height it asks for.
pub const RESIZER: &str = r#"<script>
  addEventListener("message", (event) => {
    if (event.data?.type !== "enough-gpu") return;
    for (const frame of document.querySelectorAll("iframe.enough-gpu")) {
      if (frame.contentWindow === event.source) frame.height = event.data.height;
    }
  });
</script>"#;

/// Where the frame goes in what people write blogs with.
pub const HOSTS: &[(&str, Message)] = &[
    (
        "Hugo",
        both!(
            "放进 layouts/shortcodes/enough-gpu.html，文章里写 {{< enough-gpu >}}。直接贴在 Markdown 里要先打开 markup.goldmark.renderer.unsafe。",
            "Put it into layouts/shortcodes/enough-gpu.html and write {{< enough-gpu >}} in the post. Pasted into Markdown it needs markup.goldmark.renderer.unsafe."
        ),
    ),
    (
        "Jekyll",
        both!("直接贴进 Markdown，上下各空一行。", "Paste it into the Markdown, with an empty line above and below."),
    ),
    (
        "WordPress",
        both!(
            "加一个“自定义 HTML”区块，贴进去。WordPress.com 的免费版不放行 iframe，改放链接。",
            "Add a Custom HTML block and paste it there. Free WordPress.com plans remove frames: place the link instead."
        ),
    ),
    (
        "Notion",
        both!(
            "输入 /embed，只贴 src 里的地址，再把框拉到合适的高度。",
            "Type /embed and paste only the address from src, then drag the frame to its height."
        ),
    ),
];
