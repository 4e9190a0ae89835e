//! What stands beside a language model: its vision tower, frozen or trained.

use crate::catalog::OtherModel;
use crate::network::{Program, StepConfig, Tower, Trained, Weight};
use crate::project::{Framework, Method, Project};

/// Tokens of a picture that is not said to be larger or smaller: about a million pixels at 28 x 28 each (`MAX_PIXELS=1003520`
/// of ms-swift's examples).
const PICTURE: u64 = 1_280;

/// A part beside a language model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beside {
    /// Its parameters.
    pub params: u64,
    /// Its course, where it is trained and known.
    pub tower: Option<Tower>,
}

impl Beside {
    /// The tower of a vision-language model in this project.
    pub(super) fn of(project: &Project, model: &OtherModel, params: u64) -> Self {
        Self { params, tower: Some(model).filter(|_| trains(project)).and_then(|model| tower(project, model)) }
    }

    /// Adds the parameters that the program does not have yet.
    pub(super) fn add(&self, program: &mut Program, config: &StepConfig, before: u64) {
        let missing = self.params.saturating_sub(if self.tower.is_some() { before } else { 0 });
        if missing == 0 {
            return;
        }
        let dtype = config.weights;
        program.weights.push(Weight {
            numel: missing,
            stored: missing.saturating_mul(dtype.bytes()),
            dtype,
            trained: self.tower.is_some() && config.trained == Trained::All,
            times: 1,
            rows: 1,
            factors: (missing, 0),
        });
    }
}

/// Whether the tower is trained: with everything else, but for the libraries that freeze it unless told otherwise
/// (`freeze_vit` of ms-swift and `freeze_vision_tower` of LLaMA-Factory are true by default).
fn trains(project: &Project) -> bool {
    let all = matches!(project.method, Method::Full | Method::Scratch);
    let freezes = matches!(project.framework, Framework::MsSwift | Framework::LlamaFactory | Framework::Megatron);
    project.habits.trains_tower || all && !freezes
}

/// Towers by the names in the catalog, from their config.json, and how many patches a sample has.
fn tower(project: &Project, model: &OtherModel) -> Option<Tower> {
    const TOWERS: &[(&str, [u32; 4], bool)] = &[
        ("32 x 1280 (window", [32, 1280, 3420, 80], true),
        ("32 x 1280", [32, 1280, 5120, 80], false),
        ("27 x 1152", [27, 1152, 4304, 72], false),
        ("SO400M", [27, 1152, 4304, 72], false),
        ("24 x 1024", [24, 1024, 4096, 64], false),
        ("ViT-L/14", [24, 1024, 4096, 64], false),
        ("InternViT-300M", [24, 1024, 4096, 64], false),
        ("InternViT-6B", [45, 3200, 12_800, 128], false),
    ];
    let (_, [layers, width, intermediate, head], modern) =
        TOWERS.iter().find(|(name, ..)| model.second.name.contains(name))?;
    let counts = model.tokens_or_frames;
    let stated = counts.split(' ').find_map(|word| word.parse::<u64>().ok()).filter(|n| *n > 0);
    let (patches, merged) = if counts.starts_with('(') {
        (4 * PICTURE, 4)
    } else {
        // Tiles of 448 pixels: nine and the whole (`max_slice_nums` of MiniCPM-V), or six and the whole
        // (`max_dynamic_patch` of InternVL's scripts).
        let tokens = stated?;
        match counts {
            _ if counts.contains("448 px tile") => (7 * 1024, 1024 / tokens),
            _ if counts.contains("a tile") => (10 * 1024, 1024 / tokens),
            _ if model.second.name.contains("896 px") => (4096, 4096 / tokens),
            _ => (tokens, 1),
        }
    };
    let patches = if project.habits.patches > 0 { project.habits.patches } else { patches };
    let merged = merged.max(1);
    Some(Tower {
        layers: *layers,
        width: *width,
        intermediate: *intermediate,
        head: *head,
        modern: *modern,
        patches: patches.min(merged.saturating_mul(project.sequence.saturating_sub(1))).max(1),
        merged,
        recomputed: project.habits.tower_recomputed.unwrap_or(project.checkpointing.recomputes()),
    })
}
