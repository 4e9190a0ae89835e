//! What stands around the ready files.

use super::{Lang, Message, both, say};
use crate::project::Framework;
use crate::units::Bytes;

/// The fold.
pub const RECIPES: Message = both!("拿去就能跑的配置", "Files ready to run");
/// What they are.
pub const NOTE: Message = both!(
    "按屏幕上的设置写好的。把 my_data 换成你的数据，先跑 20 步看看显存。",
    "Written for the settings on screen. Put your data in place of my_data, and run twenty steps first."
);
/// The libraries.
pub const LIBRARY: Message = both!("用哪个库", "Library");
/// To a file.
pub const DOWNLOAD: Message = both!("下载", "Download");
/// Nothing for this model.
pub const NONE: Message = both!(
    "这个模型配上这些设置，还没有现成的配置；设置照抄到你的脚本里就行。",
    "There are no ready files for this model with these settings; copy the settings into your own script."
);

/// What the data looks like, as a library reads it.
pub const fn data(library: Framework) -> Option<Message> {
    Some(match library {
        Framework::Kohya => both!(
            "图片和同名的 .txt 说明放进 my_data/1_名字 这样的子文件夹，前面的 1 是每轮重复几次；轮数照写的算，别再加重复。",
            "Pictures and their captions (.txt, the same name) stand in a folder such as my_data/1_style; the 1 is how often each is seen in an epoch."
        ),
        Framework::Diffusers => both!(
            "说明写在 my_data/metadata.jsonl 里，每行 {\"file_name\": \"1.png\", \"text\": \"……\"}；同名的 .txt 它不读。",
            "Captions stand in my_data/metadata.jsonl, a line each: {\"file_name\": \"1.png\", \"text\": \"...\"}; it reads no .txt files."
        ),
        Framework::LlamaFactory => both!(
            "数据放进 data/my_data.json，每条 {\"instruction\": \"……\", \"output\": \"……\"}；再到 data/dataset_info.json 里登记 \"my_data\": {\"file_name\": \"my_data.json\"}。",
            "Put data/my_data.json there, each {\"instruction\": \"...\", \"output\": \"...\"}, and name it in data/dataset_info.json: \"my_data\": {\"file_name\": \"my_data.json\"}."
        ),
        Framework::Unsloth => both!(
            "my_data.jsonl 每行一段对话：{\"messages\": [{\"role\": \"user\", \"content\": \"……\"}, {\"role\": \"assistant\", \"content\": \"……\"}]}。",
            "my_data.jsonl has a conversation a line: {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}, {\"role\": \"assistant\", \"content\": \"...\"}]}."
        ),
        Framework::Transformers => both!(
            "my_data.jsonl 每行一条：{\"text\": \"……\"}；分类再加一项 \"label\": 0。",
            "my_data.jsonl has a sample a line: {\"text\": \"...\"}, with \"label\": 0 for a classifier."
        ),
        _ => return None,
    })
}

/// Captions are encoded before the run, by an encoder that may need more than the run.
pub const T5: Message = both!(
    "开训前要先编码说明文字，T5-XXL 会整个上卡：fp16 约 9 GiB，fp8 约 4.5 GiB。卡小就用 fp8 的文件（t5xxl_fp8_e4m3fn，要同时开 fp8_base）。",
    "Before the run the captions are encoded, with all of T5-XXL on the card: about 9 GiB in fp16, 4.5 in fp8. On a small card take the fp8 file (t5xxl_fp8_e4m3fn, with fp8_base)."
);

/// A script that keeps encoders on the card, beside figures that have none there.
pub fn encoders(lang: Lang, card: Bytes, fits: bool) -> String {
    if fits {
        return say!(
            lang,
            "这个脚本训练时文本编码器和 VAE 一直在卡上：一共约 {card}。",
            "This script keeps text encoders and VAE on the card all along: about {card} in all."
        );
    }
    say!(
        lang,
        "这个脚本训练时文本编码器和 VAE 一直在卡上：一共约 {card}，这张卡装不下，用 kohya 的。",
        "This script keeps text encoders and VAE on the card all along: about {card} in all. That does not fit this card; take kohya's."
    )
}

/// The library on the tab is not the one that the figures are for.
pub fn other(lang: Lang, library: &str) -> String {
    say!(
        lang,
        "上面的数是按 {library} 算的；换了库，默认开关不同，显存也会差一些。",
        "The figures above are for {library}; another library has other defaults, and so other figures."
    )
}

/// What a file is for.
pub fn purpose(file: &str) -> Message {
    match file {
        "run.sh" => both!(
            "在终端里运行；Windows 上用 WSL 或 Git Bash，cmd 不认行尾的反斜杠",
            "Run it in a terminal; on Windows in WSL or Git Bash, since cmd takes no backslash at the end of a line"
        ),
        "accelerate.yaml" => both!("accelerate 的多卡配置", "How accelerate shares the work"),
        "ds_config.json" => both!("DeepSpeed 的多卡配置", "How DeepSpeed shares the work"),
        "data.yaml" => both!("数据在哪", "Where the data is"),
        "train.py" => both!("训练脚本", "The script"),
        _ => both!("训练配置", "The configuration"),
    }
}
