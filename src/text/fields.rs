//! Names, hints and errors of the fields.

use super::numbers::{about, before_word, counted, plain, whole};
use super::{Lang, Message, both, labels, say};
use crate::catalog::Catalog;
use crate::project::{Field, FieldError, Kind, Method, Project, Range};

/// The name of a field.
pub const fn field(field: Field) -> Message {
    match field {
        Field::Preset => labels::PROJECT,
        Field::Model => both!("模型", "Model"),
        Field::CustomLayers => both!("层数", "Layers"),
        Field::CustomHidden => both!("宽度", "Hidden size"),
        Field::CustomIntermediate => both!("MLP 宽度", "MLP width"),
        Field::CustomHeads => both!("注意力头", "Heads"),
        Field::CustomKvHeads => both!("KV 头", "KV heads"),
        Field::CustomVocab => both!("词表", "Vocabulary"),
        Field::NetworkParams => both!("参数量", "Parameters"),
        Field::NetworkOutputs => both!("每个样本的中间结果", "Results per sample"),
        Field::Method => both!("方法", "Method"),
        Field::LoraRank => both!("LoRA 秩", "LoRA rank"),
        Field::LoraTargets => both!("LoRA 加在哪", "LoRA targets"),
        Field::LoraDropout => both!("LoRA dropout", "LoRA dropout"),
        Field::FrozenShare => both!("冻结比例", "Frozen share"),
        Field::Precision => both!("精度", "Precision"),
        Field::Base => both!("底座格式", "Base format"),
        Field::Optimizer => both!("优化器", "Optimizer"),
        Field::OptimizerImpl => both!("优化器实现", "Optimizer kernel"),
        Field::Checkpointing => both!("梯度检查点", "Checkpointing"),
        Field::Attention => both!("注意力实现", "Attention kernel"),
        Field::Loss => both!("损失实现", "Loss kernel"),
        Field::MicroBatch => both!("批大小", "Batch size"),
        Field::Accumulation => both!("梯度累积", "Accumulation"),
        Field::Sequence => both!("序列长度", "Sequence length"),
        Field::ImageSide => both!("图像边长", "Image side"),
        Field::Frames => both!("帧数", "Frames"),
        Field::Objects => both!("目标个数", "Objects"),
        Field::Classes => both!("类别数", "Classes"),
        Field::AudioSeconds => both!("音频时长", "Clip length"),
        Field::CachedLatents => both!("潜变量缓存", "Cached latents"),
        Field::TextEncoders => both!("文本编码器", "Text encoders"),
        Field::BlockSwap => both!("换出比例", "Block swap"),
        Field::Ema => both!("EMA 副本", "EMA copy"),
        Field::Offload => both!("放到内存", "Offload"),
        Field::Objective => both!("训练目标", "Objective"),
        Field::Task => both!("任务", "Task"),
        Field::Framework => both!("训练框架", "Library"),
        Field::Samples => both!("数据量", "Samples"),
        Field::Epochs => both!("训练轮数", "Epochs"),
        Field::Gpu => both!("显卡", "Card"),
        Field::Count => both!("几张", "How many"),
        Field::Desktop => both!("接着显示器", "Drives a screen"),
        Field::Sharding => both!("多卡分工", "Sharding"),
        Field::Interconnect => both!("卡和卡之间", "Between cards"),
        Field::Machines => both!("几台机器", "Machines"),
        Field::Network => both!("机器之间", "Between machines"),
        Field::Tensor => both!("张量并行 TP", "Tensor parallel"),
        Field::Pipeline => both!("流水线并行 PP", "Pipeline parallel"),
        Field::Chunks => both!("流水线分段", "Pipeline pieces"),
        Field::Context => both!("上下文并行 CP", "Context parallel"),
        Field::Expert => both!("专家并行 EP", "Expert parallel"),
        Field::Group => both!("几张卡存一份", "Cards per copy"),
        Field::BudgetLimit => both!("预算", "Budget"),
        Field::Currency => both!("货币", "Currency"),
        Field::Place => both!("电费按哪里算", "Electricity as in"),
        Field::Electricity => both!("电价", "Electricity price"),
        Field::ExchangeRate => both!("汇率", "Exchange rate"),
        Field::HoursAWeek => both!("每周用多久", "Use a week"),
        Field::PriceCard => both!("改哪张卡的价", "Prices of"),
        Field::PriceRent => both!("租金", "Rent"),
        Field::PriceNew => both!("新卡价", "New"),
        Field::PriceUsed => both!("二手价", "Used"),
    }
}

