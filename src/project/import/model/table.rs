//! The tables that torchinfo, torchsummary and Keras print of a network: parameters, and what its layers put out.

use crate::project::import::text::decimal;
use crate::project::import::{Basis, Line, Note, Piece, Reading, Text};
use crate::project::{Field, fields};

/// Most rows that are read.
const MOST_ROWS: usize = 20_000;

/// What a layer keeps for backward.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Keeps {
    /// Its input: convolutions, linear layers, norms, smooth activations.
    Input,
    /// Its output: ReLU, sigmoid, softmax.
    Output,
    /// Its input and, of eight bytes, where each largest value stood.
    InputAndPlaces,
    /// A mask of one byte; the output is a new tensor.
    Mask,
    /// Nothing; the output is the input in another shape.
    Same,
    /// Nothing; the output is new: sums, concatenations, padding.
    New,
    /// So many numbers for each of its output: layers that are more than one operator.
    Many(f64),
}

/// Beginnings of the names of layers, in small letters.
const KINDS: &[(&str, Keeps)] = &[
    ("convlstm", Keeps::Many(6.0)),
    ("conv", Keeps::Input),
    ("lazyconv", Keeps::Input),
    ("separableconv", Keeps::Many(2.0)),
    ("depthwiseconv", Keeps::Input),
    ("linear", Keeps::Input),
    ("nondynamicallyquantizablelinear", Keeps::Input),
    ("dense", Keeps::Input),
    ("bilinear", Keeps::Input),
    ("embedding", Keeps::New),
    ("batchnorm", Keeps::Input),
    ("batch_norm", Keeps::Input),
    ("frozenbatchnorm", Keeps::New),
    ("syncbatchnorm", Keeps::Input),
    ("layernorm", Keeps::Input),
    ("layer_norm", Keeps::Input),
    ("groupnorm", Keeps::Input),
    ("instancenorm", Keeps::Input),
    ("rmsnorm", Keeps::Input),
    ("localresponsenorm", Keeps::Input),
    ("relu", Keeps::Output),
    ("re_lu", Keeps::Output),
    ("sigmoid", Keeps::Output),
    ("tanh", Keeps::Output),
    ("softmax", Keeps::Output),
    ("logsoftmax", Keeps::Output),
    ("activation", Keeps::Output),
    ("gelu", Keeps::Input),
    ("silu", Keeps::Input),
    ("swish", Keeps::Input),
    ("mish", Keeps::Input),
    ("hardswish", Keeps::Input),
    ("hardsigmoid", Keeps::Input),
    ("elu", Keeps::Input),
    ("selu", Keeps::Input),
    ("leakyrelu", Keeps::Input),
    ("leaky_re_lu", Keeps::Input),
    ("prelu", Keeps::Input),
    ("softplus", Keeps::Input),
    ("maxpool", Keeps::InputAndPlaces),
    ("max_pool", Keeps::InputAndPlaces),
    ("adaptivemaxpool", Keeps::InputAndPlaces),
    ("avgpool", Keeps::Input),
    ("averagepool", Keeps::Input),
    ("adaptiveavgpool", Keeps::Input),
    ("globalaverage", Keeps::New),
    ("globalmax", Keeps::New),
    ("dropout", Keeps::Mask),
    ("spatialdropout", Keeps::Mask),
    ("flatten", Keeps::Same),
    ("unflatten", Keeps::Same),
    ("reshape", Keeps::Same),
    ("permute", Keeps::Same),
    ("rearrange", Keeps::Same),
    ("identity", Keeps::Same),
    ("inputlayer", Keeps::Same),
    ("add", Keeps::New),
    ("concatenate", Keeps::New),
    ("multiply", Keeps::Many(2.0)),
    ("zeropad", Keeps::New),
    ("upsampl", Keeps::New),
    ("pixelshuffle", Keeps::New),
    ("lstm", Keeps::Many(6.0)),
    ("gru", Keeps::Many(5.0)),
    ("rnn", Keeps::Many(2.0)),
    ("simplernn", Keeps::Many(2.0)),
    ("bidirectional", Keeps::Many(6.0)),
    ("multiheadattention", Keeps::Many(6.0)),
    ("multi_head_attention", Keeps::Many(6.0)),
    // 34 bytes of 16 bit a token and column, which is what a block of transformers keeps (Korthikanti and others, 2022,
    // table 2, without the scores).
    ("transformerencoderlayer", Keeps::Many(17.0)),
    ("transformerdecoderlayer", Keeps::Many(26.0)),
];

/// A block whose layers are not shown: two convolutions with norm and activation, and a sum.
const BLOCK: Keeps = Keeps::Many(5.0);

/// A row of the table.
struct Row<'a> {
    /// Kind of layer, in small letters.
    kind: &'a str,
    /// Nesting; 0 where the table has none.
    depth: usize,
    /// Numbers in the output of one sample, and the last of them in channels.
    outputs: u64,
    /// Output places that share the weights: pixels, tokens.
    places: u64,
    batch: Option<u64>,
    params: u64,
    /// Where it stands.
    line: Line<'a>,
}

