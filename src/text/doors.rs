//! What was pasted, in words: its kind, its settings, what else is to be known.

use super::names::{card, model};
use super::numbers::{counted, plain, whole};
use super::{Lang, Message, both, choice, say};
use crate::catalog::Catalog;
use crate::project::import::card::ListedCard;
use crate::project::import::{Found, Note, TextKind};
use crate::project::{Field, Kind, fields};
use crate::units::{Bytes, decimal, sort};

/// What kind of text it is.
pub const fn text_kind(kind: TextKind) -> Message {
    match kind {
        TextKind::Error => both!("这是一条报错", "This is an error"),
        TextKind::Cards => both!("这是显卡信息", "This lists cards"),
        TextKind::Model => both!("这是一个模型", "This is a model"),
        TextKind::Script => both!("这是训练命令或配置", "This starts a training"),
        TextKind::Sentence => both!("你的话里读到这些", "Read from your words"),
        TextKind::Unknown => both!("没认出这是什么", "Nothing here was recognized"),
    }
}

/// What a setting is called.
pub fn found_name(lang: Lang, found: &Found) -> String {
    match found.field() {
        Some(field) => super::field(field).text(lang).to_string(),
        None => key_name(found.key).map_or_else(|| found.key.to_string(), |name| name.text(lang).to_string()),
    }
}

/// What stands in a link but in no field of the form.
fn key_name(key: &str) -> Option<Message> {
    Some(match key {
        "trained-params" => both!("要训练的参数", "Trained parameters"),
        "widest" => both!("最大的一层输出", "Largest output of a layer"),
        "macs" => both!("每个样本的乘加次数", "Multiply-adds per sample"),
        "like" => both!("结构最像", "Built like"),
        "tied" => both!("输入输出共用词表", "Tied embeddings"),
        "head-dim" => both!("每个头的宽度", "Width of a head"),
        "experts" => both!("专家个数", "Experts"),
        "experts-per-token" => both!("每个 token 用几个专家", "Experts per token"),
        "expert-width" => both!("专家宽度", "Width of an expert"),
        _ => return None,
    })
}

/// The value of a setting, as the form shows it.
pub fn found_value(lang: Lang, found: &Found, catalog: &Catalog) -> String {
    let value = found.value.as_str();
    let Some(field) = found.field() else { return key_value(lang, found.key, value, catalog) };
    match fields::kind(field) {
        Kind::Choice => choice(lang, field, value).to_string(),
        Kind::Toggle => if value == "on" { both!("是", "yes") } else { both!("否", "no") }.text(lang).to_string(),
        Kind::Search if field == Field::Gpu => {
            catalog.gpu(value).map_or_else(|| value.to_string(), |gpu| card(lang, gpu))
        }
        Kind::Search if value == fields::CUSTOM_MODEL => super::labels::MODEL_CUSTOM.text(lang).to_string(),
        Kind::Search if value == fields::CUSTOM_NETWORK => super::labels::MODEL_NETWORK.text(lang).to_string(),
        Kind::Search if field == Field::Preset => catalog.preset(value).map_or_else(
            || value.to_string(),
            |preset| {
                super::featured::name(preset.id)
                    .map_or(lang.pick(preset.name_zh, preset.name_en), |name| name.text(lang))
                    .to_string()
            },
        ),
        Kind::Search => catalog.model(value).map_or_else(|| value.to_string(), |m| model(lang, m)),
        Kind::Number(_) => value.to_string(),
    }
}

fn key_value(lang: Lang, key: &str, value: &str, catalog: &Catalog) -> String {
    match key {
        "like" => catalog.model(value).map_or_else(|| value.to_string(), |m| model(lang, m)),
        "tied" => if value == "on" { both!("是", "yes") } else { both!("否", "no") }.text(lang).to_string(),
        _ => decimal::read(value).map_or_else(|| value.to_string(), whole),
    }
}

/// Where a setting stands.
pub fn place(lang: Lang, line: usize) -> String {
    say!(lang, "第 {line} 行", "line {line}")
}

/// How many settings a button fills in.
pub fn fill(lang: Lang, count: usize) -> String {
    match (lang, count) {
        (Lang::En, 1) => "Fill in 1 setting".to_string(),
        _ => say!(lang, "填进表单（{count} 项）", "Fill in {count} settings"),
    }
}

