//! The course of a step: every operator's live bytes, and the same three moments in PyTorch's own count.

use crate::pages::{self, svg};
use crate::scoring::case::{Subject, percent};
use crate::scoring::oracle;
use crate::scoring::table::Table;
use enough_gpu::catalog::Catalog;
use enough_gpu::estimate::Part;
use enough_gpu::network;
use enough_gpu::step::{self, Category, Live, Observer, Phase, StepConfig, StepResult, Walk};
use enough_gpu::text::{self, Lang};
use enough_gpu::units::{Bytes, GIB};
use std::fmt::Write as _;

/// Rows of the traced steps that are drawn: file, id, what is trained (English, Chinese).
const STEPS: [(&str, &str, &str, &str); 5] = [
    (
        "gpt2",
        "llm-056",
        "GPT-2 (124M), full, fp32 weights under bf16 autocast, eager attention, 16 x 1,024 tokens",
        "GPT-2（124M）全参训练，fp32 权重 + bf16 autocast，eager 注意力，16 × 1,024 token",
    ),
    (
        "qwen2.5-0.5b",
        "llm-000",
        "Qwen2.5-0.5B, full, fp32 weights under bf16 autocast, flash attention, 2 x 1,024 tokens",
        "Qwen2.5-0.5B 全参训练，fp32 权重 + bf16 autocast，flash 注意力，2 × 1,024 token",
    ),
    (
        "llama-3.1-8b-qlora",
        "llm-033",
        "Llama-3.1-8B, QLoRA with checkpointing, k-bit preparation, flash attention, 1 x 2,048 tokens",
        "Llama-3.1-8B QLoRA + 梯度检查点，做了 k-bit 预处理，flash 注意力，1 × 2,048 token",
    ),
    (
        "bert-base",
        "llm-287",
        "BERT-base, full, fp32, classification, 16 x 128 tokens",
        "BERT-base 全参训练，fp32，文本分类，16 × 128 token",
    ),
    (
        "t5-small",
        "llm-296",
        "T5-small, full, fp32, Adafactor, 16 x 512 tokens in, 128 out",
        "T5-small 全参训练，fp32，Adafactor，16 × 输入 512、输出 128 token",
    ),
];

/// Points across the picture: one for every other pixel.
const POINTS: usize = 440;

#[derive(Default)]
struct Ticks(Vec<(Phase, Live)>);

impl Observer for Ticks {
    fn tick(&mut self, phase: Phase, live: &Live, scratch: u64) {
        let mut live = *live;
        live[Category::Temporaries as usize] += scratch;
        self.0.push((phase, live));
    }
}

/// Three moments of a step.
struct Moments {
    forward_end: Bytes,
    peak: Bytes,
    steady: Bytes,
}

impl Moments {
    fn all(&self) -> [Bytes; 3] {
        [self.forward_end, self.peak, self.steady]
    }
}