/// Reads a table; false where the text has none.
pub(super) fn read(text: &Text, reading: &mut Reading) -> bool {
    let Some(head) = text.lines().take(400).find(|line| {
        line.small.contains("layer (type") && line.small.contains("output shape") && line.small.contains("param")
    }) else {
        return false;
    };
    let second = head.small.find("input shape").zip(head.small.find("output shape")).is_some_and(|(i, o)| i < o);
    let channels_last = !text.small().contains("depth-idx") && text.small().contains("(none");
    let from = head.piece();
    let rows: Vec<Row<'_>> = (head.number + 1..=text.len())
        .take(MOST_ROWS)
        .filter_map(|number| text.line(number))
        .take_while(|line| !line.small.contains("total params"))
        .filter_map(|line| row(line, second, channels_last))
        .collect();
    let said = |name: &str| {
        text.lines().skip(head.number).find(|line| line.small.contains(name)).and_then(|line| {
            let behind = line.small.split_once(name)?.1;
            Some((decimal(behind.trim_start_matches([':', ' ']).split([' ', '(']).next()?)? as u64, line))
        })
    };
    let total = said("total params").or_else(|| said("trainable params"));
    let params = total.as_ref().map_or_else(|| rows.iter().map(|row| row.params).sum(), |(n, _)| *n);
    if params == 0 || rows.is_empty() {
        return false;
    }
    let place = total.map_or_else(|| from.clone(), |(_, line)| line.piece());
    reading.add(Field::Model, fields::CUSTOM_NETWORK, Basis::Stated, from.clone());
    reading.add(Field::NetworkParams, params.to_string(), Basis::Stated, place);
    if let Some((trained, line)) = trainable(text, head.number).filter(|(n, _)| *n > 0 && *n < params) {
        reading.add_key("trained-params", trained.to_string(), Basis::Stated, line);
    }
    let batch = rows.iter().filter_map(|row| row.batch).find(|n| *n > 0).unwrap_or(1);
    let leaves = leaves(&rows);
    let shallow = leaves.iter().any(|row| keeps(row) == BLOCK && row.params > 0);
    let printed = printed_outputs(text, head.number).filter(|_| shallow);
    if shallow {
        reading.notes.push(Note::ShallowTable);
    }
    // What is summed up over all rows stands under the head of the table.
    let (outputs, place) =
        printed.map_or_else(|| (kept(&leaves), from.clone()), |(all, line)| (all / batch, line.piece()));
    reading.add(Field::NetworkOutputs, outputs.max(1).to_string(), Basis::Stated, place);
    let widest = leaves.iter().max_by_key(|row| row.outputs);
    let (widest, place) = widest.map_or_else(|| (0, from.clone()), |row| (row.outputs, row.line.piece()));
    reading.add_key("widest", widest.to_string(), Basis::Stated, place);
    let macs = mult_adds(text, head.number);
    let (macs, place) = macs.map_or_else(|| (counted(&leaves), from), |(all, line)| (all / batch, line.piece()));
    reading.add_key("macs", macs.to_string(), Basis::Stated, place);
    true
}

/// The row in a line: a kind, a shape in brackets, a count.
fn row(line: Line<'_>, second: bool, channels_last: bool) -> Option<Row<'_>> {
    let open = if channels_last && !line.text.contains('[') { '(' } else { '[' };
    let close = if open == '(' { ')' } else { ']' };
    let mut shapes = Vec::new();
    // A class name that does not fit its column has no bracket at its end.
    let start = if open == '(' { line.small.find("(none").unwrap_or(0) } else { 0 };
    let mut rest = line.text.get(start..).unwrap_or_default();
    while let Some((_, behind)) = rest.split_once(open) {
        let Some((inside, after)) = behind.split_once(close) else { break };
        // `(Conv2D)` is no shape, `(None, 26, 26, 32)` is.
        if inside.contains(',') && inside.chars().all(|c| c.is_ascii_digit() || " ,-None?[]".contains(c)) {
            shapes.push((inside, after));
        }
        rest = after;
    }
    let (shape, after) = *shapes.get(usize::from(second)).or_else(|| shapes.first())?;
    let mut dims = shape.split(',').map(|n| n.trim().trim_matches(['[', ']']));
    let batch = dims.next().and_then(|n| n.parse::<u64>().ok());
    // An axis of any length counts once.
    let dims: Vec<u64> = dims.map(|n| n.parse().unwrap_or(1)).map(|n: u64| n.max(1)).collect();
    let outputs = dims.iter().fold(1_u64, |all, n| all.saturating_mul(*n));
    let channels = if channels_last || dims.len() <= 2 { dims.last() } else { dims.first() };
    let label = line.small.get(..line.text.find(open).unwrap_or(0)).unwrap_or_default();
    // `conv2d (conv2d)` of Keras; `|    └─conv2d: 2-1` of torchinfo; `conv2d-1` of torchsummary.
    let (kind, depth) = match label.split_once(": ") {
        Some((name, index)) => {
            (last_word(name), index.split('-').next().and_then(|n| n.trim().parse().ok()).unwrap_or(1))
        }
        None if channels_last => {
            let class = line.small.split_once('(').and_then(|(_, c)| c.split([')', '…', ' ']).next());
            (class.unwrap_or_default(), 0)
        }
        None => (last_word(label.rsplit_once('-').map_or(label, |(name, _)| name)), 0),
    };
    let params = after
        .split(['|', ' '])
        .find_map(|word| decimal(word.trim()).filter(|_| word.contains(|c: char| c.is_ascii_digit())));
    Some(Row {
        kind,
        depth,
        outputs,
        places: outputs / channels.copied().unwrap_or(1).max(1),
        batch,
        params: params.unwrap_or(0.0) as u64,
        line,
    })
}

/// `conv2d` of `|    └─conv2d (features)`: torchinfo may add the name of the variable.
fn last_word(label: &str) -> &str {
    let label = label.split(" (").next().unwrap_or_default();
    label.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).find(|word| !word.is_empty()).unwrap_or_default()
}

