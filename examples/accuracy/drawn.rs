//! Steps drawn at random, as they were found before and after the engine was mended by them.

use crate::readme::percent;
use crate::scoring::case::Scored;
use crate::scoring::report::Summary;
use crate::{Domain, name};
use std::fmt::Write as _;

const INTRODUCTION: &str = "The traced steps above were at hand while the engine was written, so how right it is on them \
says little of others. On 30 November 2026 we drew 297 steps at random over everything that the tracer can vary (its 44 \
language models, 20 vision, 4 diffusion and 5 speech models; method, precision, optimizer, batch and length or image side \
down to 223 pixels and 333 tokens, checkpointing, attention kernel, loss, accumulation, adapters' rank, targets, dropout) \
and traced them (`tests/data/drawn.csv`; one it could not run, and four are left out: the tracer quantizes Whisper's head, which \
libraries do not, and no form asks who holds the output). \"At first sight\" is what the engine said that had seen none \
of them:

| domain | drawn | at first sight: median | 90 % within | worst | off by more than 1 % | now: median | 90 % within | worst |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// What the engine had said of a domain: median, nine in ten, worst, in percent, and how many it missed by more than one.
const FIRST: [(Domain, f64, f64, f64, usize); 4] = [
    (Domain::Llm, 0.00, 0.14, 6.66, 5),
    (Domain::Vision, 0.00, 0.73, 69.54, 7),
    (Domain::Diffusion, 0.06, 0.35, 1.21, 1),
    (Domain::Audio, 0.01, 1.19, 6.14, 4),
];

const CLOSING: &str = "
What was wrong, and is mended: a checkpointed region in which nothing is trained kept its inputs (a frozen ResNet-50 was \
said to need 70 % more than it does); a region was run again before, not when, backward first asks for what it saved; \
batched products without a fused kernel copy what they read; adapters with checkpointing kept nothing of what lies \
between the embedding and the first block; arguments and local variables of frozen layers died too early. The second \
hundred of the draw was traced after the first two hundred had been mended: at first sight 0.00 % median, 0.09 % nine in \
ten, three of 105 off by more than 1 %. A third draw, of 79 steps, came after everything and changed nothing: 0.00 % \
median, 0.09 % nine in ten, 2.0 % worst.

";

/// The part of the page about steps drawn at random.
pub(crate) fn part(drawn: &[Scored]) -> String {
    let beyond = |s: &&Scored| s.case.id.starts_with('y');
    let mut out = String::from(INTRODUCTION);
    for (domain, median, p90, worst, over) in FIRST {
        let now = Summary::of(drawn.iter().filter(|s| s.case.domain == domain && !beyond(s)).collect::<Vec<_>>());
        let [median, p90, worst] = [median, p90, worst].map(|v| percent(Some(v)));
        let [m, p, w] = [now.median(), now.p90(), now.worst()].map(percent);
        let (name, cases) = (name(domain), now.cases);
        let _ = writeln!(out, "| {name} | {cases} | {median} | {p90} | {worst} | {over} | {m} | {p} | {w} |");
    }
    out += CLOSING;
    let others = Summary::of(drawn.iter().filter(beyond).collect::<Vec<_>>());
    let [m, p, w] = [others.median(), others.p90(), others.worst()].map(percent);
    let _ = writeln!(
        out,
        "Networks of torchvision and timm that the given cases do not have, {} of them: at first sight {} median, {} nine \
         in ten, {} worst (ConvNeXt V2 in pure bf16); now {m}, {p}, {w}. What is left are the networks that are only \
         scaled (GhostNet, Xception, MobileNet 4, EVA-02) and timm's spelling of ViT, which keeps less than torchvision's.",
        others.cases,
        percent(Some(0.02)),
        percent(Some(9.07)),
        percent(Some(84.89)),
    );
    out
}
