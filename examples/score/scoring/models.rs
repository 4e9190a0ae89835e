//! The model that a row means: by name or alias, then by family and size.

use super::nearest;
use enough_gpu::catalog::{Architecture, Catalog, LanguageKind, Model};

/// How far the size in the row may be from the model's for a name in part to be believed.
const SIZE_TOLERANCE: f64 = 1.35;

/// Letters of a name that two models must share to be of one family.
const FAMILY_LETTERS: usize = 4;

/// Names that are spelled otherwise than in the catalog, as [`plain`] leaves them.
const ALIASES: &[(&str, &str)] = &[
    ("bertbase", "bert-base-uncased"),
    ("bertlarge", "bert-large-uncased"),
    ("xlnetbase", "xlnet-base-cased"),
    ("xlnetlarge", "xlnet-large-cased"),
    ("openllama3b", "open-llama-3b"),
    ("mistral7b", "mistral-7b-v0.3"),
    // What others began from, as their model cards say.
    ("zephyr7b", "mistral-7b-v0.1"),
    ("starling7b", "mistral-7b-v0.1"),
    ("openhermes7b", "mistral-7b-v0.1"),
    ("codegemma7b", "gemma-7b"),
    ("codegemma2b", "gemma-2b"),
    ("pixtral12b", "mistral-nemo-12b"),
    ("orpheus3b", "llama-3.2-3b"),
    ("sesamecsm1b", "llama-3.2-1b"),
    ("csm1b", "llama-3.2-1b"),
    ("llasa1b", "llama-3.2-1b"),
    ("llasa3b", "llama-3.2-3b"),
    ("sparktts05b", "qwen2.5-0.5b"),
    ("qwen18b", "qwen1.5-1.8b"),
    ("vitb16", "vit-b-16"),
    ("vitl16", "vit-l-16"),
    ("vitbasepatch16384", "vit-b-16-384"),
    ("deit3smallpatch16224", "deit-s-16"),
    ("vitso400m14siglip384", "siglip-so400m-14-384"),
    ("retinanetr18", "retinanet-r18-fpn"),
    ("retinanetr101", "retinanet-r101-fpn"),
    ("retinanetx10132x4d", "retinanet-x101-32x4d-fpn"),
    ("retinanetx10164x4d", "retinanet-x101-64x4d-fpn"),
    ("keypointrcnnx101fpn", "keypoint-rcnn-x101-32x8d-fpn"),
    ("lvismaskrcnnr50fpn", "mask-rcnn-r50-fpn-lvis"),
    ("lvismaskrcnnr101fpn", "mask-rcnn-r101-fpn-lvis"),
    ("lvismaskrcnnx101fpn", "mask-rcnn-x101-32x8d-fpn-lvis"),
    ("maskrcnnswintmscrop", "mask-rcnn-swin-t"),
    ("maskrcnnswinsmscrop", "mask-rcnn-swin-s"),
    ("nnunetresencm", "nnunet-resenc-m"),
    ("nnunetresencl", "nnunet-resenc-l"),
    ("nnunetresencxl", "nnunet-resenc-xl"),
    ("nnunetdefault3dfullres", "nnunet-3d"),
    ("mnistcnn", "mnist-cnn"),
    ("catdogcnn", "catdog-cnn"),
    ("unet", "unet-classic"),
    ("deeplabv3resnet50", "deeplabv3-r50"),
    ("fasterrcnnresnet50fpn", "faster-rcnn-r50-fpn"),
    ("sd14", "sd1.5"),
    ("krea2raw", "krea-2"),
    // `DEFAULT_MODEL_FLAVOUR` of `SimpleTuner`'s models/pixart/model.py.
    ("pixartdefaultflavour", "pixart-900m"),
    // The same of models/sd3/model.py, which has no first version.
    ("sd3defaultflavour", "sd3.5-medium"),
    ("kandinsky5image", "kandinsky-5-image-6b"),
    ("kandinsky5image6b", "kandinsky-5-image-6b"),
    ("kandinsky5video", "kandinsky-5-video-2b"),
    ("kandinsky5video2b", "kandinsky-5-video-2b"),
    ("chroma1hd", "chroma"),
    ("flux1kontext", "flux.1-kontext"),
    ("flux1kontextdev", "flux.1-kontext"),
    ("longcatvideo", "longcat-video"),
    ("sanavideo2b", "sana-video-2b"),
    ("hidreami1full", "hidream-i1"),
    ("hidreami1dev", "hidream-i1"),
    ("stablecascadestageccontrolnet", "stable-cascade-c"),
    ("sd15", "sd1.5"),
    ("sd15controlnet", "controlnet-sd15"),
    ("sdxlcontrolnet", "controlnet-sdxl"),
    ("flux1devcontrolnet", "controlnet-flux"),
    ("flux1devfp8controlnet", "controlnet-flux"),
    ("pixart", "pixart-sigma"),
    ("ltxvideo095", "ltx-video-2b"),
    ("wav2vec2ctc", "wav2vec2-large"),
    ("xttsv2gpt", "xtts-v2"),
];

