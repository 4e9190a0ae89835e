//! Names of companies and their offers, as people in each language know them.

use super::Lang;
use crate::catalog::{Gpu, Model};

/// Providers under the name they have in Chinese.
const PROVIDERS: &[(&str, &str)] = &[
    ("Alibaba Cloud", "阿里云"),
    ("Alibaba Cloud PAI-DSW", "阿里云 PAI-DSW"),
    ("Alibaba Tianchi", "阿里天池"),
    ("Baidu AI Studio", "百度飞桨 AI Studio"),
    ("Huawei Cloud", "华为云"),
    ("Huawei ModelArts", "华为云 ModelArts"),
    ("ModelScope", "魔搭 ModelScope"),
    ("Tencent Cloud", "腾讯云"),
];

/// Offers whose name holds English words.
const OFFERS: &[(&str, &str)] = &[
    ("free T4", "免费 T4"),
    ("compute units T4", "计算单元 T4"),
    ("compute units L4", "计算单元 L4"),
    ("compute units A100 40 GB", "计算单元 A100 40 GB"),
    ("compute units A100 80 GB", "计算单元 A100 80 GB"),
    ("compute units G4 (RTX PRO 6000)", "计算单元 G4（RTX PRO 6000）"),
    ("subscription", "订阅"),
    ("Free plan credits", "免费套餐额度"),
    ("Free-GPU (M4000 8 GB) or Free-P5000 (16 GB)", "免费 M4000 8 GB 或 P5000 16 GB"),
    ("H200 slice", "H200 切片"),
    ("Starter credits", "新用户额度"),
    ("new customer credit", "新用户额度"),
    ("student credit", "学生额度"),
    ("student discount", "学生优惠"),
    ("trial (A10 or V100 class)", "试用（A10 或 V100 级）"),
    ("Notebook GPU", "免费 GPU 实例"),
    ("Ascend 910 / A100 / V100 tasks", "昇腾 910、A100、V100 任务"),
    ("A100 slices 10-50%", "A100 切片 10% 到 50%"),
    ("free Notebook (P100 or Ascend)", "免费 Notebook（P100 或昇腾）"),
];

