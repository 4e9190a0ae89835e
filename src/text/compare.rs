//! Why not this card, cards side by side, the project grown.

use super::money::{plan_card, plan_cost, plan_way};
use super::numbers::{about_hours, counted, dearer, hours, money, percent, plain, slower, whole};
use super::{Lang, Message, both, choice, say};
use crate::advise::{Against, CardBar, Cooling, Growth, Plan, Side, Way};
use crate::catalog::{Catalog, Gpu, GpuFamily};
use crate::project::{Choice, Field};
use crate::units::significant;

/// Why not this card, in one or two sentences.
pub fn why_not(lang: Lang, gpu: &Gpu, reasons: &[Against], catalog: &Catalog) -> String {
    let name = super::card_called(lang, gpu);
    let said: Vec<String> = reasons.iter().map(|r| against(lang, &name, r, catalog)).collect();
    said.join(lang.pick("", " "))
}

fn against(lang: Lang, name: &str, reason: &Against, catalog: &Catalog) -> String {
    let beside = super::names::between(lang, name);
    let card = |p: &Plan| format!("{}{}", plan_card(lang, p, catalog), lang.pick("（", " ("));
    let full = |p: &Plan| {
        let (card, way, close) = (card(p), plan_way(lang, p), lang.pick("）", ")"));
        format!("{card}{way}{close}")
    };
    match reason {
        Against::CannotRun(CardBar::NoPyTorch) => {
            say!(lang, "PyTorch 的安装包不支持 {name}。", "PyTorch's packages do not support {name}.")
        }
        Against::CannotRun(CardBar::LibraryNeedsBf16) => {
            say!(lang, "没有 bf16，torchtune 用不了。", "It has no bf16, and torchtune takes no fp16.")
        }
        Against::CannotRun(CardBar::NoQuantization) => say!(
            lang,
            "这个项目要用 bitsandbytes 的 4 bit 或 8 bit 内核，它没有{beside}的版本。",
            "This project needs the 4-bit or 8-bit kernels of bitsandbytes, and there are none for the {name}."
        ),
        Against::CannotRun(CardBar::TreesNeedCuda) => say!(
            lang,
            "XGBoost 只会用 CUDA 显卡，用不上 {name}，会在处理器上跑。",
            "XGBoost uses cards with CUDA only: beside {name} it runs on the processor."
        ),
        Against::TooSmall { missing, enough: Some(count) } if *count > 1 => say!(
            lang,
            "一张 {name} 装不下，差 {missing}；{count} 张一起才够。",
            "One {name} is too small by {missing}; it takes {count} of them."
        ),
        Against::TooSmall { missing, .. } => {
            say!(lang, "{name} 装不下，差 {missing}。", "{name} is too small by {missing}.")
        }
        Against::Tight => say!(
            lang,
            "{name} 的显存刚好在误差范围里，可能装得下，也可能不够。",
            "{name} is within the error band: it may fit or run out."
        ),
        Against::Warning(warning) => {
            let (head, body) = (super::warning(*warning).text(lang), super::warning_detail(*warning).text(lang));
            say!(lang, "{head}：{body}", "{head}: {body}")
        }
        Against::TooSlow { hours: h } => {
            let time = about_hours(lang, *h);
            say!(lang, "在它上面要跑{time}，太久了。", "It would take {time}: too long.")
        }
        Against::NotOffered => say!(
            lang,
            "装得下，但目录里没有人用你的货币出租，也没有报价。",
            "It fits, but the catalog has neither a rental in your currency nor a price for it."
        ),
        Against::Beaten { plan, by } => {
            let (own, own_time) = (plan_cost(lang, plan), waited(lang, plan));
            let (better, cost, time) = (full(by), plan_cost(lang, by), waited(lang, by));
            let mine = plan_card(lang, plan, catalog);
            say!(
                lang,
                "能跑，但又慢又贵。{mine}：{own}、{own_time}；{better}：{cost}、{time}。",
                "{mine} would do, but slower and dearer: {own} and {own_time}, where {better} takes {cost} and {time}."
            )
        }
        Against::Trade { plan, than } => {
            let (own, own_time, other) = (plan_cost(lang, plan), waited(lang, plan), full(than));
            let mine = plan_card(lang, plan, catalog);
            let money = plan.cost.amount / than.cost.amount.max(1e-9) - 1.0;
            let time = plan.wait / than.wait.max(1e-9) - 1.0;
            let less = |value: f64, word: Message| {
                let (share, word) = (percent(value.abs()), word.text(lang));
                say!(lang, "{word} {share}", "{share} {word}")
            };
            let time = if time < 0.0 { less(time, both!("快", "faster")) } else { slower(lang, time) };
            if than.cost.amount < 0.005 {
                return say!(
                    lang,
                    "可以。{mine}：{own}、{own_time}。和不花钱的 {other}比，{time}。",
                    "You could. {mine}: {own} and {own_time}. Against {other}, which costs nothing: {time}."
                );
            }
            let money = if money < 0.0 { less(money, both!("省", "cheaper")) } else { dearer(lang, money) };
            say!(
                lang,
                "可以。{mine}：{own}、{own_time}。和 {other}比，{money}，{time}。",
                "You could. {mine}: {own} and {own_time}. Against {other}: {money}, {time}."
            )
        }
        Against::Picked(pick, plan) => {
            let (pick, way, cost) = (super::pick(*pick).text(lang), plan_way(lang, plan), plan_cost(lang, plan));
            say!(lang, "它就是“{pick}”的推荐：{way}，{cost}。", "It is the pick \"{pick}\": {way}, {cost}.")
        }
        Against::Nothing => say!(lang, "没有理由不用它。", "Nothing speaks against it."),
    }
}

