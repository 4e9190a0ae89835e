//! Several cards: what each holds, how they share, the best plan, and pre-training on many.

use super::numbers::{about, before_word, money, percent, plain, whole};
use super::{Lang, Message, both, choices::choice, say};
use crate::advise::plan::{Choice, Instead, Plan, Reason, samples_per_step};
use crate::advise::pretraining::PreTraining;
use crate::advise::several::{NoPlan, Several, Sharing, Smaller};
use crate::catalog::Gpu;
use crate::project::Field;
use crate::units::{Money, significant};

/// The fold.
pub const SEVERAL: Message = both!("几张卡一起训练", "Several cards at once");
/// What people get wrong.
pub const NOT_POOLED: Message = both!(
    "上限是每张卡的：两张 24 GB 不等于一张 48 GB。普通的数据并行（DDP）每张卡都放一整份，只会更快，不会更省；要装下更大的，得换一种分法。",
    "The limit is per card: two of 24 GB are not one of 48. Plain data parallel (DDP) puts a full copy on each, which is faster but saves nothing. To fit more, choose a way that divides."
);
/// Column heads of the table of ways.
pub const HEADS: [Message; 7] = [
    both!("怎么分", "How it is shared"),
    both!("装得下吗", "Fits?"),
    both!("每张卡", "Each card"),
    both!("每台内存", "Main memory"),
    both!("跑完要", "Time"),
    both!("效率", "Efficiency"),
    both!("等数据", "Waiting"),
];
/// What the columns mean.
pub const HEADS_NOTE: Message = both!(
    "每台内存是整台机器的 RAM，所有卡合用。效率：N 张卡的速度除以一张的 N 倍。等数据：一步里卡和卡互相等的时间。",
    "Main memory is the machine's RAM, for all its cards. Efficiency: the speed of N cards over N times that of one. Waiting: the part of a step in which cards wait for each other."
);
/// The question how many are looked at.
pub const LOOK_AT: Message = both!("看几张", "Look at");
/// The project is set to it.
pub const IN_USE: Message = both!("现在这样", "as set");
/// The best plan.
pub const PLAN: Message = both!("最快的分法", "The fastest plan");
/// Nothing fits for sure.
pub const fn no_plan(why: NoPlan) -> Message {
    match why {
        NoPlan::TooLarge => both!(
            "这么多张怎么分都装不下：多加几张，或者换显存更大的卡。",
            "On so many cards no plan fits: take more of them, or cards with more memory."
        ),
        NoPlan::Copies => both!(
            "每张卡都要放一整份，多加几张没用：先改小，或者换显存更大的卡。",
            "Every card holds all of it, so that more of them change nothing: make it smaller, or take cards with more memory."
        ),
        NoPlan::Tight => both!(
            "没有一种稳装得下，表里标“悬”的要碰运气：先改小一点再排。",
            "None fits for sure, and what the table calls tight is a gamble: make it a little smaller first."
        ),
    }
}
/// How the person's cards are joined and cut.
pub const JOINED: Message = both!("怎么连，怎么切", "How they are joined and cut");
/// Those settings are about cards that are owned.
pub const JOINED_NOTE: Message =
    both!("把上面的张数改成 2 张以上，这里就能填。", "Set two cards or more above, and this can be filled in.");
/// No card chosen: one stands in.
pub fn stand_in(lang: Lang, card: &str) -> String {
    say!(lang, "还没选卡，先拿 {card} 来算。", "No card is chosen: worked out for {card}.")
}

