//! The worked example: one model, one card, three ways to train it.

use enough_gpu::advise::{self, Verdict};
use enough_gpu::catalog::{Catalog, Gpu, LanguageModel};
use enough_gpu::estimate::{self, MemoryEstimate, Part};
use enough_gpu::network;
use enough_gpu::project::{Checkpointing, Method, Project};
use enough_gpu::step::Task;
use enough_gpu::text::{self, Lang, numbers};
use enough_gpu::units::{Bytes, Currency};
use std::fmt::Write as _;

const MODEL: &str = "qwen2.5-7b";
const CARD: &str = "rtx-4060-ti-16gb";
const TOKENS: u64 = 2048;

/// A figure of an estimate.
type Figure = fn(&MemoryEstimate) -> Bytes;

fn projects(lang: Lang) -> [(&'static str, Project); 3] {
    let mut lora = Project {
        model: MODEL.into(),
        method: Method::Lora,
        micro_batch: 1,
        accumulation: 16,
        sequence: TOKENS,
        samples: 5000,
        epochs: 3.0,
        ..Project::default()
    };
    lora.hardware.gpu = CARD.into();
    lora.budget.currency = lang.pick(Currency::Cny, Currency::Usd);
    let checkpointed = Project { checkpointing: Checkpointing::PerBlock, ..lora.clone() };
    let quantized = Project { method: Method::QLora, ..checkpointed.clone() };
    [
        ("LoRA", lora),
        (lang.pick("LoRA + 梯度检查点", "LoRA, checkpointing"), checkpointed),
        (lang.pick("QLoRA + 梯度检查点", "QLoRA, checkpointing"), quantized),
    ]
}

fn verdict(lang: Lang, verdict: Verdict) -> String {
    match verdict {
        Verdict::Fits { spare } => lang.pick(format!("够用，还剩 {spare}"), format!("fits, {spare} to spare")),
        Verdict::Tight { .. } => lang.pick("悬，在误差带里", "may or may not fit").to_owned(),
        Verdict::RunsOut { missing } => {
            lang.pick(format!("不够，差 {missing}"), format!("runs out, {missing} are missing"))
        }
        _ => String::new(),
    }
}

/// The tables of the example.
pub(crate) fn tables(lang: Lang, catalog: &Catalog) -> Result<String, String> {
    let card = catalog.gpu(CARD).ok_or("the card is not there")?;
    let model = catalog.model(MODEL).and_then(|m| m.language()).ok_or("the model is not there")?;
    let projects = projects(lang);
    let mut columns = Vec::new();
    for (name, project) in &projects {
        let failed = |why| format!("{name}: {why:?}");
        let advice = advise::advise(project, catalog).map_err(failed)?;
        let simulated = estimate::reserved(project, Some(card), catalog).map_err(failed)?;
        columns.push((*name, project, advice, simulated));
    }
    let mut out = head(&columns.iter().map(|c| c.0).collect::<Vec<_>>());
    let line = |out: &mut String, name: &str, cells: Vec<String>| {
        let _ = writeln!(out, "| {name} | {} |", cells.join(" | "));
    };
    for part in Part::ALL {
        let cells = columns.iter().map(|c| c.2.memory.part(part).to_string()).collect();
        line(&mut out, text::part(part).text(lang), cells);
    }
    let totals: [(&str, Figure); 3] = [
        (lang.pick("峰值：allocated", "peak: allocated"), |m| m.allocated),
        (lang.pick("reserved，至少", "reserved, at the least"), |m| m.reserved),
        (lang.pick("**整张卡要**", "**the card needs**"), |m| m.card),
    ];
    for (name, figure) in totals {
        line(&mut out, name, columns.iter().map(|c| figure(&c.2.memory).to_string()).collect());
    }
    line(
        &mut out,
        lang.pick("reserved，有空地时（模拟分配器）", "reserved where there is room (allocator simulated)"),
        columns.iter().map(|c| c.3.to_string()).collect(),
    );
    let moments = columns.iter().map(|c| text::moment(c.2.memory.moment).text(lang).to_owned()).collect();
    line(&mut out, lang.pick("峰值在哪一段", "the peak is in"), moments);
    let bands = columns.iter().map(|c| numbers::band(c.2.memory.band)).collect();
    line(&mut out, lang.pick("误差带", "band"), bands);
    let has = columns.iter().map(|_| card.usable.to_string()).collect();
    line(&mut out, lang.pick("卡上 PyTorch 能用", "the card has for PyTorch"), has);
    let verdicts = columns.iter().map(|c| verdict(lang, c.2.verdict)).collect();
    line(&mut out, lang.pick("**结论**", "**verdict**"), verdicts);
    let times = columns
        .iter()
        .map(|c| match c.2.time.filter(|_| !matches!(c.2.verdict, Verdict::RunsOut { .. })) {
            Some(time) => format!("{:.0} × {:.1} s = {:.1} h", time.steps, time.step.0, time.run.hours()),
            None => "–".to_owned(),
        })
        .collect();
    line(&mut out, lang.pick("步数 × 每步 = 全程", "steps × time of one = the run"), times);
    let rents = columns
        .iter()
        .map(|c| {
            c.2.cards
                .iter()
                .filter(|choice| choice.fits)
                .filter_map(|choice| Some((choice, choice.rent.as_ref()?, choice.rent.as_ref()?.run?)))
                .filter(|(_, rent, _)| !rent.converted)
                .min_by(|a, b| a.2.amount.total_cmp(&b.2.amount))
                .map_or_else(
                    || "–".to_owned(),
                    |(choice, rent, run)| {
                        let name = catalog.gpu(choice.gpu).map_or(choice.gpu, |g| g.name);
                        let (run, hour) = (numbers::money(lang, run, rent.rough), rent.per_hour);
                        let hour = numbers::money(lang, hour, rent.rough);
                        let h = lang.pick("时", "h");
                        format!("{} × {name}: {run} ({hour}/{h}, {})", choice.count, rent.as_of)
                    },
                )
        })
        .collect();
    line(&mut out, lang.pick("最省的租法", "cheapest to rent"), rents);
    out.push('\n');
    out += &by_hand(lang, model, card, projects.last().map(|p| &p.1), columns.last().map(|c| &c.2.memory));
    Ok(out)
}

fn head(columns: &[&str]) -> String {
    format!("| | {} |\n|---|{}\n", columns.join(" | "), "--:|".repeat(columns.len()))
}

/// The same figures by hand for the last column, as far as a hand gets.
fn by_hand(
    lang: Lang,
    model: &LanguageModel,
    card: &Gpu,
    project: Option<&Project>,
    memory: Option<&MemoryEstimate>,
) -> String {
    let (Some(project), Some(memory)) = (project, memory) else { return String::new() };
    let config = estimate::stack::configure(project, u64::from(model.layers), Task::LanguageModel, Some(card));
    let program = network::language(model, &config);
    let (mut packed, mut packed_weights) = (0, 0u64);
    let (mut wide, mut wide_weights) = (0, 0u64);
    let (mut adapters, mut adapter_weights) = (0, 0u64);
    for weight in &program.weights {
        let (bytes, numel) = (weight.bytes(), weight.numel * weight.times);
        if weight.trained {
            adapters += bytes;
            adapter_weights += numel;
        } else if bytes < numel {
            packed += bytes;
            packed_weights += numel;
        } else {
            wide += bytes;
            wide_weights += numel;
        }
    }
    let vocabulary = u64::from(model.vocab);
    let hidden = u64::from(model.hidden);
    let layers = u64::from(model.layers);
    let logits = TOKENS * vocabulary * 4;
    let inputs = TOKENS * hidden * 4 * layers;
    let whole = |n: u64| numbers::whole(n as f64);
    let billions = |n: u64| format!("{:.3}", n as f64 / 1e9);
    let rows: [(String, String, Bytes); 6] = [
        (
            lang.pick("4 bit 权重", "weights in 4 bit").to_owned(),
            format!("{} × 10⁹ × {:.4} B", billions(packed_weights), packed as f64 / packed_weights.max(1) as f64),
            Bytes(packed),
        ),
        (
            lang.pick(
                "嵌入、输出头、归一化：k-bit 预处理后是 fp32",
                "embedding, head, norms: fp32 after k-bit preparation",
            )
            .to_owned(),
            format!("{} × 10⁹ × {:.0} B", billions(wide_weights), wide as f64 / wide_weights.max(1) as f64),
            Bytes(wide),
        ),
        (
            lang.pick(
                "输出头的 16 位副本：autocast 转的，留到它的反向",
                "16-bit copy of the head: autocast's, kept until its backward",
            )
            .to_owned(),
            format!("{} × {} × 2 B", whole(vocabulary), whole(hidden)),
            Bytes(vocabulary * hidden * 2),
        ),
        (
            lang.pick("LoRA 权重（fp32）", "adapters (fp32)").to_owned(),
            format!("{} × 4 B", whole(adapter_weights)),
            Bytes(adapters),
        ),
        (
            lang.pick("检查点：每层的输入，fp32", "checkpoints: each layer's input, fp32").to_owned(),
            format!("{} × {} × {} × 4 B", whole(layers), whole(TOKENS), whole(hidden)),
            Bytes(inputs),
        ),
        (
            lang.pick("logits 一份（fp32）", "one copy of the logits (fp32)").to_owned(),
            format!("{} × {} × 4 B", whole(TOKENS), whole(vocabulary)),
            Bytes(logits),
        ),
    ];
    let mut out = String::from(lang.pick(
        "最后一列，手算得出的部分：\n\n| 是什么 | 怎么算 | 得 |\n|---|---|--:|\n",
        "The last column, as far as a hand gets:\n\n| what | how | comes to |\n|---|---|--:|\n",
    ));
    for (what, how, bytes) in rows {
        let _ = writeln!(out, "| {what} | {how} | {bytes} |");
    }
    let copies = memory.part(Part::Logits).0 as f64 / logits.max(1) as f64;
    let share = memory.part(Part::Logits).0 as f64 / memory.allocated.0.max(1) as f64 * 100.0;
    out + &lang.pick(
        format!("\n峰值那一刻，logits 和由它派生的张量一共是 {copies:.2} 份 fp32 logits 那么大，占 allocated 的 {share:.0} %。\n"),
        format!(
            "\nAt the peak, logits and their kin are {copies:.2} fp32 copies of the logits: {share:.0} % of allocated.\n"
        ),
    )
}
