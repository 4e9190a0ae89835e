//! What the comboboxes offer: groups of projects, models and cards.

use crate::catalog::{Catalog, Domain, Gpu, Model, Preset};
use crate::project::{CustomModel, Field, fields, search};
use crate::text::numbers::{counted, whole};
use crate::text::{
    Lang, accelerator_family, both, card_called, featured, labels, model_called, preset_group, says_no_gpu,
};

/// Rows shown at once; the rest is a few letters away.
const MOST: usize = 80;

/// One row of a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    /// What is set when it is chosen.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What stands behind the name.
    pub detail: String,
}

/// Rows under a heading.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    /// The heading.
    pub name: String,
    /// The rows.
    pub items: Vec<Item>,
}

/// The list for a field and a query; everything, in groups, for an empty one.
pub(super) fn groups(lang: Lang, field: Field, query: &str, catalog: &Catalog) -> Vec<Group> {
    let query = query.trim();
    let mut found = match (field, query.is_empty()) {
        (Field::Gpu | Field::PriceCard, true) => {
            let mut groups = all_cards(lang, catalog);
            if field == Field::PriceCard {
                groups.remove(0);
            }
            groups
        }
        (Field::Gpu | Field::PriceCard, false) => {
            if field == Field::Gpu && says_no_gpu(query) {
                return vec![no_cards(lang)];
            }
            let found = search::rank_gpus(query, catalog, MOST).into_iter().map(|g| card(lang, g));
            best(lang, found.collect())
        }
        (Field::Model, true) => all_models(lang, catalog),
        (Field::Model, false) => {
            let found = search::rank_models(query, catalog, MOST).into_iter().map(|m| model(lang, m));
            let mut found = best(lang, found.collect());
            found.push(own_model(lang));
            found
        }
        (_, true) => all_presets(lang, catalog),
        (_, false) => {
            let names = |p: &Preset| featured::name(p.id).map_or(["", ""], |name| [name.zh, name.en]);
            let found = search::rank_presets(query, catalog, names).into_iter().map(|p| preset(lang, p));
            best(lang, found.collect())
        }
    };
    let mut left = MOST;
    for group in &mut found {
        group.items.truncate(left);
        left -= group.items.len();
    }
    found.retain(|g| !g.items.is_empty());
    found
}

/// The id that a text left in a field means where it is no name; else the text.
pub(super) fn meant(field: Field, text: &str) -> &str {
    let none_yet = [Lang::Zh, Lang::En].iter().any(|lang| labels::CARD_NONE_CHOSEN.text(*lang) == text);
    match field {
        Field::Gpu if says_no_gpu(text) => fields::NO_GPU,
        Field::Gpu if none_yet => "",
        _ => text,
    }
}

/// The name of what is chosen.
pub(super) fn chosen(lang: Lang, field: Field, id: &str, catalog: &Catalog) -> String {
    match field {
        Field::Gpu if id == fields::NO_GPU => labels::CARD_NO_GPU.text(lang).to_string(),
        Field::Gpu | Field::PriceCard => {
            catalog.gpu(id).map_or_else(|| labels::CARD_NONE_CHOSEN.text(lang).to_string(), |g| card_called(lang, g))
        }
        Field::Model if id == fields::CUSTOM_NETWORK => labels::MODEL_NETWORK.text(lang).to_string(),
        Field::Model if id == fields::CUSTOM_MODEL => labels::MODEL_CUSTOM.text(lang).to_string(),
        Field::Model => catalog.model(id).map_or_else(String::new, |m| model_called(lang, m)),
        _ => catalog.preset(id).map_or_else(|| labels::PROJECT_OWN.text(lang).to_string(), |p| preset(lang, p).name),
    }
}

fn best(lang: Lang, items: Vec<Item>) -> Vec<Group> {
    vec![Group { name: labels::BEST_MATCHES.text(lang).to_string(), items }]
}

fn card(lang: Lang, gpu: &Gpu) -> Item {
    let name = card_called(lang, gpu);
    let memory = format!("{} GB", whole(gpu.memory.gib()));
    // Most names say their memory.
    let detail = if name.contains(&memory) { String::new() } else { memory };
    Item { id: gpu.id.to_string(), name, detail }
}

fn model(lang: Lang, model: &Model) -> Item {
    // Trees have none.
    let detail = if model.params > 0 { counted(lang, model.params as f64) } else { String::new() };
    Item { id: model.id.to_string(), name: model_called(lang, model), detail }
}

