//! Models that the catalog does not have: a language model by the numbers of its `config.json`, any other network by
//! what a printed summary says of it.

use super::Project;
use crate::catalog::{Catalog, LanguageModel};
use serde::{Deserialize, Serialize};

/// A language model given by its numbers, as in a `config.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CustomModel {
    /// Id of the catalog's model whose code it shares: norms, biases, positions, kind of attention. Empty: Llama's.
    pub like: String,
    /// Layers.
    pub layers: u64,
    /// Hidden size.
    pub hidden: u64,
    /// MLP width.
    pub intermediate: u64,
    /// Query heads.
    pub heads: u64,
    /// Key/value heads.
    pub kv_heads: u64,
    /// Size of a head; 0 = the hidden size divided by the heads.
    pub head_dim: u64,
    /// Vocabulary.
    pub vocab: u64,
    /// Output head shares the embedding.
    pub tied_embeddings: bool,
    /// Routed experts in a layer; 0 = none.
    pub experts: u64,
    /// Experts that a token passes through.
    pub experts_per_token: u64,
    /// Width of an expert; 0 = `intermediate`.
    pub expert_width: u64,
}

impl Default for CustomModel {
    fn default() -> Self {
        Self {
            like: String::new(),
            layers: 24,
            hidden: 1024,
            intermediate: 2816,
            heads: 16,
            kv_heads: 16,
            head_dim: 0,
            vocab: 32_000,
            tied_embeddings: true,
            experts: 0,
            experts_per_token: 0,
            expert_width: 0,
        }
    }
}

impl CustomModel {
    /// The architecture it states; what no number says is taken from the model that it is like.
    pub fn architecture(&self, catalog: &Catalog) -> LanguageModel {
        let clip = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let like = catalog.model(&self.like).and_then(|m| m.language());
        let base = like.cloned().unwrap_or(LanguageModel::BLANK);
        let head_dim = if self.head_dim > 0 { self.head_dim } else { self.hidden / self.heads.max(1) };
        let expert_width = if self.expert_width > 0 { self.expert_width } else { self.intermediate };
        let routed = |n: u32| if self.experts > 0 { n } else { 0 };
        let mut model = LanguageModel {
            layers: clip(self.layers),
            hidden: clip(self.hidden),
            intermediate: clip(self.intermediate),
            heads: clip(self.heads),
            kv_heads: clip(self.kv_heads),
            head_dim: clip(head_dim),
            vocab: clip(self.vocab),
            tied_embeddings: self.tied_embeddings,
            moe_experts: clip(self.experts),
            moe_active: routed(clip(self.experts_per_token.max(1))),
            moe_shared: routed(base.moe_shared),
            moe_intermediate: routed(clip(expert_width)),
            dense_layers_first: if self.experts > 0 { base.dense_layers_first } else { "" },
            ..base
        };
        model.params_active = self::parameters(&model).map_or(0, |count| count.active);
        model
    }

    /// All its parameters, where its kind can be counted.
    pub fn parameters(&self, catalog: &Catalog) -> Option<u64> {
        parameters(&self.architecture(catalog)).map(|count| count.total)
    }
}

impl Project {
    /// The language model that is trained, named or given by its numbers.
    pub fn language(&self, catalog: &Catalog) -> Option<LanguageModel> {
        match &self.custom {
            Some(custom) => Some(custom.architecture(catalog)),
            None => catalog.model(&self.model)?.language().cloned(),
        }
    }

    /// Parameters of what is trained, frozen ones among them; 0 where nothing is known.
    pub fn parameters(&self, catalog: &Catalog) -> u64 {
        match (&self.custom, &self.network) {
            (Some(custom), _) => custom.parameters(catalog).unwrap_or(0),
            (None, Some(network)) => network.params,
            (None, None) => catalog.model(&self.model).map_or(0, |model| model.params),
        }
    }
}

/// Sizes beyond which a count would overflow: every one far above what was ever trained.
const LARGEST: [u64; 4] = [1 << 18, 1 << 20, 1 << 24, 1 << 12];