/// What stands behind the number, where it needs saying.
pub const fn unit(field: Field) -> Option<Message> {
    Some(match field {
        Field::Sequence => both!("token", "tokens"),
        Field::ImageSide => both!("像素", "px"),
        Field::Frames => both!("帧", "frames"),
        Field::Objects => both!("个", "a picture"),
        Field::Classes => both!("类", "classes"),
        Field::AudioSeconds => both!("秒", "s"),
        Field::Samples => both!("条", "samples"),
        Field::Epochs => both!("轮", "passes"),
        Field::CustomLayers => both!("层", "layers"),
        Field::CustomHeads | Field::CustomKvHeads => both!("个", "heads"),
        Field::CustomVocab => both!("个词", "words"),
        Field::NetworkParams | Field::NetworkOutputs => both!("个数", "numbers"),
        Field::Machines => both!("台", "machines"),
        Field::Tensor | Field::Pipeline | Field::Context | Field::Expert | Field::Group => both!("张卡", "cards"),
        Field::Chunks => both!("段", "pieces"),
        Field::Electricity => both!("每度", "per kWh"),
        Field::ExchangeRate => both!("元换 1 美元", "CNY for 1 USD"),
        Field::HoursAWeek => both!("小时", "hours"),
        Field::PriceRent => both!("每小时", "per hour"),
        _ => return None,
    })
}

/// One short sentence on what a field means, with a number of this project where there is one.
pub fn hint(lang: Lang, field: Field, project: &Project, catalog: &Catalog) -> String {
    let (micro, steps) = (project.micro_batch, project.accumulation);
    let all = whole(micro.saturating_mul(steps) as f64);
    match field {
        Field::Model => match catalog.model(&project.model).filter(|m| m.params > 0) {
            Some(model) => {
                let count = counted(lang, model.params as f64);
                say!(lang, "一共 {count}参数。", "{count} parameters in all.")
            }
            None => say!(lang, "从哪个模型开始训练。", "The model you start from."),
        },
        Field::LoraRank => {
            let rank = project.lora.rank;
            say!(
                lang,
                "适配器中间那一维，现在 {rank}；大一倍，它也大一倍。",
                "Inner width of every adapter, now {rank}."
            )
        }
        Field::FrozenShare => {
            let share = super::numbers::percent(project.frozen_share);
            say!(lang, "最下面 {share} 的层不动。", "The lowest {share} of the layers stay fixed.")
        }
        Field::MicroBatch => {
            say!(lang, "一张卡一次放几条；每次更新看 {all} 条。", "Samples per card at once; an update sees {all}.")
        }
        Field::Accumulation => say!(
            lang,
            "攒几次再更新：{micro} × {steps} = 每次看 {all} 条。",
            "Batches per update: {micro} x {steps} = {all} samples."
        ),
        Field::ImageSide => {
            let side = whole(project.image_side as f64);
            if project.frames > 1 {
                return say!(
                    lang,
                    "同面积正方形的边长；可以直接填 832x480。",
                    "Side of a square of the same area; 832x480 may be typed."
                );
            }
            say!(
                lang,
                "送进网络的边长，现在 {side}；翻倍约占四倍。",
                "Side the network sees, now {side}; twice takes four times."
            )
        }
        Field::Epochs => {
            let shown = before_word(lang, &about(lang, updates(project)));
            say!(lang, "数据过几遍，一共更新约 {shown}次。", "Passes over the data: about {shown}updates in all.")
        }
        Field::Gpu => match catalog.gpu(&project.hardware.gpu) {
            Some(gpu) => {
                let usable = gpu.usable;
                say!(lang, "PyTorch 能用到 {usable}。", "PyTorch gets {usable} of it.")
            }
            None => say!(lang, "没有也没关系，先看哪张够用。", "None yet is fine: see which would do."),
        },
        Field::Method if project.method == Method::QLora => say!(
            lang,
            "底座压成 4 bit，检查点也跟着打开，这是通行做法。",
            "A 4-bit base. As in PEFT, checkpointing goes on with it."
        ),
        Field::Method => {
            say!(lang, "训练多少参数：全部，还是一小部分。", "How many weights are trained: all, or a small part.")
        }
        other => fixed_hint(other).text(lang).to_string(),
    }
}