/// What one card would need, and how many it takes.
pub fn lead(lang: Lang, several: &Several, gpu: &Gpu, copies: Option<&str>) -> String {
    let (alone, usable, card) = (several.alone, gpu.usable, super::card_called(lang, gpu));
    let one =
        say!(lang, "一张卡单干要 {alone}，{card} 能用 {usable}。", "Alone, a card needs {alone}; {card} has {usable}.");
    let whole = |n: u32| whole(f64::from(n));
    let as_it_is = several.as_it_is.map(whole);
    let rest = match (several.smallest, copies) {
        (Some(1), _) => match (several.alone_with, as_it_is) {
            (None, _) => say!(lang, "一张就装得下，多的卡用来快。", " One is enough; more make it faster."),
            (Some(change), None) => {
                let change = smaller(lang, change);
                say!(
                    lang,
                    "{change}，一张就装得下；多的卡用来快。",
                    " With {change}, one is enough; more make it faster."
                )
            }
            (Some(change), Some(n)) => {
                let change = smaller(lang, change);
                say!(
                    lang,
                    "照现在的设置要 {n} 张；{change}，一张就装得下。",
                    " As it is, it takes {n}; with {change}, one is enough."
                )
            }
        },
        (_, Some(library)) if several.no_plan() == NoPlan::Tight => say!(
            lang,
            "{library} 只会每张卡放一整份：再多卡每张也一样悬，先按上面的办法改小。",
            " {library} only knows full copies: with more cards each is as tight. Make it smaller first, as advised above."
        ),
        (_, Some(library)) => say!(
            lang,
            "{library} 只会每张卡放一整份：再多卡也装不下，先按上面的办法改小。",
            " {library} only knows full copies: more cards will not make it fit. Make it smaller first, as advised above."
        ),
        (Some(least), None) => match (whole(least), as_it_is) {
            (least, Some(n)) if n == least => say!(lang, "{n} 张装得下。", " It takes {n}."),
            (least, n) => {
                let change = smaller(lang, several.smallest_with.unwrap_or(Smaller::Both));
                match n {
                    Some(n) => say!(
                        lang,
                        "照现在的设置要 {n} 张；{change}，{least} 张就装得下。",
                        " As it is, it takes {n}; with {change}, {least} will do."
                    ),
                    None => say!(
                        lang,
                        "{change}，最少 {least} 张装得下。",
                        " With {change}, it takes {least} at the least."
                    ),
                }
            }
        },
        (None, None) => match several.planned.map(whole) {
            Some(least) => say!(
                lang,
                "照现在的分法，一台机器装不下；把模型切开、批大小 1、检查点全开，最少 {least} 张。",
                " As it is shared, one machine does not hold it; with the model cut, a batch of 1 and checkpointing on, it takes {least} at the least."
            ),
            None => say!(
                lang,
                "加到 4,096 张也装不下：最大的一层就超过了一张卡。",
                " Not even 4,096 are enough: its largest layer is too much for a card."
            ),
        },
    };
    one + &rest
}

/// What is changed so that one card is enough, as part of a sentence.
fn smaller(lang: Lang, change: Smaller) -> &'static str {
    match change {
        Smaller::Checkpointing => both!("打开检查点", "checkpointing on"),
        Smaller::OneSample => both!("批大小减到 1", "the batch down to 1"),
        Smaller::Both => both!("批大小减到 1，再打开检查点", "the batch down to 1 and checkpointing on"),
    }
    .text(lang)
}

/// Cards that a cut leaves idle.
pub fn idle(lang: Lang, several: &Several) -> Option<String> {
    let (count, idle) = (several.count, several.idle);
    (idle > 0).then(|| {
        say!(
            lang,
            "{count} 张卡按现在的切法分不匀，有 {idle} 张闲着：让 TP × PP × CP 整除卡数。",
            "Cut like this, {idle} of {count} cards stand idle: let TP x PP x CP divide their number."
        )
    })
}

/// A way to share, in the table.
pub fn sharing(lang: Lang, sharing: &Sharing) -> String {
    choice(lang, Field::Sharding, crate::project::Choice::id(sharing.sharding)).to_string()
}

/// Share of a step in which cards wait for each other.
pub fn waiting(sharing: &Sharing) -> String {
    let Some(time) = sharing.time.as_ref().filter(|t| t.step.0 > 0.0) else { return String::new() };
    percent(time.between.0 / time.step.0)
}

/// A plan in a line: `TP 8 × PP 16 × DP 128, ZeRO-1 ...`.
pub fn plan(lang: Lang, plan: &Plan) -> String {
    let p = &plan.project;
    let (cut, count) = (p.hardware.parallel, p.hardware.count);
    let mut parts = Vec::new();
    if cut.cuts() {
        let data = cut.data(count);
        let mut degrees = format!("TP {} × PP {} × DP {data}", cut.tensor, cut.pipeline);
        if cut.chunks > 1 {
            let pieces = cut.chunks;
            degrees += &say!(lang, "（每卡 {pieces} 段）", " ({pieces} pieces a card)");
        }
        parts.push(degrees);
    }
    if count > 1 {
        let shared = choice(lang, Field::Sharding, crate::project::Choice::id(p.hardware.sharding));
        parts.push(say!(lang, "分工：{shared}", "shared: {shared}"));
    }
    let (micro, steps, all) = (p.micro_batch, p.accumulation, whole(samples_per_step(p) as f64));
    parts.push(if steps == 1 {
        say!(lang, "每卡一次 {micro} 条，一步共 {all} 条", "{micro} at a time on each card: {all} a step")
    } else {
        say!(
            lang,
            "每卡一次 {micro} 条，累积 {steps} 次，一步共 {all} 条",
            "{micro} at a time on each card, accumulated {steps} times: {all} a step"
        )
    });
    let checkpointing = choice(lang, Field::Checkpointing, crate::project::Choice::id(p.checkpointing));
    parts.push(say!(lang, "检查点：{checkpointing}", "checkpointing: {checkpointing}"));
    parts.join(lang.pick("；", "; "))
}