/// One step, as it went.
pub(crate) struct Course {
    name: &'static str,
    id: &'static str,
    said: [&'static str; 2],
    ours: Moments,
    theirs: Moments,
    /// Share of the operators that are forward.
    forward: f64,
    /// Where it is highest.
    highest: f64,
    /// Live bytes by part along the step, the highest of each stretch.
    points: Vec<(Phase, [u64; 7])>,
}

/// All of them.
pub(crate) fn all(catalog: &Catalog) -> Result<Vec<Course>, String> {
    let (table, _) = Table::read(&pages::read("tests/data/oracle.csv")?);
    STEPS
        .into_iter()
        .map(|(name, id, en, zh)| {
            let row = table.rows().find(|row| row.text("id") == id).ok_or_else(|| format!("no row {id}"))?;
            let case = oracle::case(&row, catalog);
            let Ok(Subject::Step { model, config, .. }) = case.subject else { return Err(format!("{id} is no step")) };
            let trace = case.trace.unwrap_or_default();
            let missing = || format!("{id} has no figures");
            let theirs = Moments {
                forward_end: trace.forward_end.ok_or_else(missing)?,
                peak: case.peak.ok_or_else(missing)?,
                steady: trace.steady.ok_or_else(missing)?,
            };
            let program = network::language(&model, &config);
            let mut ticks = Ticks::default();
            let result = step::run_observed(&program, &config, Walk::Full, &mut ticks);
            let operators = |group: &network::Group| group.members.iter().map(|s| s.ops.len() as u64).sum::<u64>();
            let forward: u64 = program.groups.iter().map(|g| g.repeat * operators(g)).sum();
            let count = ticks.0.len().max(1);
            let total = |live: &Live| live.iter().sum::<u64>();
            let highest = (0..count).max_by_key(|&k| ticks.0.get(k).map_or(0, |(_, live)| total(live))).unwrap_or(0);
            let points = ticks
                .0
                .chunks(count.div_ceil(POINTS))
                .filter_map(|stretch| stretch.iter().max_by_key(|(_, live)| total(live)))
                .map(|(phase, live)| (*phase, parts(live, &result, &config)))
                .collect();
            Ok(Course {
                name,
                id,
                said: [zh, en],
                ours: Moments { forward_end: result.forward_end, peak: result.peak, steady: result.steady },
                theirs,
                forward: forward as f64 / count as f64,
                highest: highest as f64 / count as f64,
                points,
            })
        })
        .collect()
}

fn parts(live: &Live, result: &StepResult, config: &StepConfig) -> [u64; 7] {
    let at = |c: Category| live[c as usize];
    let kept = if config.accumulation > 1 { result.gradients.0 } else { 0 };
    let mut parts = [0; 7];
    parts[Part::Weights as usize] = result.weights.0 + at(Category::WeightCopies);
    parts[Part::Gradients as usize] = at(Category::Gradients) + kept;
    parts[Part::Optimizer as usize] = result.optimizer.0;
    parts[Part::Activations as usize] = at(Category::Activations) + result.batch.0;
    parts[Part::Logits as usize] = at(Category::Logits);
    parts[Part::Temporaries as usize] = at(Category::Temporaries);
    parts
}

const LEFT: f64 = 56.0;
const WIDTH: f64 = 880.0;
const TOP: f64 = 40.0;
const HEIGHT: f64 = 300.0;

impl Course {
    pub(crate) fn file(&self) -> String {
        format!("docs/timelines/{}.svg", self.name)
    }

    fn said(&self, lang: Lang) -> &'static str {
        lang.pick(self.said[0], self.said[1])
    }

    /// The picture.
    pub(crate) fn picture(&self) -> String {
        let highest = self.ours.peak.0.max(self.theirs.peak.0) as f64 * 1.06;
        let x = |share: f64| LEFT + share * WIDTH;
        let y = |bytes: f64| TOP + HEIGHT * (1.0 - bytes / highest);
        let mut body = String::new();
        let gib = GIB as f64;
        let step = svg::axis_step(highest / gib, 6.0);
        let mut tick = 0.0;
        while tick * gib <= highest {
            body += &svg::line("faint", (LEFT, y(tick * gib)), (LEFT + WIDTH, y(tick * gib)));
            body += &svg::text(LEFT - 8.0, y(tick * gib) + 4.0, "end", &format!("{}", (tick * 100.0).round() / 100.0));
            tick += step;
        }
        body += &svg::text(8.0, 22.0, "strong", &format!("GiB · {}", self.said(Lang::En)));
        body += &self.areas(x, y);
        let bound = x(self.forward);
        body += &svg::line("rule", (bound, TOP), (bound, TOP + HEIGHT));
        body += &svg::line("rule", (LEFT, TOP + HEIGHT), (LEFT + WIDTH, TOP + HEIGHT));
        let below = TOP + HEIGHT + 20.0;
        body += &svg::text(f64::midpoint(LEFT, bound), below, "middle", "forward · 前向");
        body += &svg::text(f64::midpoint(bound, LEFT + WIDTH), below, "middle", "backward, update · 反向、更新");
        let places = [self.forward, self.highest, 1.0];
        for (place, bytes) in places.into_iter().zip(self.theirs.all()) {
            let (cx, cy) = (x(place), y(bytes.0 as f64));
            let _ = writeln!(body, "<circle class=\"mark\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"5\"/>");
        }
        body += &self.legend();
        let description = format!(
            "Live memory over the operators of one training step, stacked by part; circles are PyTorch's own count at \
             the end of forward ({}), at the peak ({}) and between steps ({}).",
            self.theirs.forward_end, self.theirs.peak, self.theirs.steady
        );
        svg::picture(960, 450, self.said(Lang::En), &description, &body)
    }