fn preset(lang: Lang, preset: &Preset) -> Item {
    let written = lang.pick(preset.name_zh, preset.name_en).to_string();
    match featured::FEATURED.iter().find(|f| f.preset == preset.id) {
        Some(f) => Item {
            id: preset.id.to_string(),
            name: f.name.text(lang).to_string(),
            detail: f.detail.text(lang).to_string(),
        },
        None => Item { id: preset.id.to_string(), name: written, detail: String::new() },
    }
}

/// Groups in the order in which their first row comes.
fn grouped<T>(rows: impl Iterator<Item = T>, heading: impl Fn(&T) -> String, item: impl Fn(&T) -> Item) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for row in rows {
        let name = heading(&row);
        let at = groups.iter().position(|g| g.name == name).unwrap_or_else(|| {
            groups.push(Group { name, items: Vec::new() });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.items.push(item(&row));
        }
    }
    groups
}

/// No card at all, or none chosen.
fn no_cards(lang: Lang) -> Group {
    let special = |id: &str, name: &str| Item { id: id.to_string(), name: name.to_string(), detail: String::new() };
    Group {
        name: labels::GROUP_NOTHING.text(lang).to_string(),
        items: vec![
            special(fields::NO_GPU, labels::CARD_NO_GPU.text(lang)),
            special("", labels::CARD_NONE_CHOSEN.text(lang)),
        ],
    }
}

fn all_cards(lang: Lang, catalog: &Catalog) -> Vec<Group> {
    let mut groups = vec![no_cards(lang)];
    groups.extend(grouped(catalog.gpus.iter(), |g| accelerator_family(g).text(lang).to_string(), |g| card(lang, g)));
    groups
}

fn own_model(lang: Lang) -> Group {
    let example = CustomModel::default();
    let detail = match lang {
        Lang::Zh => format!("层数、宽度、头数，例如 {} 层 × {}", example.layers, example.hidden),
        Lang::En => format!("layers, width, heads, such as {} x {}", example.layers, example.hidden),
    };
    Group {
        name: labels::GROUP_OWN.text(lang).to_string(),
        items: vec![
            Item { id: fields::CUSTOM_MODEL.to_string(), name: labels::MODEL_CUSTOM.text(lang).to_string(), detail },
            Item {
                id: fields::CUSTOM_NETWORK.to_string(),
                name: labels::MODEL_NETWORK.text(lang).to_string(),
                detail: labels::MODEL_NETWORK_DETAIL.text(lang).to_string(),
            },
        ],
    }
}

fn all_models(lang: Lang, catalog: &Catalog) -> Vec<Group> {
    let mut groups = vec![own_model(lang)];
    // The models that the presets use are the ones most people mean.
    let common: Vec<&Model> =
        catalog.presets.iter().filter_map(|p| catalog.model(p.model)).fold(Vec::new(), |mut seen, m| {
            if !seen.iter().any(|s: &&Model| s.id == m.id) {
                seen.push(m);
            }
            seen
        });
    groups.extend(grouped(common.into_iter(), |m| domain(m.domain).text(lang).to_string(), |m| model(lang, m)));
    groups
}

fn all_presets(lang: Lang, catalog: &Catalog) -> Vec<Group> {
    let featured =
        featured::FEATURED.iter().filter_map(|f| catalog.preset(f.preset)).map(|p| preset(lang, p)).collect();
    let mut groups = vec![Group { name: labels::GROUP_START_HERE.text(lang).to_string(), items: featured }];
    let rest = catalog.presets.iter().filter(|p| featured::name(p.id).is_none());
    groups.extend(grouped(rest, |p| preset_group(p.group).text(lang).to_string(), |p| preset(lang, p)));
    groups
}

const fn domain(domain: Domain) -> crate::text::Message {
    match domain {
        Domain::Language => both!("语言", "Language"),
        Domain::Vision => both!("视觉", "Vision"),
        Domain::Diffusion => both!("图像和视频生成", "Image and video generation"),
        Domain::Audio => both!("声音", "Audio"),
        Domain::VisionLanguage => both!("看图说话", "Vision and language"),
        Domain::Small => both!("表格、图、时间序列、强化学习", "Tables, graphs, series, reinforcement learning"),
    }
}
