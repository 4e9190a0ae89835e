//! Which model a script is about.

use super::super::library::LONGEST;
use super::super::words::model;
use super::{MOST_LOOKUPS, Told};
use crate::project::import::{Piece, Text};

/// Scripts that train one model, and its id.
const SCRIPTS: &[(&str, &str)] = &[
    ("hv_train_network", "hunyuanvideo"),
    ("qwen_image_train", "qwen-image"),
    ("sdxl_train", "sdxl"),
    ("flux_train", "flux.1-dev"),
];

/// Places of `OpenMMLab`'s files of settings.
const CONFIGS: [&str; 2] = ["_base_/models/", "configs/"];

impl Told<'_> {
    pub(super) fn named(&mut self, value: &str, from: Piece) -> bool {
        let name = value.trim_matches(['/', '.', ' ']);
        if name.is_empty() || name.starts_with(['$', '{', '<']) || self.model.is_some() || self.lookups >= MOST_LOOKUPS
        {
            return false;
        }
        self.lookups += 1;
        let Some(model) = model(name, self.catalog) else {
            let looks = name.contains('/') && !name.contains(' ') && !value.starts_with(['/', '.']);
            if looks && self.unknown_model.is_none() {
                self.unknown_model = Some((name.to_owned(), from));
            }
            return false;
        };
        let small = name.to_ascii_lowercase();
        self.quantized_name = small.contains("bnb-4bit") || small.contains("-4bit");
        self.model = Some((model, from));
        true
    }

    /// Models named in calls: `from_pretrained("...")`, `YOLO("...")`, `timm.create_model("...")`.
    pub(in crate::project::import::script) fn names_in_calls(&mut self, text: &Text) {
        // LitGPT's command takes the model as a word of its own.
        if let Some(at) = text.small().find("litgpt ") {
            let (command, _) = text.window(at, 200);
            if let Some(name) =
                command.lines().next().and_then(|line| line.split_whitespace().find(|word| word.contains('/')))
            {
                self.named(name, text.piece_at(at));
            }
        }
        for call in ["from_pretrained(", "yolo(", "create_model(", "from_single_file(", "models."] {
            let mut from = 0;
            while let Some(found) = text.small().get(from..).and_then(|rest| rest.find(call)) {
                let at = from + found + call.len();
                from = at;
                let (behind, _) = text.window(at, 200);
                let name = if call == "models." {
                    behind.split('(').next().filter(|name| behind.contains('(') && name.len() < 40)
                } else {
                    let behind = behind.trim_start();
                    let quote = behind.chars().next().filter(|c| *c == '"' || *c == '\'');
                    quote.and_then(|quote| behind.get(1..)?.split(quote).next())
                };
                if let Some(name) = name {
                    self.named(name, text.piece_at(at));
                }
                if self.model.is_some() || self.lookups >= MOST_LOOKUPS {
                    return;
                }
            }
        }
    }

    /// Models that a script is made for, by its name, and `OpenMMLab`'s by the names of their files.
    pub(in crate::project::import::script) fn names_in_files(&mut self, text: &Text) {
        let beginning = text.window(0, LONGEST).1;
        // The scripts of diffusers train a copy beside the model that they name.
        if let Some(at) = beginning.find("train_controlnet") {
            let base = self.model.as_ref().map_or("", |(model, _)| model.id);
            let copy = ["sdxl", "flux"].into_iter().find(|kind| base.starts_with(kind)).unwrap_or("sd15");
            self.model = self.catalog.model(&format!("controlnet-{copy}")).map(|model| (model, text.piece_at(at)));
        }
        for place in CONFIGS {
            let mut from = 0;
            while self.model.is_none()
                && self.lookups < MOST_LOOKUPS
                && let Some(found) = beginning.get(from..).and_then(|rest| rest.find(place))
            {
                from += found + place.len();
                let (behind, _) = text.window(from, 200);
                let end = behind.find(|c: char| c.is_whitespace() || "\"',`)]".contains(c)).unwrap_or(behind.len());
                let name = behind.get(..end).unwrap_or_default().rsplit('/').next().unwrap_or_default();
                self.lookups += 1;
                let small = name.trim_end_matches(".py").to_ascii_lowercase().replace('_', "-").replace("-r-", "-r");
                let fits = |id: &str| id.len() >= 8 && small.starts_with(id);
                let best = self.catalog.models.iter().filter(|m| fits(m.id)).max_by_key(|m| m.id.len());
                self.model = best.map(|model| (model, text.piece_at(from)));
            }
        }
        if self.model.is_none()
            && let Some((at, model)) =
                SCRIPTS.iter().find_map(|(word, id)| Some((beginning.find(word)?, self.catalog.model(id)?)))
        {
            self.model = Some((model, text.piece_at(at)));
        }
    }

    /// `t2v-14B` of Wan's scripts.
    pub(super) fn video(&mut self, small: &str, from: Piece) -> bool {
        let found = ["wan2.1-", "wan2.2-"].iter().find_map(|family| self.catalog.model(&format!("{family}{small}")));
        self.model = self.model.take().or(found.map(|model| (model, from)));
        found.is_some()
    }

    /// torchtune's builders and files: `torchtune.models.llama3_1.lora_llama3_1_8b`, `llama3_1/8B_lora_single_device`.
    pub(super) fn recipe(&mut self, value: &str, from: Piece) -> bool {
        let small = value.to_ascii_lowercase();
        let name = if let Some((_, builder)) = small.strip_prefix("torchtune.models.").and_then(|v| v.split_once('.')) {
            let (method, name) = match (builder.strip_prefix("lora_"), builder.strip_prefix("qlora_")) {
                (Some(name), _) => ("lora", name),
                (_, Some(name)) => ("qlora", name),
                _ => ("full", builder),
            };
            self.method = Some((method, from.clone()));
            name.to_owned()
        } else if let Some((family, rest)) = small
            .split_once('/')
            .filter(|(_, rest)| rest.contains("_single_device") || rest.contains("_full") || rest.contains("lora"))
        {
            // `8B_qlora_single_device`: the recipe is that of LoRA, the file's model is packed.
            let method = ["qlora", "lora"].into_iter().find(|method| rest.contains(method)).unwrap_or("full");
            self.method = Some((method, from.clone()));
            let size = rest.split('_').next().unwrap_or_default();
            format!("{family}_{size}")
        } else {
            return false;
        };
        self.named(&pointed(name.trim_end_matches("_base").trim_end_matches("_instruct")), from)
    }
}

/// `llama3_1_8b` as `llama-3.1-8b`: a lone digit behind another is what stands behind the point.
fn pointed(name: &str) -> String {
    let mut out = String::new();
    let parts: Vec<&str> = name.split('_').collect();
    for (at, part) in parts.iter().enumerate() {
        let lone = part.len() == 1 && part.chars().all(|c| c.is_ascii_digit());
        if at > 0 {
            out.push(if lone { '.' } else { '-' });
        }
        out.push_str(part);
    }
    out
}