/// The cards of a listing and what is in use on them, a sentence each.
pub fn cards(lang: Lang, cards: &[ListedCard], catalog: &Catalog) -> Vec<String> {
    let mut names: Vec<(String, usize)> = Vec::new();
    for listed in cards {
        let name = catalog.gpu(&listed.id).map_or_else(|| listed.name.clone(), |gpu| card(lang, gpu));
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
    }
    let mut lines: Vec<String> = names.into_iter().map(|(name, count)| format!("{count} × {name}")).collect();
    for listed in cards.iter().filter(|listed| listed.used.is_some_and(|used| used > BUSY)).take(MOST) {
        let used = listed.used.unwrap_or_default();
        let index = listed.index.unwrap_or_default();
        let mut programs: Vec<_> = listed.processes.iter().filter_map(|p| Some((p.bytes?, p.name.as_str()))).collect();
        sort(&mut programs, |a, b| b.0.cmp(&a.0));
        let programs: Vec<String> = programs.iter().take(3).map(|(bytes, name)| format!("{name} {bytes}")).collect();
        let mut line = match listed.total {
            Some(total) => {
                say!(lang, "{index} 号卡已被占用 {used}，一共 {total}", "Card {index}: {used} of {total} is in use")
            }
            None => say!(lang, "{index} 号卡已被占用 {used}", "Card {index}: {used} is in use"),
        };
        if !programs.is_empty() {
            line.push_str(lang.pick("：", ": "));
            line.push_str(&programs.join(lang.pick("、", ", ")));
        }
        line.push_str(lang.pick("。", "."));
        lines.push(line);
    }
    lines
}

/// What is in use on a card that does nothing but show a screen.
const BUSY: Bytes = Bytes(300 << 20);

/// Cards that are told of one by one.
const MOST: usize = 8;

/// A script does not tell how much data there is: what the form has is somebody else's. `epochs`: what a number of
/// steps makes of it.
pub fn no_samples(lang: Lang, samples: u64, epochs: Option<f64>) -> String {
    let samples = plain(samples as f64);
    if let Some(epochs) = epochs {
        let epochs = plain(epochs);
        return say!(
            lang,
            "这里没写有多少数据：按表单里的 {samples} 条，这些步数合 {epochs} 轮，就填这个。你的数据量不一样，改完“数据量”再填一次。",
            "This does not tell how much data there is: with the {samples} samples of the form the steps make {epochs} epochs, and that is filled in. If yours are others, set them first and fill in again."
        );
    }
    say!(
        lang,
        "这里没写有多少数据，表单里还是 {samples}：填完记得把“数据量”改成你自己的，时间和钱都靠它。",
        "This does not tell how much data there is, and the form still says {samples}: set it to yours, since time and cost go with it."
    )
}