fn keeps(row: &Row<'_>) -> Keeps {
    let fits = KINDS.iter().filter(|(begins, _)| row.kind.starts_with(begins));
    match fits.max_by_key(|(begins, _)| begins.len()) {
        Some((_, keeps)) => *keeps,
        // A block after its own layers, as torchsummary prints it.
        None if row.params == 0 => Keeps::Same,
        None => BLOCK,
    }
}

/// Rows that hold no others.
fn leaves<'r, 'a>(rows: &'r [Row<'a>]) -> Vec<&'r Row<'a>> {
    let nested = rows.iter().any(|row| row.depth > 0);
    let is_leaf = |(at, row): &(usize, &Row<'_>)| {
        let deeper = rows.get(at + 1).is_some_and(|next| next.depth > row.depth);
        !(nested && (deeper || row.depth == 0))
    };
    rows.iter().enumerate().filter(is_leaf).map(|(_, row)| row).filter(|row| keeps(row) != Keeps::Same).collect()
}

/// Numbers that backward needs of one sample: each output once.
fn kept(leaves: &[&Row<'_>]) -> u64 {
    let mut sum = 0.0;
    for (at, row) in leaves.iter().enumerate() {
        let own = keeps(row);
        // The loss keeps what it is given.
        let next = leaves.get(at + 1).map_or(Keeps::Input, |next| keeps(next));
        let by_next = matches!(next, Keeps::Input | Keeps::InputAndPlaces | Keeps::Many(_));
        let outputs = row.outputs as f64;
        if own == Keeps::Output || by_next {
            sum += outputs;
        }
        sum += match own {
            Keeps::Many(times) => outputs * (times - 1.0).max(0.0),
            Keeps::InputAndPlaces => outputs * 2.0,
            Keeps::Mask => outputs * 0.25,
            _ => 0.0,
        };
    }
    sum as u64
}

/// Multiply-accumulates of one sample, where the table does not print them: each weight once for each place.
fn counted(leaves: &[&Row<'_>]) -> u64 {
    let heavy =
        |row: &&&Row<'_>| row.kind.contains("conv") || row.kind.contains("linear") || row.kind.starts_with("dense");
    leaves.iter().filter(heavy).fold(0_u64, |sum, row| sum.saturating_add(row.params.saturating_mul(row.places.max(1))))
}

/// What stands behind a name and its unit in the lines below the table: `Total mult-adds (M): 0.42`.
fn below<'a>(text: &'a Text, from: usize, name: &str) -> Option<(&'a str, f64, Line<'a>)> {
    let line = text.lines().skip(from).find(|line| line.small.contains(name))?;
    let (unit, value) = line.small.split_once(name)?.1.split_once(':')?;
    Some((unit.trim().trim_matches(['(', ')']), decimal(value.split_whitespace().next()?)?, line))
}

fn mult_adds(text: &Text, from: usize) -> Option<(u64, Line<'_>)> {
    let (unit, value, line) = below(text, from, "mult-adds").or_else(|| below(text, from, "multi-adds"))?;
    let scale = match unit.rsplit('.').next().unwrap_or_default() {
        "k" | "kilobytes" => 1e3,
        "m" | "megabytes" => 1e6,
        "g" | "gigabytes" => 1e9,
        "t" | "terabytes" => 1e12,
        _ => 1.0,
    };
    Some(((value * scale) as u64, line)).filter(|(n, _)| *n > 0)
}

/// Outputs of all layers with weights as torchinfo sums them up: four bytes each, and as much again for gradients.
fn printed_outputs(text: &Text, from: usize) -> Option<(u64, Line<'_>)> {
    let (_, megabytes, line) = below(text, from, "forward/backward pass size")?;
    Some(((megabytes * 1e6 / 8.0) as u64, line)).filter(|(n, _)| *n > 0)
}

fn trainable(text: &Text, from: usize) -> Option<(u64, Piece)> {
    let line = text
        .lines()
        .skip(from)
        .find(|line| line.small.starts_with("trainable params") || line.small.contains(" trainable params"))?;
    let value = line.small.split_once(':')?.1.trim_start();
    Some((decimal(value.split([' ', '(']).next()?)? as u64, line.piece()))
}