const fn fixed_hint(field: Field) -> Message {
    match field {
        Field::Preset => {
            both!("选一个最像的，每一项都能再改。", "Take the one most like yours; all of it can be changed.")
        }
        Field::CustomLayers => both!("config.json 里的 num_hidden_layers。", "num_hidden_layers in config.json."),
        Field::CustomHidden => both!("config.json 里的 hidden_size。", "hidden_size in config.json."),
        Field::CustomIntermediate => both!("config.json 里的 intermediate_size。", "intermediate_size in config.json."),
        Field::CustomHeads => {
            both!("num_attention_heads，要能整除宽度。", "num_attention_heads; must divide the hidden size.")
        }
        Field::CustomKvHeads => {
            both!("num_key_value_heads，要能整除注意力头。", "num_key_value_heads; must divide the heads.")
        }
        Field::CustomVocab => {
            both!("vocab_size，词表越大，算损失越占显存。", "vocab_size; a large one costs memory in the loss.")
        }
        Field::NetworkParams => {
            both!("torchinfo 表底下的 Total params。", "Total params at the foot of torchinfo's table.")
        }
        Field::NetworkOutputs => {
            both!("反向要用到的各层输出，按一个样本加起来。", "Outputs of layers that backward needs, for one sample.")
        }
        Field::LoraTargets => both!("哪些线性层旁边挂适配器。", "Which linear layers get an adapter."),
        Field::LoraDropout => {
            both!("大于 0 时，每个适配器多存一份输入。", "Above 0, each adapter keeps a copy of its input.")
        }
        Field::Precision => {
            both!("数字用几个字节存，混合精度最常用。", "Bytes per number; mixed precision is the usual choice.")
        }
        Field::Base => both!("不训练的底座用什么格式放在卡上。", "The format in which the frozen base is held."),
        Field::Optimizer => {
            both!("AdamW 给每个要训的参数记两个数。", "AdamW remembers two numbers per trained weight.")
        }
        Field::OptimizerImpl => {
            both!("更新参数的写法，fused 不占临时显存。", "How weights are updated; fused needs no scratch memory.")
        }
        Field::Checkpointing => {
            both!("不存中间结果，反向时重算：省显存，慢些。", "Recompute instead of keeping: less memory, more time.")
        }
        Field::Attention => {
            both!("Flash 不写出整张注意力表，越长越省。", "Flash never writes the scores out; best at length.")
        }
        Field::Loss => {
            both!("分块或融合的损失不存整张 logits。", "Chunked or fused loss never holds all logits at once.")
        }
        Field::Sequence => {
            both!("一条样本多长，一个汉字约 0.7 个 token。", "How long a sample is; a word is about 1.3 tokens.")
        }
        Field::Frames => both!("一段视频几帧。", "Frames in one clip."),
        Field::Classes => both!("不填就按模型原来的。", "Left empty: as the model was made."),
        Field::Objects => {
            both!(
                "最挤的一张图里有几个；匹配标签的显存随它涨。",
                "In the fullest picture; matching labels grows with it."
            )
        }
        Field::AudioSeconds => {
            both!("训练时一次听几秒，不是录音全长。", "Seconds heard at a time, not the whole recording.")
        }
        Field::CachedLatents => {
            both!("先编码好存下来，VAE 就不用上卡。", "Encode beforehand, and the VAE stays off the card.")
        }
        Field::TextEncoders => {
            both!("文字先编码好，就不用上卡；一起训练更费。", "Off the card if captions are encoded beforehand.")
        }
        Field::BlockSwap => {
            both!("这部分层平时放在内存，轮到再上卡。", "This share of the blocks waits in main memory.")
        }
        Field::Ema => both!("另存一份权重的滑动平均，多占一份。", "A moving average of the weights: one more copy."),
        Field::Offload => {
            both!("平时放内存、用时才上卡：省显存，慢得多。", "What waits in main memory: saves memory, much slower.")
        }
        Field::Objective => {
            both!("偏好对齐一次看一好一坏两条，激活翻倍。", "Preference tuning looks at two samples at once.")
        }
        Field::Task => both!("分类和向量不用整张词表，省得多。", "A label or a vector needs no vocabulary."),
        Field::Framework => {
            both!("库的默认开关不同，显存也不同。", "Libraries differ in their defaults, and so in memory.")
        }
        Field::Samples => {
            both!("一共多少条。影响时间和花费，不影响显存。", "How many there are: matters for time, not for memory.")
        }
        Field::Count => both!("一样的卡有几张。", "How many of the same card."),
        Field::Desktop => {
            both!("桌面和浏览器要分走 0.4 到 1.5 GiB。", "Desktop and browser take 0.4 to 1.5 GiB of it.")
        }
        Field::Sharding => {
            both!("权重、梯度和状态在几张卡之间怎么分。", "How weights and state are divided over the cards.")
        }
        Field::Interconnect => {
            both!("不填就按这种卡通常的接法算。", "Automatic: as such cards usually are joined.")
        }
        Field::Machines => {
            both!("不填就按一台八张算；每台有自己的内存。", "Left empty: eight cards each. Each has memory of its own.")
        }
        Field::Network => both!("机器之间传梯度走的网络。", "What gradients travel over from machine to machine."),
        Field::Tensor => {
            both!(
                "每个矩阵切成几份，层层都要对话，要 NVLink。",
                "Parts of every matrix; talks in every layer, wants NVLink."
            )
        }
        Field::Pipeline => {
            both!(
                "层切成几段，一段接一段；累积少了会空等。",
                "Stages of layers in turn; idle where accumulation is short."
            )
        }
        Field::Chunks => both!("每张卡管几小段，空等更少。", "Pieces of layers on each card: less idling."),
        Field::Context => {
            both!("一条样本的 token 分给几张卡，长文本用。", "Cards that share the tokens of one long sample.")
        }
        Field::Expert => both!("一层的专家分给几张卡。", "Cards that share the experts of a layer."),
        Field::Group => {
            both!("这么多卡合存一份，不填就是全部。", "So many cards hold one copy together; empty: all of them.")
        }
        Field::BudgetLimit => both!("愿意花多少，不填也行。", "What you would spend; may be left empty."),
        Field::Currency => both!("价格用哪种货币显示。", "The currency of the prices."),
        Field::Place => both!("自己的卡才算电费，租的不算。", "Counts for cards of your own, not for rented ones."),
        Field::Electricity => both!(
            "不填就用当地常见的价；1 欧元按 1.16 美元估。",
            "Empty: what is usual there; euros at a guessed 1.16 USD."
        ),
        Field::ExchangeRate => both!("7.1 是估的，照银行牌价改。", "7.1 is a guess: put in what your bank gives."),
        Field::HoursAWeek => {
            both!("买来的卡一周真正训练几个小时。", "Hours a week that a bought card would really train.")
        }
        Field::PriceCard => both!("选一张卡，下面填你看到的价。", "Choose a card and give the prices you see."),
        Field::PriceRent => both!("不填就用目录里的价。", "Left empty: the catalog's offer."),
        Field::PriceNew | Field::PriceUsed => both!("不填就用目录里的价。", "Left empty: the catalog's price."),
        Field::Model
        | Field::LoraRank
        | Field::FrozenShare
        | Field::MicroBatch
        | Field::Accumulation
        | Field::ImageSide
        | Field::Epochs
        | Field::Method
        | Field::Gpu => self::field(field),
    }
}