fn parameters(model: &LanguageModel) -> Option<crate::catalog::params::Count> {
    let [width, wide, words, many] = LARGEST;
    let sizes = [
        (model.hidden, width),
        (model.intermediate, wide),
        (model.moe_intermediate, wide),
        (model.vocab, words),
        (model.layers, many),
        (model.heads, many),
        (model.kv_heads, many),
        (model.head_dim, many),
        (model.moe_experts, many),
    ];
    if sizes.iter().any(|(size, most)| u64::from(*size) > *most) {
        return None;
    }
    crate::catalog::params::count(model).ok().flatten()
}

/// A network of any kind, by what a summary (torchinfo, torchsummary, Keras) prints of it for one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CustomNetwork {
    /// Parameters.
    pub params: u64,
    /// Parameters that are trained; 0 = all.
    pub trained: u64,
    /// Numbers that backward needs of one sample: outputs of layers, each counted once.
    pub outputs: u64,
    /// Numbers in the largest single output; 0 = not said.
    pub widest: u64,
    /// Multiply-accumulates of one sample's forward pass; 0 = not said.
    pub macs: u64,
}

impl Default for CustomNetwork {
    /// The small convolutional network of a first lesson (LeNet-5 on 32 x 32 pixels).
    fn default() -> Self {
        Self { params: 61_706, trained: 0, outputs: 8_000, widest: 4_704, macs: 416_520 }
    }
}

impl CustomNetwork {
    /// Parameters that are trained.
    pub fn trained_params(&self) -> u64 {
        if self.trained == 0 { self.params } else { self.trained.min(self.params) }
    }
}

/// The id of the only boolean extra.
const TIED: &str = "tied";

/// What a link says of a custom model beside the fields of the form.
pub const MODEL_KEYS: &[&str] = &[TIED, "like", "head-dim", "experts", "experts-per-token", "expert-width"];

/// What a link says of a custom network beside the fields of the form.
pub const NETWORK_KEYS: &[&str] = &["trained-params", "widest", "macs"];

/// True for a key that the form does not ask for.
pub fn is_extra(key: &str) -> bool {
    MODEL_KEYS.contains(&key) || NETWORK_KEYS.contains(&key)
}

/// Largest whole number that a link may say: every sum of a few of them fits.
const MOST: u64 = 1_000_000_000_000_000;

/// The value of an extra, as it stands in a link; `None` where it says nothing beyond the default.
pub fn extra(project: &Project, key: &str) -> Option<String> {
    let number = |n: u64, usual: u64| (n != usual).then(|| n.to_string());
    if let Some(model) = &project.custom {
        return match key {
            TIED => (!model.tied_embeddings).then(|| "off".to_owned()),
            "like" => (!model.like.is_empty()).then(|| model.like.clone()),
            "head-dim" => number(model.head_dim, 0),
            "experts" => number(model.experts, 0),
            "experts-per-token" => number(model.experts_per_token, 0),
            "expert-width" => number(model.expert_width, 0),
            _ => None,
        };
    }
    let (network, usual) = (project.network.as_ref()?, CustomNetwork::default());
    match key {
        "trained-params" => number(network.trained, usual.trained),
        "widest" => number(network.widest, usual.widest),
        "macs" => number(network.macs, usual.macs),
        _ => None,
    }
}

/// Sets an extra; false where it says nothing of this project or cannot be read.
pub fn set_extra(project: &mut Project, key: &str, value: &str, catalog: &Catalog) -> bool {
    let value = value.trim();
    let number = value.parse().ok().filter(|n| *n <= MOST);
    if let Some(model) = &mut project.custom {
        match (key, number) {
            (TIED, _) => model.tied_embeddings = value != "off",
            ("like", _) => match catalog.model(value).filter(|m| m.language().is_some()) {
                Some(like) => like.id.clone_into(&mut model.like),
                None => return false,
            },
            // Beyond these nothing was built; an estimate would only say that it is too large.
            ("head-dim", Some(n)) if n <= 65_536 => model.head_dim = n,
            ("experts", Some(n)) if n <= 65_536 => model.experts = n,
            ("experts-per-token", Some(n)) if n <= 65_536 => model.experts_per_token = n,
            ("expert-width", Some(n)) if n <= 1_048_576 => model.expert_width = n,
            _ => return false,
        }
        return true;
    }
    let Some(network) = &mut project.network else { return false };
    match (key, number) {
        ("trained-params", Some(n)) => network.trained = n,
        ("widest", Some(n)) => network.widest = n,
        ("macs", Some(n)) => network.macs = n,
        _ => return false,
    }
    true
}
