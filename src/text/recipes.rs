//! What stands around the ready files.

use super::{Lang, Message, both, say};

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

/// Where kohya's scripts look for pictures.
pub const KOHYA_DATA: Message = both!(
    "图片和同名的 .txt 说明放进 my_data/1_名字 这样的子文件夹，前面的 1 是每轮重复几次；轮数照写的算，别再加重复。",
    "Pictures and their captions (.txt, the same name) stand in a folder such as my_data/1_style; the 1 is how often each is seen in an epoch."
);

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