/// English words in the names of cards and models, as one says them in Chinese.
const WORDS: &[(&str, &str)] = &[
    (" (modded, blower)", "（改装，涡轮）"),
    (" (modded)", "（改装）"),
    (" (one of 4 GPUs on the board)", "（一板四芯中的一颗）"),
    (" (one of 2 GPUs)", "（一板双芯中的一颗）"),
    (" (per chip)", "（单芯片）"),
    (" (per GPU)", "（单颗 GPU）"),
    (" (GB10, 128 GB unified)", "（GB10，128 GB 统一内存）"),
    (" (Strix Halo, 128 GB unified)", "（Strix Halo，128 GB 统一内存）"),
    (" (text part)", "（文本部分）"),
    (" (text part, 1T-A32B)", "（文本部分，1T-A32B）"),
    (" (with vision)", "（带视觉）"),
    (" (14B with vision)", "（14B，带视觉）"),
    (" (default)", "（默认结构）"),
    (" (transformers default)", "（transformers 默认）"),
    (" (Stable-Baselines3 default)", "（Stable-Baselines3 默认）"),
    (" (class-conditional)", "（按类别生成）"),
    (" (large)", "（大）"),
    (" (small)", "（小）"),
    (" (video + audio)", "（视频加声音）"),
    (" (3 hidden layers of 256)", "（三层，各宽 256）"),
    (" (also chinese-hubert-base)", "（chinese-hubert-base 也是它）"),
    (" (2 ResNet-9 generators + 2 PatchGANs)", "（两个 ResNet-9 生成器加两个 PatchGAN）"),
    (" (5 double + 10 single)", "（5 双流加 10 单流）"),
    (" (23 blocks)", "（23 块）"),
    (" (patch 4, window 7)", "（图块 4，窗口 7）"),
    (" (encoder 85.799 M + decoder)", "（编码器 8,580 万加解码器）"),
    (" (encoder 303.302 M + decoder)", "（编码器 3.03 亿加解码器）"),
    (" (encoder 630.765 M + decoder)", "（编码器 6.31 亿加解码器）"),
    (" classic (64-1024), 3 in, 2 out", "经典结构（64 到 1024，3 进 2 出）"),
    (" half width (32-512)", "半宽（32 到 512）"),
    (", ResNet-18 encoder", "（ResNet-18 编码器）"),
    (", ResNet-34 encoder", "（ResNet-34 编码器）"),
    (", ResNet-50 encoder", "（ResNet-50 编码器）"),
    (", EfficientNet-B4 encoder", "（EfficientNet-B4 编码器）"),
    (", ResNet-101", "（ResNet-101）"),
    (", ResNet-50", "（ResNet-50）"),
    (", ResNet-34", "（ResNet-34）"),
    (", LVIS", "（LVIS 数据集）"),
    (" (512 x 512 patch, 8 stages)", "（图块 512 × 512，8 级）"),
    (" full-res (128^3 patch, 6 stages)", " 全分辨率（图块 128³，6 级）"),
    (" (128^3 patch, for 8 GB)", "（图块 128³，给 8 GB 的卡）"),
    (" (192^3 patch, for 24 GB)", "（图块 192³，给 24 GB 的卡）"),
    (" (224^3 patch, for 40 GB)", "（图块 224³，给 40 GB 的卡）"),
    (" (two experts)", "（两个专家）"),
    ("XGBoost / LightGBM on a GPU", "XGBoost、LightGBM（显卡版）"),
    ("2-layer GCN (Cora)", "两层 GCN（Cora）"),
    ("nanoGPT Shakespeare char", "nanoGPT 莎士比亚字符"),
    ("TinyStories llama2.c", "讲故事小模型 llama2.c"),
    ("Chinese RoBERTa", "中文 RoBERTa"),
    ("DCGAN (G + D)", "DCGAN（生成器加判别器）"),
    ("Small CNN for MNIST", "MNIST 小卷积网络"),
    ("Small CNN for cat-vs-dog", "猫狗分类小卷积网络"),
    (" base captioning", " base 看图说话"),
    (" stage C", " C 阶段"),
    ("ControlNet for ", "ControlNet，用于 "),
    (" motion module ", " 运动模块 "),
    (", single speaker (LJSpeech)", "（单人，LJSpeech）"),
    (", multi speaker (VCTK)", "（多人，VCTK）"),
    (" dense residual", "（稠密残差）"),
    ("MLP for tables", "表格 MLP"),
    ("3-layer GraphSAGE, 256 wide (ogbn-products)", "三层 GraphSAGE，宽 256（ogbn-products）"),
    ("PPO with two 64-wide layers", "PPO，两层各宽 64"),
    (" with the Nature CNN (Atari)", "，Nature 版卷积网络（Atari）"),
    ("LSTM 2 x 128 for time series", "时间序列 LSTM，2 × 128"),
    (" (2 conv + 2 fc)", "（两层卷积加两层全连接）"),
    (" (4 conv + 2 fc)", "（四层卷积加两层全连接）"),
];

/// Makers of cards under their own name.
const MAKERS: &[(&str, &str)] =
    &[("Ascend", "昇腾"), ("Cambricon", "寒武纪"), ("Hygon", "海光"), ("MetaX", "沐曦"), ("Moore Threads", "摩尔线程")];

/// The name of a card or model of the catalog.
fn thing(lang: Lang, name: &str) -> String {
    if lang == Lang::En {
        return name.to_string();
    }
    let maker = MAKERS.iter().find_map(|(english, own)| Some(format!("{own}{}", name.strip_prefix(english)?)));
    let named = maker.unwrap_or_else(|| name.to_string());
    WORDS.iter().fold(named, |name, (english, chinese)| name.replace(english, chinese))
}

/// What people call a card.
pub fn card(lang: Lang, gpu: &Gpu) -> String {
    thing(lang, gpu.short_name())
}

/// What people call a model.
pub fn model(lang: Lang, model: &Model) -> String {
    thing(lang, model.name)
}

/// What people type who have no card to train on: nothing, a processor, graphics inside the processor.
const NO_GPU: &[&str] = &[
    "no",
    "none",
    "no gpu",
    "no card",
    "i have no gpu",
    "cpu",
    "igpu",
    "integrated",
    "无",
    "没",
    "没有",
    "没卡",
    "没有卡",
    "没显卡",
    "没有显卡",
    "无显卡",
    "无卡",
    "集显",
    "核显",
    "集成显卡",
    "处理器",
];