fn updates(project: &Project) -> f64 {
    let per_update = project.micro_batch.saturating_mul(project.accumulation).max(1) as f64;
    (project.samples as f64 * project.epochs / per_update).ceil()
}

/// What is wrong with a field, what is allowed, and what to do.
pub fn error(lang: Lang, field: Field, error: &FieldError, raw: &str, catalog: &Catalog) -> String {
    let name = match field {
        // The label asks a question, which no sentence can begin with.
        Field::Count => both!("卡的张数", "The number of cards"),
        _ => self::field(field),
    };
    let name = before_chinese(lang, name.text(lang));
    let typed = excerpt(raw);
    match error {
        FieldError::Empty(Kind::Number(range)) => {
            let range = allowed(lang, range);
            say!(lang, "{name}不能空着：填{range}的数。", "{name} is empty: give a number, {range}.")
        }
        FieldError::Empty(_) => say!(
            lang,
            "还没选{name}：打几个字，再从列表里点一个。",
            "No {name} chosen: type a few letters and pick one."
        ),
        FieldError::NotANumber(range) => {
            let range = allowed(lang, range);
            say!(
                lang,
                "{name}要填数字，{range}；“{typed}”看不懂。",
                "{name} takes a number, {range}; \"{typed}\" is not one."
            )
        }
        FieldError::NotWhole { below, above } => {
            let (below, above) = (plain(*below), plain(*above));
            if below == above || below == "0" {
                return say!(
                    lang,
                    "{name}要整数：试试 {above}；你写的是 {typed}。",
                    "{name} takes whole numbers: try {above}; you wrote {typed}."
                );
            }
            say!(
                lang,
                "{name}要整数：试试 {below} 或 {above}；你写的是 {typed}。",
                "{name} takes whole numbers: try {below} or {above}; you wrote {typed}."
            )
        }
        FieldError::OutOfRange(range) => {
            let range = allowed(lang, range);
            say!(lang, "{name}要{range}；你写的是 {typed}。", "{name} must be {range}; you wrote {typed}.")
        }
        FieldError::Unknown { suggestions } => {
            let names: Vec<String> = suggestions.iter().map(|id| row_name(lang, field, id, catalog)).collect();
            if names.is_empty() {
                return say!(
                    lang,
                    "没有找到“{typed}”。换个写法，或者从列表里选。",
                    "\"{typed}\" was not found. Write it another way, or pick from the list."
                );
            }
            let names = names.join(lang.pick("、", ", "));
            say!(lang, "没有找到“{typed}”。最接近的是 {names}。", "\"{typed}\" was not found. The closest: {names}.")
        }
        FieldError::HeadsDoNotDivideHidden { hidden, heads, nearest } => say!(
            lang,
            "宽度 {hidden} 不能被 {heads} 个头整除；用 {nearest} 个头就行。",
            "A hidden size of {hidden} does not divide by {heads} heads; {nearest} heads would do."
        ),
        FieldError::KvHeadsDoNotDivideHeads { heads, kv_heads, nearest } => say!(
            lang,
            "{heads} 个注意力头不能平分给 {kv_heads} 个 KV 头；用 {nearest} 个就行。",
            "{heads} heads cannot be shared out to {kv_heads} KV heads; {nearest} would do."
        ),
    }
}