/// How long until a plan is done, and what of it is no training: setting a rented machine up, and the post.
fn waited(lang: Lang, plan: &Plan) -> String {
    let wait = about_hours(lang, plan.wait);
    let (around, hours) = (plan.wait - plan.hours, about_hours(lang, plan.hours));
    match plan.way {
        Way::Processor | Way::Own => wait,
        // What is small beside the run is not worth a word.
        _ if around < plan.wait * 0.2 => wait,
        Way::New | Way::Used => {
            say!(lang, "{wait}（连等快递，训练只占{hours}）", "{wait} ({hours} of training, the rest delivery)")
        }
        Way::Rent | Way::Spot | Way::Free => {
            say!(lang, "{wait}（连装环境，训练只占{hours}）", "{wait} ({hours} of training, the rest set-up)")
        }
    }
}

/// The project grown: what it would be, what it takes, what to run it on.
pub fn growth(lang: Lang, growth: &Growth, catalog: &Catalog) -> String {
    let (times, need) = (growth.times, growth.need);
    let what = match growth.model.and_then(|id| catalog.model(id)) {
        Some(model) => {
            let (name, size) = (super::model_called(lang, model), counted(lang, model.params as f64));
            say!(
                lang,
                "大 {times} 倍（数据 {times} 倍，模型换成 {name}，{size}参数）",
                "At {times} times the size ({times} times the data, and {name} with {size} parameters)"
            )
        }
        None if !growth.batch => {
            say!(lang, "大 {times} 倍（数据 {times} 倍）", "At {times} times the size ({times} times the data)")
        }
        None => say!(
            lang,
            "大 {times} 倍（数据和批大小都是 {times} 倍）",
            "At {times} times the size ({times} times the data, in batches {times} times as large)"
        ),
    };
    let still = match growth.still_fits {
        Some(true) => both!("，手头的卡还装得下", "; the card of today still holds it"),
        Some(false) if !growth.fits_today => both!("，手头的卡更装不下", "; the card of today holds neither"),
        Some(false) => both!("，手头的卡照这样装不下", "; as it is, the card of today does not hold it"),
        None => both!("", ""),
    }
    .text(lang);
    // Of several cards each holds its part.
    let each = match growth.way {
        Some(way) => {
            let (count, way) = (growth.count, choice(lang, Field::Sharding, way.id()));
            say!(lang, "{count} 张卡一起（{way}），每张要 {need}", "{need} on each of {count} cards ({way})")
        }
        None => say!(lang, "一张卡要 {need}", "{need} on one card"),
    };
    let told = |plan: &Plan| (plan_card(lang, plan, catalog), plan_cost(lang, plan), about_hours(lang, plan.wait));
    let sooner =
        growth.plan.as_ref().filter(|plan| growth.own.is_none_or(|own| plan.way != Way::Own && plan.wait < own.wait));
    let other = sooner.map(|plan| {
        let ((card, cost, wait), way) = (told(plan), plan_way(lang, plan));
        if growth.own.is_some() {
            return say!(
                lang,
                "想快些，用 {card}（{way}），{cost}，{wait}。",
                " To have it sooner take {card} ({way}): {cost}, {wait}."
            );
        }
        // The card of today, which holds it once it is changed.
        if plan.way == Way::Own {
            return say!(
                lang,
                "改一改设置，还能用自己的：{cost}，{wait}。",
                " With settings changed your own will do: {cost}, {wait}."
            );
        }
        say!(lang, "那时用 {card}（{way}），{cost}，{wait}。", " Then take {card} ({way}): {cost}, {wait}.")
    });
    let other = other.unwrap_or_default();
    match &growth.own {
        Some(own) => {
            let (_, cost, wait) = told(own);
            say!(
                lang,
                "{what}：{each}{still}，继续用自己的：{cost}，{wait}。{other}",
                "{what}: {each}{still}, so stay with your own: {cost}, {wait}.{other}"
            )
        }
        None if other.is_empty() => say!(
            lang,
            "{what}：{each}{still}，目录里没有合适的办法。",
            "{what}: {each}{still}, and nothing in the catalog does it."
        ),
        None => say!(lang, "{what}：{each}{still}。{other}", "{what}: {each}{still}.{other}"),
    }
}