/// Whether a text says that there is no card to train on.
pub fn says_no_gpu(text: &str) -> bool {
    NO_GPU.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// A name between Chinese words: with a space beside each end that is Latin.
pub(super) fn between(lang: Lang, name: &str) -> String {
    format!("{}{}", if lang == Lang::Zh && latin(name.chars().next()) { " " } else { "" }, before(lang, name))
}

/// A name before Chinese words, after a stop: with a space if it ends in Latin letters.
pub(super) fn before(lang: Lang, name: &str) -> String {
    format!("{name}{}", if lang == Lang::Zh && latin(name.chars().last()) { " " } else { "" })
}

fn latin(letter: Option<char>) -> bool {
    letter.is_some_and(|c| c.is_ascii())
}

/// Who rents or lends: `Gpushare (恒源云)` is 恒源云 in Chinese.
pub(super) fn provider(lang: Lang, name: &'static str) -> &'static str {
    if lang == Lang::En {
        return name;
    }
    if let Some(chinese) = listed(PROVIDERS, name) {
        return chinese;
    }
    let inner = name.split_once(" (").and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.filter(|inner| inner.chars().any(is_chinese)).unwrap_or(name)
}

/// What a platform calls the thing it lends.
pub(super) fn offer(lang: Lang, name: &'static str) -> &'static str {
    match lang {
        Lang::En => name,
        Lang::Zh => listed(OFFERS, name).unwrap_or(name),
    }
}

fn listed(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    table.iter().find(|(english, _)| *english == name).map(|(_, chinese)| *chinese)
}

const fn is_chinese(letter: char) -> bool {
    matches!(letter, '\u{4e00}'..='\u{9fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn offers_have_no_english_words_in_chinese() {
        for free in Catalog::bundled().free.iter() {
            let name = offer(Lang::Zh, free.offer);
            let words = name.split(|c: char| !c.is_ascii_alphabetic()).filter(|w| w.len() > 3);
            // Names of things, not words.
            let left: Vec<&str> = words.filter(|w| !["Notebook", "xlarge"].contains(w)).collect();
            assert!(left.is_empty(), "{}: {name}", free.platform);
        }
    }

    #[test]
    fn cards_and_models_have_no_english_words_in_chinese() {
        let catalog = Catalog::bundled();
        let cards = catalog.gpus.iter().map(|g| card(Lang::Zh, g));
        let models = catalog.models.iter().map(|m| model(Lang::Zh, m));
        let english = [
            " default)",
            "(default",
            "hidden layers",
            "generators",
            "modded",
            "one of",
            "per chip",
            "per GPU",
            "unified",
            "text part",
            "with vision",
            "encoder",
            " for ",
            " with ",
            " stages",
            "speaker",
            "Small CNN",
        ];
        for name in cards.chain(models) {
            let left = english.iter().chain(MAKERS.iter().map(|(maker, _)| maker)).find(|word| name.contains(**word));
            assert!(left.is_none(), "{name}");
        }
        assert_eq!(thing(Lang::Zh, "Moore Threads MTT S80 16 GB"), "摩尔线程 MTT S80 16 GB");
        assert_eq!(thing(Lang::En, "Qwen3.5-2B (text part)"), "Qwen3.5-2B (text part)");
    }

    #[test]
    fn names_stand_well_among_chinese() {
        assert_eq!(between(Lang::Zh, "魔搭 ModelScope"), "魔搭 ModelScope ");
        assert_eq!(between(Lang::Zh, "Kaggle"), " Kaggle ");
        assert_eq!(between(Lang::Zh, "阿里天池"), "阿里天池");
        assert_eq!(between(Lang::En, "Kaggle"), "Kaggle");
    }

    #[test]
    fn having_no_card_is_said_in_many_ways() {
        assert!(says_no_gpu("没有") && says_no_gpu(" CPU ") && says_no_gpu("No GPU") && !says_no_gpu("4090"));
    }

    #[test]
    fn companies_go_by_the_name_people_know() {
        assert_eq!(provider(Lang::Zh, "Gpushare (恒源云)"), "恒源云");
        assert_eq!(provider(Lang::En, "Gpushare (恒源云)"), "Gpushare (恒源云)");
        assert_eq!(provider(Lang::Zh, "Verda (DataCrunch)"), "Verda (DataCrunch)");
        assert_eq!(provider(Lang::Zh, "Tencent Cloud"), "腾讯云");
    }
}