/// A name with a space behind it where Chinese follows on Latin.
fn before_chinese(lang: Lang, name: &str) -> String {
    let space = lang == Lang::Zh && name.ends_with(|c: char| c.is_ascii_alphanumeric());
    if space { format!("{name} ") } else { name.to_string() }
}

/// `在 1 到 1,048,576 之间`, `1 to 1,048,576`.
fn allowed(lang: Lang, range: &Range) -> String {
    let (min, max) = (plain(range.min), if range.max >= 1e9 { about(lang, range.max) } else { plain(range.max) });
    let before = before_word(lang, &max);
    say!(lang, "在 {min} 到 {before}之间", "{min} to {max}")
}

/// The first characters of what was typed, so that a pasted page does not fill the screen.
fn excerpt(raw: &str) -> String {
    const LONGEST: usize = 24;
    let shown = raw.trim();
    if shown.chars().count() <= LONGEST {
        return shown.to_string();
    }
    shown.chars().take(LONGEST).chain(['…']).collect()
}

fn row_name(lang: Lang, field: Field, id: &str, catalog: &Catalog) -> String {
    let name = match field {
        Field::Gpu | Field::PriceCard => {
            return catalog.gpu(id).map_or_else(|| id.into(), |g| super::card_called(lang, g));
        }
        Field::Model => return catalog.model(id).map_or_else(|| id.into(), |m| super::model_called(lang, m)),
        Field::Preset => match (super::featured::name(id), catalog.preset(id)) {
            (Some(name), _) => name.text(lang),
            (None, Some(p)) => lang.pick(p.name_zh, p.name_en),
            (None, None) => id,
        },
        _ => super::choice(lang, field, id),
    };
    name.to_string()
}