/// What the plan comes to.
pub fn plan_figures(lang: Lang, plan: &Plan) -> String {
    let (card, host) = (plan.memory.card, plan.memory.host);
    let time = super::numbers::about_hours(lang, plan.time.run.hours());
    let (mfu, waiting) = (percent(plan.time.mfu), percent(plan.time.between.0 / plan.time.step.0));
    let card = if plan.tight { say!(lang, "{card}，悬", "{card}, tight") } else { card.to_string() };
    say!(
        lang,
        "每张卡 {card}，每台内存 {host}；跑完{time}，用到峰值算力的 {mfu}，{waiting} 的时间在等数据。",
        "{card} on each card, {host} of main memory a machine; done in {time}, at {mfu} of the peak rate, {waiting} of it waiting for data."
    )
}

const fn without(choice: Choice) -> Message {
    match choice {
        Choice::Sharding => both!("不分状态", "Undivided"),
        Choice::Tensor => both!("不切矩阵", "Without tensor parallelism"),
        Choice::Pipeline => both!("不切流水线", "Without a pipeline"),
        Choice::Offload => both!("不放到内存", "Kept on the cards"),
        Choice::Checkpointing => both!("不开检查点", "Without checkpointing"),
    }
}

/// What a plan without a part would change besides, as the end of a phrase; nothing where nothing.
fn instead(lang: Lang, instead: &Instead) -> String {
    let id = crate::project::Choice::id;
    let way = instead.sharding.map(|way| choice(lang, Field::Sharding, id(way)).to_string());
    let cut = instead.cut.map(|(tensor, pipeline)| format!("TP {tensor} × PP {pipeline}"));
    let micro = instead.micro_batch.map(|micro| say!(lang, "每卡一次 {micro} 条", "{micro} at a time on each card"));
    let again = instead.checkpointing.map(|kind| {
        let kind = choice(lang, Field::Checkpointing, crate::project::Choice::id(kind));
        say!(lang, "检查点：{kind}", "checkpointing: {kind}")
    });
    let parts: Vec<String> = [way, cut, micro, again].into_iter().flatten().collect();
    if parts.is_empty() {
        return String::new();
    }
    let parts = parts.join(lang.pick("，", ", "));
    say!(lang, "（就得换成：{parts}）", " (it then takes: {parts})")
}

/// Why a part of the plan is there.
pub fn reason(lang: Lang, reason: &Reason) -> String {
    match reason {
        Reason::WouldNotFit { choice, needs, instead: other } => {
            let without = without(*choice).text(lang).to_string() + &instead(lang, other);
            say!(lang, "{without}：最少也要 {needs}，装不下。", "{without}, {needs} at the least: does not fit.")
        }
        Reason::Tight { choice, needs, instead: other } => {
            let without = without(*choice).text(lang).to_string() + &instead(lang, other);
            say!(
                lang,
                "{without}：最少要 {needs}，勉强装得下，估算稍有偏差就会爆显存。",
                "{without}, {needs} at the least: tight, it may run out if the estimate is a little low."
            )
        }
        Reason::Slower { choice, times, instead: other } => {
            let without = without(*choice).text(lang).to_string() + &instead(lang, other);
            if *times < 1.005 {
                return say!(lang, "{without}：一样快，但余量更少。", "{without}: as fast, with less to spare.");
            }
            let slower = super::numbers::slower(lang, times - 1.0);
            say!(lang, "{without}：{slower}。", "{without}: {slower}.")
        }
    }
}

