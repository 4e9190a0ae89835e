//! Runs of which only a part is worked out: what their time does not hold.

use super::{Lang, say};
use crate::catalog::{Architecture, Catalog};
use crate::project::{Objective, Project};

/// What to do where the memory is enough, but `time` is not all that the run takes; nothing where it is.
pub(super) fn time(lang: Lang, project: &Project, catalog: &Catalog, time: &str) -> Option<String> {
    if project.objective == Objective::Sampled {
        return Some(say!(
            lang,
            "显存够，但时间不能当真：{time}只是更新参数，采样（每道题写几条回答）没算，往往要久好几倍。先跑 20 步掐表。",
            "Memory is enough, but the time is not all: {time} is for the updates alone. Sampling the answers is not counted and often takes several times as long. Time 20 steps first."
        ));
    }
    let model = catalog.model(&project.model).map(|model| &model.architecture);
    let voice = matches!(model, Some(Architecture::Other(o)) if o.kind.contains("voice c"));
    voice.then(|| {
        say!(
            lang,
            "直接开跑。{time}只是训声音模型这一步：切音频、提特征没算，GPT-SoVITS 另训的 GPT 也没算。",
            "Start it. {time} is for the voice model alone: cutting the sound, extracting features and, of GPT-SoVITS, the GPT trained beside it are not counted."
        )
    })
}