/// Letters and digits only: `Qwen2.5-7B` and `qwen2_5 7b` are the same.
fn plain(name: &str) -> String {
    name.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The model with this name, whatever is hung on to it (`-Instruct`, `(timm)`, `SQuAD`, `UNet + text encoders`).
/// `params` in billions guards against a namesake of another size.
pub(crate) fn by_name<'a>(catalog: &'a Catalog, name: &str, params: Option<f64>) -> Option<&'a Model> {
    by_whole_name(catalog, name, params).or_else(|| by_whole_name(catalog, without_owner(name), params))
}

fn by_whole_name<'a>(catalog: &'a Catalog, name: &str, params: Option<f64>) -> Option<&'a Model> {
    if nearest::unlike(name) {
        return None;
    }
    // The whole name is believed even where the row's size is of another count.
    lookup(catalog, name)
        .or_else(|| catalog.resolve_model(name).filter(|m| fits(m, params)))
        .or_else(|| timm(name).and_then(|n| lookup(catalog, &n)).filter(|m| fits(m, params)))
        .or_else(|| {
            nearest::scene(name, |id| catalog.model(id).is_some())
                .and_then(|n| lookup(catalog, &n))
                .filter(|m| fits(m, params))
        })
        .or_else(|| nearest::yolo(name).and_then(|n| lookup(catalog, &n)).filter(|m| fits(m, params)))
        .or_else(|| shortened(name).find_map(|n| lookup(catalog, n).filter(|m| fits(m, params))))
        .or_else(|| nearest::detector(name, |id| catalog.model(id).is_some()).and_then(|id| catalog.model(&id)))
}

/// The id that the catalog's way of naming gives to a name of timm's: `vit_large_patch14_224.augreg` is `vit-l-14`,
/// `swin_tiny_patch4_window7_224` is `swin-t`, `tf_efficientnet_b5_ns` is `efficientnet-b5`.
fn timm(name: &str) -> Option<String> {
    let bare = name.split([' ', '.', '(']).find(|part| !part.is_empty())?.to_lowercase();
    let bare = bare.strip_prefix("tf_").unwrap_or(&bare);
    let mut words = bare.split('_');
    let family = words.next()?;
    let mut id = match family {
        "mobilenetv2" | "mobilenetv3" | "mobilenetv4" => family.replace("netv", "net-v"),
        "swinv2" | "swin" | "vit" | "deit" | "deit3" | "beit" | "beitv2" | "eva02" | "mixer" | "efficientnet"
        | "efficientnetv2" | "maxvit" | "convnext" | "convnextv2" | "densenet" | "ghostnet" => family.to_owned(),
        _ => return None,
    };
    let short = !family.starts_with("convnext") && !family.starts_with("mobilenet");
    for word in words {
        let known = match word {
            "tiny" if short => {
                if family.starts_with("swin") || family == "maxvit" {
                    "t"
                } else {
                    "ti"
                }
            }
            "small" if short => "s",
            "base" if short => "b",
            "large" if short => "l",
            "huge" if short => "h",
            "giant" | "gigantic" if short => {
                if word == "giant" {
                    "g"
                } else {
                    "gg"
                }
            }
            // Sizes of pictures and windows, multipliers of width that are 1, names of weights.
            "224" | "256" | "384" | "512" | "100" | "window7" | "window8" | "window12" | "window16" | "patch4" => {
                continue;
            }
            "tf" | "in1k" | "in21k" | "in22k" | "ft" | "ns" | "ap" | "dist" | "augreg" => continue,
            _ => word.strip_prefix("patch").unwrap_or(word),
        };
        // `mixer_b16`, `vit_b16`: size and patch in one word.
        let known = match (known.strip_prefix('b'), family) {
            (Some(patch), "mixer") => format!("b-{patch}"),
            _ => known.to_owned(),
        };
        id = format!("{id}-{known}");
    }
    Some(id)
}