/// One line of the comparison: what it is about, and the figure of every card.
pub struct Line {
    /// What it is about.
    pub name: &'static str,
    /// One figure per card.
    pub cells: Vec<String>,
}

/// Cards side by side, line by line.
pub fn side_lines(lang: Lang, sides: &[Side], catalog: &Catalog) -> Vec<Line> {
    let gpus: Vec<(&Side, &Gpu)> = sides.iter().filter_map(|s| Some((s, catalog.gpu(s.gpu)?))).collect();
    let line = |name: Message, cell: &dyn Fn(&Side, &Gpu) -> String| Line {
        name: name.text(lang),
        cells: gpus.iter().map(|(side, gpu)| cell(side, gpu)).collect(),
    };
    let none = || "–".to_string();
    let grouped = |r: f64| if r < 1000.0 { significant(r) } else { whole(r) };
    let tflops = |rate: Option<f64>| rate.map_or_else(none, |r| format!("{} TFLOPS", grouped(r)));
    let lines = vec![
        line(both!("装得下吗", "Does it fit?"), &|s, _| match &s.choice {
            Some(c) if c.fits => {
                let (spare, each) = (c.spare, if c.count > 1 { lang.pick("每张", " each") } else { "" });
                say!(lang, "装得下，{each}余 {spare}", "fits, {spare} to spare{each}")
            }
            Some(c) if c.tight => say!(lang, "悬", "tight"),
            Some(c) => {
                let missing = c.card - c.usable;
                say!(lang, "差 {missing}", "{missing} short")
            }
            None => say!(lang, "跑不了", "cannot run it"),
        }),
        line(both!("跑完这个项目", "This project takes"), &|s, _| {
            s.choice
                .as_ref()
                .filter(|c| c.fits || c.tight)
                .and_then(|c| c.time)
                .map_or_else(none, |t| hours(lang, t.run.hours()))
        }),
        line(both!("租来跑一次", "Rented, all in"), &|s, _| {
            s.rent_run
                .map_or_else(none, |m| money(lang, m, s.choice.as_ref().and_then(|c| c.rent).is_some_and(|r| r.rough)))
        }),
        line(both!("每小时", "An hour of it"), &|s, _| {
            s.choice.as_ref().and_then(|c| c.rent).map_or_else(none, |r| money(lang, r.per_hour, r.rough))
        }),
        line(both!("新卡价", "New"), &|s, _| {
            s.choice.as_ref().and_then(|c| c.buy).and_then(|b| Some(money(lang, b.new?, b.rough))).unwrap_or_else(none)
        }),
        line(both!("显存", "Memory"), &|_, g| format!("{} GB {}", whole(g.memory.gib()), g.memory_type)),
        line(both!("显存带宽", "Bandwidth"), &|_, g| format!("{} GB/s", plain(g.bandwidth_gb_s.round()))),
        line(both!("bf16", "bf16"), &|_, g| {
            g.rates.bf16.map_or_else(|| say!(lang, "不支持", "none"), |r| format!("{} TFLOPS", grouped(r)))
        }),
        line(both!("fp16", "fp16"), &|_, g| tflops(g.rates.fp16)),
        line(both!("fp32", "fp32"), &|_, g| tflops(g.rates.fp32)),
        line(both!("fp8", "fp8"), &|_, g| tflops(g.rates.fp8)),
        line(
            both!(
                "双精度 fp64（模拟计算才用，训练不用）",
                "Double precision, fp64 (for simulations, not for training)"
            ),
            &|_, g| tflops(g.rates.fp64),
        ),
        line(both!("卡间高速互联", "Fast link"), &|_, g| match g.nvlink_gb_s {
            Some(n) => format!("{} GB/s", plain(n.round())),
            None if g.link_is_unknown() => say!(lang, "没查到", "not known"),
            None => say!(lang, "没有，走 PCIe", "none: PCIe"),
        }),
        line(both!("纠错显存 ECC", "ECC memory"), &|_, g| {
            if g.ecc { both!("有", "yes") } else { both!("没有", "no") }.text(lang).to_string()
        }),
        line(both!("板卡功耗", "Board power"), &|_, g| {
            g.tdp_w.map_or_else(none, |w| format!("{} W", plain(w.round())))
        }),
        line(both!("训练时整机插座功耗", "From the wall, training"), &|s, _| {
            s.wall_w.map_or_else(none, |w| format!("{} W", plain(w.round())))
        }),
        line(both!("散热", "Cooling"), &|s, _| cooling(s.cooling).text(lang).to_string()),
        line(both!("7×24 小时", "Around the clock"), &|s, g| clock(s, g).text(lang).to_string()),
        line(both!("软件", "Software"), &|s, _| {
            if s.mainstream {
                both!("照教程就行", "as in the tutorials")
            } else {
                both!("要绕路", "takes detours")
            }
            .text(lang)
            .to_string()
        }),
    ];
    lines.into_iter().filter(|l| l.cells.iter().any(|c| c != "–")).collect()
}

const fn cooling(cooling: Cooling) -> Message {
    match cooling {
        Cooling::Fans => both!("自带风扇，满载吵", "its own fans, loud under load"),
        Cooling::Blower => both!("涡轮或双槽，能并排插", "blower, two slots: stands side by side"),
        Cooling::Server => both!("自己没有风扇，要服务器风道", "none of its own: wants a server's air"),
        Cooling::Machine => both!("整机散热", "that of the machine"),
    }
}

const fn clock(side: &Side, gpu: &Gpu) -> Message {
    match (side.around_the_clock, gpu.family) {
        (true, GpuFamily::Workstation) => both!("按工作站设计和保修", "built and warranted for workstations"),
        (true, _) => both!("按数据中心设计和保修", "built and warranted for data centers"),
        (false, _) => both!("按游戏设计，连跑几周要看运气", "built for games: weeks on end are luck"),
    }
}