/// What is to be known about a reading beside its values.
pub fn note(lang: Lang, note: &Note, catalog: &Catalog) -> String {
    match note {
        Note::Cut { read, of } => {
            let (read, of) = (Bytes(*read as u64), Bytes(*of as u64));
            say!(lang, "内容有 {of}，只读了前面的 {read}。", "It has {of}; the first {read} were read.")
        }
        Note::SeveralKinds => both!(
            "有好几种卡。表单里只能填一种，先填了显存加起来最多的那种。",
            "There are several kinds of cards. The form takes one: the kind with most memory in all."
        )
        .text(lang)
        .to_string(),
        Note::OneOf(name, ids) => {
            let names: Vec<String> =
                ids.iter().filter_map(|id| catalog.gpu(id)).map(|gpu| card(lang, gpu)).collect();
            let names = names.join(lang.pick("、", ", "));
            say!(lang, "“{name}”可能是：{names}。", "\"{name}\" may be: {names}.")
        }
        Note::NamesMissing => both!(
            "这份输出只有编号，没有卡的名字。换成 rocm-smi --showproductname --showmeminfo vram 再贴一次。",
            "This output numbers the cards and does not name them. Paste that of rocm-smi --showproductname --showmeminfo vram."
        )
        .text(lang)
        .to_string(),
        Note::UnknownCard(name) => {
            say!(lang, "目录里没有“{name}”这张卡。", "The catalog has no card \"{name}\".")
        }
        Note::UnknownModel(name) => say!(
            lang,
            "目录里没有“{name}”这个模型。把它的 config.json 贴进来，就能算。",
            "The catalog has no model \"{name}\". Paste its config.json and it can be worked out."
        ),
        Note::Slice(slice) => say!(
            lang,
            "这是一张大卡切出来的一份（{slice}），能用的比整张少。",
            "This is a slice of a larger card ({slice}): less than the whole can be used."
        ),
        Note::UnknownKind(name) => say!(
            lang,
            "没见过“{name}”这种结构，先按常见的解码器算。",
            "\"{name}\" is a kind of network not known here; it is worked out as a usual decoder."
        ),
        Note::Assumed(names) => {
            let names = names.join(lang.pick("、", ", "));
            say!(lang, "文件里没写 {names}，用了常见的值。", "The file does not give {names}; usual values stand in.")
        }
        Note::LanguagePartOnly => both!(
            "这个模型还能看图或听声音，这里只算语言那一部分。",
            "This model also sees or hears; only its language part is worked out."
        )
        .text(lang)
        .to_string(),
        Note::Parameters(count) => {
            let count = counted(lang, *count as f64);
            say!(lang, "文件里数出来一共 {count}参数。", "Counted in the file: {count} parameters.")
        }
        Note::ParametersOfSize(count) => {
            let count = counted(lang, *count as f64);
            say!(
                lang,
                "按每个参数 2 字节，文件大小相当于 {count}参数。",
                "At two bytes each, the size of the files makes {count} parameters."
            )
        }
        Note::ShallowTable => both!(
            "这张表只到模块，没有展开到层，激活是估的。",
            "This table shows blocks, not the layers in them; activations are estimated."
        )
        .text(lang)
        .to_string(),
        Note::NoKernelForCard => both!(
            "这不是显存的事：装的 PyTorch 里没有这张卡的代码。RTX 50 系要装 CUDA 12.8 以上的版本（2.7 起才有），太老的卡要装旧版本。",
            "This is no matter of memory: the installed PyTorch has no code for this card. RTX 50 cards need a build for CUDA 12.8 or newer (from 2.7 on), very old cards an older version."
        )
        .text(lang)
        .to_string(),
        Note::Damaged => both!(
            "文件开头不对，像是没下载完或者坏了。重新下载一份再试。",
            "The beginning of the file is not as it should be: it may be damaged or not downloaded to the end. Fetch it again."
        )
        .text(lang)
        .to_string(),
        Note::NoAttention(name) => say!(
            lang,
            "“{name}”不靠注意力，或者只有少数层用，这里还算不了它要多少显存。",
            "\"{name}\" works without attention or with little of it; its memory cannot be worked out here yet."
        ),
        Note::SharedMemory => both!(
            "共享 GPU 内存涨上去，说明显存已经满了，Windows 在拿内存顶：不报错，但会慢十倍。把训练改小，或者在 NVIDIA 控制面板里把“CUDA - 系统内存回退策略”设成不回退。",
            "When shared GPU memory grows, the card is full and Windows uses main memory instead: no error, but ten times slower. Make the run smaller, or turn off \"CUDA - Sysmem Fallback Policy\" in NVIDIA's control panel."
        )
        .text(lang)
        .to_string(),
        Note::NoModel => both!(
            "这里没写训练哪个模型，表单里还是原来那个：请自己选一下，不然算的不是你的。",
            "No model is named here, and the form still has the one that it had: choose yours, or the answer is not about your run."
        )
        .text(lang)
        .to_string(),
        Note::Sampling => both!(
            "强化学习里，采样（生成回答）往往占掉大半时间，推理引擎和参考模型也要显存。这里只算更新那一步，这些都没算进去。",
            "In reinforcement learning sampling the answers takes most of the time, and the inference engine and a reference model take memory too. Only the update is worked out here, none of that."
        )
        .text(lang)
        .to_string(),
        Note::Steps(steps) => say!(
            lang,
            "训练按步数结束：{steps} 步，换算成“轮数”再填。",
            "The training ends after {steps} steps; they are filled in as epochs."
        ),
    }
}