/// `Qwen/Qwen2.5-7B` without whose it is.
fn without_owner(name: &str) -> &str {
    match name.split_once('/') {
        Some((owner, rest)) if !rest.is_empty() && !owner.contains([' ', '(', '+']) => rest,
        _ => name,
    }
}

/// Billions of parameters as they stand in a name: `7B model`, `GPT-2 345M`, `Zeta-1.8b-chat`.
pub(crate) fn size_in_name(name: &str) -> Option<f64> {
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    words.find_map(|word| {
        let (digits, unit) = word.split_at_checked(word.len().checked_sub(1)?)?;
        let size: f64 = digits.parse().ok().filter(|size| *size > 0.0)?;
        match unit {
            "b" if size < 5000.0 => Some(size),
            "m" if size >= 10.0 => Some(size / 1000.0),
            _ => None,
        }
    })
}

/// Whether the size in the row and the model's agree, as far as both are known.
fn fits(model: &Model, params: Option<f64>) -> bool {
    params.is_none_or(|p| model.params == 0 || gap(model, p) < SIZE_TOLERANCE.ln())
}

/// How far a model is from a size in billions.
fn gap(model: &Model, params: f64) -> f64 {
    (model.params as f64 / (params * 1e9)).ln().abs()
}

fn lookup<'a>(catalog: &'a Catalog, name: &str) -> Option<&'a Model> {
    let wanted = plain(name);
    if wanted.len() < 3 {
        return None;
    }
    let alias = ALIASES.iter().find(|(alias, _)| *alias == wanted).map_or("", |(_, id)| id);
    catalog.models.iter().find(|m| {
        let repo = m.repo.rsplit('/').next().unwrap_or_default();
        let bare = m.name.split('(').next().unwrap_or_default();
        m.id == alias || [m.id, m.name, bare, repo].iter().any(|n| plain(n) == wanted)
    })
}

/// The name without its remark in brackets, and then word by word shorter.
fn shortened(name: &str) -> impl Iterator<Item = &str> {
    let bare = name.split(['(', ',', ':', '/']).next().unwrap_or_default().trim();
    let timm = name.strip_prefix("timm:");
    let cuts = bare.char_indices().rev().filter(|(_, c)| matches!(c, ' ' | '-' | '_' | '+')).map(|(i, _)| &bare[..i]);
    timm.into_iter().chain(std::iter::once(bare)).chain(cuts)
}

/// The denoiser of pictures or of clips that is nearest in size, for one that nobody has described yet: as a person would
/// choose on the page.
pub(crate) fn denoiser_by_size(catalog: &Catalog, params: Option<f64>, clips: bool) -> Option<&Model> {
    let params = params?;
    let kind = if clips { "video" } else { "image" };
    catalog
        .models
        .iter()
        .filter(|m| matches!(&m.architecture, Architecture::Diffusion(d) if d.kind == kind) && m.params > 0)
        .filter(|m| gap(m, params) < 2.0_f64.ln())
        .min_by(|a, b| gap(a, params).total_cmp(&gap(b, params)))
}

/// The model of the same family that is nearest in size; for rows that say no more than "7B model", the nearest of
/// today's usual decoders.
pub(crate) fn by_family_and_size<'a>(catalog: &'a Catalog, name: &str, params: Option<f64>) -> Option<&'a Model> {
    let params = params?;
    let wanted = plain(without_owner(name));
    let shared = |m: &Model| plain(m.id).bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
    let near = || catalog.models.iter().filter(|m| m.params > 0 && gap(m, params) < SIZE_TOLERANCE.ln());
    let family = near()
        .filter(|m| shared(m) >= FAMILY_LETTERS)
        .max_by(|a, b| shared(a).cmp(&shared(b)).then(gap(b, params).total_cmp(&gap(a, params))));
    family.or_else(|| {
        near()
            .filter(|m| match &m.architecture {
                Architecture::Language(l) => {
                    l.kind == LanguageKind::Decoder && l.moe_experts == 0 && l.gated && l.attention == "full"
                }
                _ => false,
            })
            .min_by(|a, b| gap(a, params).total_cmp(&gap(b, params)))
            .or_else(|| nearest(catalog, params))
    })
}

/// The language model of whatever kind that is nearest in size, where it is less than twice as large or as small.
fn nearest(catalog: &Catalog, params: f64) -> Option<&Model> {
    let models = catalog.models.iter().filter(|m| m.params > 0 && m.language().is_some());
    models.min_by(|a, b| gap(a, params).total_cmp(&gap(b, params))).filter(|m| gap(m, params) < 2_f64.ln())
}