/// Pre-training.
pub const CLUSTER: Message = both!("从零训练要多少卡，多少天", "Pre-training: how many cards, how many days");
/// What it is about.
pub const CLUSTER_NOTE: Message = both!(
    "给出 token 数和卡数，排一个最快的分法，把坏卡重启也算进去。",
    "Give tokens and cards: the fastest plan, with failures and restarts counted in."
);
/// Tokens.
pub const TOKENS: Message = both!("token 数", "Tokens");
/// Cards.
pub const CARDS: Message = both!("卡数", "Cards");
/// Lines of the answer.
pub const CLUSTER_LINES: [Message; 8] = [
    both!("分法", "Plan"),
    both!("一步", "A step"),
    both!("每张卡", "Each card"),
    both!("多久", "Takes"),
    both!("卡时", "GPU-hours"),
    both!("租金", "Rented"),
    both!("中断", "Interruptions"),
    both!("速度", "Speed"),
];

/// The values of [`CLUSTER_LINES`]. `price` is for a card and hour, with the month it was read in; `published` are the
/// tokens of a step with which models of this size were trained.
pub fn cluster(
    lang: Lang,
    run: &PreTraining,
    found: &Plan,
    price: Option<(Money, &'static str, &str)>,
    published: f64,
) -> [String; 8] {
    let card = found.memory.card;
    let band = super::numbers::band(found.memory.band);
    // Large runs are tuned to fill their cards: that is told.
    let tight = if found.tight { both!("，悬", ", tight") } else { both!("", "") }.text(lang);
    let days = super::numbers::about_hours(lang, run.days * 24.0);
    let hours = before_word(lang, &about(lang, run.gpu_hours));
    let hours = say!(lang, "{hours}GPU 小时", "{hours}").trim_end().to_string();
    let breaks = before_word(lang, &about(lang, run.interruptions.ceil()));
    let effective = percent(run.effective);
    let rate = about(lang, run.tokens_per_second);
    let each = significant(run.per_card.0 / 1e12);
    let mfu = percent(found.time.mfu);
    let cost = price.map_or_else(
        || super::labels::UNKNOWN.text(lang).to_string(),
        |(hour, provider, month)| {
            let all = money(lang, Money { amount: run.cost, ..hour }, true);
            let hour = money(lang, hour, false);
            let who = super::names::provider(lang, provider);
            let month = super::numbers::month(lang, month);
            say!(
                lang,
                "{all}（每张卡每小时 {hour}，{who}，{month}；大单另谈）",
                "{all} (at {hour} a card and hour, {who}, {month}; large orders are negotiated)"
            )
        },
    );
    [
        plan(lang, found),
        step(lang, run.tokens_per_step, published),
        say!(lang, "{card}（{band}{tight}）", "{card} ({band}{tight})"),
        days,
        hours,
        cost,
        say!(
            lang,
            "约 {breaks}次，{effective} 的时间真在训练（按 Llama 3 报告的故障率）",
            "about {breaks}of them; {effective} of the time is training, at the rate of the Llama 3 report"
        ),
        say!(
            lang,
            "每秒 {rate} token，每张卡 {each} TFLOP/s，峰值的 {mfu}",
            "{rate} tokens a second, {each} TFLOP/s a card, {mfu} of the peak"
        ),
    ]
}

/// Tokens of a step, and whether anybody has trained with so many.
fn step(lang: Lang, tokens: f64, published: f64) -> String {
    let all = before_word(lang, &about(lang, tokens));
    if tokens <= 2.0 * published {
        return say!(lang, "{all}token", "{all}tokens");
    }
    let usual = before_word(lang, &about(lang, published));
    say!(
        lang,
        "{all}token。这么大的模型公开的训练一步约 {usual}token，再大没人报告过效果：少用些卡，或者一条样本切到几张卡上（TP、PP、CP）",
        "{all}tokens. Published training of models of this size takes about {usual}a step; beyond that nobody has told how well it \
         learns: use fewer cards, or cut a sample over several (TP, PP, CP)"
    )
}

/// What is allowed in the two inputs.
pub fn cluster_error(lang: Lang, most: f64) -> String {
    if most < 1e9 {
        let most = plain(most);
        return say!(lang, "填 1 到 {most} 之间的数。", "A number from 1 to {most}.");
    }
    let most = about(lang, most);
    let word = before_word(lang, &most);
    say!(lang, "填 1 到 {word}之间的数，可以写 15T、2 万亿、300B。", "A number from 1 to {most}: 15T and 300B will do.")
}