    fn areas(&self, x: impl Fn(f64) -> f64, y: impl Fn(f64) -> f64) -> String {
        let mut body = String::new();
        let count = self.points.len().max(1) as f64;
        let mut floor = vec![0u64; self.points.len()];
        for part in Part::ALL {
            let ceiling: Vec<u64> = floor.iter().zip(&self.points).map(|(f, (_, p))| f + p[part as usize]).collect();
            if ceiling != floor {
                // Each stretch is a step of the stair: memory does not slope.
                let along = |heights: &[u64]| {
                    let mut stair: Vec<(f64, f64)> = Vec::new();
                    for (k, bytes) in heights.iter().enumerate() {
                        let height = y(*bytes as f64);
                        let (from, to) = (x(k as f64 / count), x((k + 1) as f64 / count));
                        match stair.last_mut() {
                            // The same height goes on: the corner moves.
                            Some(last) if (last.1 - height).abs() < 0.05 => last.0 = to,
                            _ => stair.extend([(from, height), (to, height)]),
                        }
                    }
                    stair
                };
                let mut points = along(&ceiling);
                points.extend(along(&floor).into_iter().rev());
                let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                let _ = writeln!(body, "<polygon class=\"{}\" points=\"{}\"/>", part.id(), points.join(" "));
            }
            floor = ceiling;
        }
        body
    }

    fn legend(&self) -> String {
        let mut body = String::new();
        let (mut x, mut y) = (LEFT, TOP + HEIGHT + 36.0);
        for part in Part::ALL.into_iter().filter(|p| self.points.iter().any(|(_, parts)| parts[*p as usize] > 0)) {
            let words = format!("{} · {}", text::part(part).text(Lang::En), text::part(part).text(Lang::Zh));
            let width = 34.0 + words.chars().map(|c| if c.is_ascii() { 6.6 } else { 13.0 }).sum::<f64>();
            if x + width > LEFT + WIDTH {
                (x, y) = (LEFT, y + 22.0);
            }
            body += &svg::rectangle(part.id(), x, y, 12.0, 12.0);
            body += &svg::text(x + 17.0, y + 11.0, "", &words);
            x += width;
        }
        y += 30.0;
        let _ = writeln!(body, "<circle class=\"mark\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5\"/>", LEFT + 6.0);
        body += &svg::text(LEFT + 17.0, y + 4.5, "", "PyTorch: end of forward, peak, between steps · PyTorch 自己的数");
        body
    }
}

/// The three moments of all of them, ours and PyTorch's, as a table with the pictures.
pub(crate) fn table(lang: Lang, courses: &[Course]) -> String {
    let mut out = String::from(lang.pick(
        "| 一步训练 | 前向结束：我们 / PyTorch | 差 | 峰值：我们 / PyTorch | 差 | 两步之间：我们 / PyTorch | 差 |\n",
        "| step | end of forward: ours / PyTorch | diff. | peak: ours / PyTorch | diff. | between steps: ours / PyTorch | \
         diff. |\n",
    ));
    out += "|---|--:|--:|--:|--:|--:|--:|\n";
    for course in courses {
        let _ = write!(out, "| {} (`{}`) |", course.said(lang), course.id);
        for (ours, theirs) in course.ours.all().into_iter().zip(course.theirs.all()) {
            let difference = percent(ours, theirs).unwrap_or_default();
            let _ = write!(out, " {:.3} / {:.3} GiB | {difference:+.2} % |", ours.gib(), theirs.gib());
        }
        out.push('\n');
    }
    for course in courses {
        let _ = write!(out, "\n![{}](timelines/{}.svg)\n", course.said(lang), course.name);
    }
    out
}
