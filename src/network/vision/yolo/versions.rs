//! The YOLO versions' networks by their ids.

use super::blocks::{Block, Halve};
use super::head::{Head, Kind};
use super::{Attention, Net, Pool};

/// A size: depth, width, most channels.
#[derive(Clone, Copy)]
struct Size(f64, f64, u64);

impl Size {
    /// `make_divisible(min(channels, most) * width, 8)`.
    fn channels(self, channels: u64) -> u64 {
        let scaled = channels.min(self.2) as f64 * self.1;
        (scaled / 8.0).ceil() as u64 * 8
    }

    fn times(self, times: u64) -> u64 {
        if times > 1 { ((times as f64 * self.0).round_ties_even() as u64).max(1) } else { times }
    }
}

/// The network with this id.
pub(super) fn network(id: &str) -> Option<Net> {
    let (id, masks) = id.strip_suffix("-seg").map_or((id, false), |id| (id, true));
    let rest = id.strip_prefix("yolo")?;
    let letter = rest.get(rest.len().checked_sub(1)?..)?;
    let net = match rest.strip_suffix(letter)? {
        "v5" => v5(size5(letter)?),
        "v8" => v8(size8(letter)?),
        "v9" => v9(letter)?,
        "v10" => v10(letter)?,
        "11" => v11(letter, Size::new11(letter)?),
        "12" => v12(letter, Size::new11(letter)?),
        "26" => v26(letter, Size::new11(letter)?),
        _ => return None,
    };
    let (net, width) = net;
    Some(Net { head: Head { masks: masks.then_some(width), ..net.head }, ..net })
}

impl Size {
    fn new11(letter: &str) -> Option<Self> {
        Some(match letter {
            "n" => Self(0.5, 0.25, 1024),
            "s" => Self(0.5, 0.5, 1024),
            "m" => Self(0.5, 1.0, 512),
            "l" => Self(1.0, 1.0, 512),
            "x" => Self(1.0, 1.5, 512),
            _ => return None,
        })
    }
}

fn size5(letter: &str) -> Option<Size> {
    Some(match letter {
        "n" => Size(0.33, 0.25, 1024),
        "s" => Size(0.33, 0.5, 1024),
        "m" => Size(0.67, 0.75, 1024),
        "l" => Size(1.0, 1.0, 1024),
        "x" => Size(1.33, 1.25, 1024),
        _ => return None,
    })
}

fn size8(letter: &str) -> Option<Size> {
    Some(match letter {
        "n" => Size(0.33, 0.25, 1024),
        "s" => Size(0.33, 0.5, 1024),
        "m" => Size(0.67, 0.75, 768),
        "l" => Size(1.0, 1.0, 512),
        "x" => Size(1.0, 1.25, 512),
        _ => return None,
    })
}

const DETECT: Head = Head { kind: Kind::Plain, bins: 16, twice: false, masks: None };
const LIGHT: Head = Head { kind: Kind::Light, ..DETECT };
const FAST: Pool = Pool::Fast { act: false, add: false };

/// A network and the width of its prototypes' convolutions.
type Built = (Net, u64);

fn v5(size: Size) -> Built {
    let [a, b, c, d, e] = [64, 128, 256, 512, 1024].map(|w| size.channels(w));
    let back = |times| Block::C3 { times: size.times(times), add: true };
    let neck = Block::C3 { times: size.times(3), add: false };
    let net = Net {
        first: 6,
        stem: [a, b],
        stages: [(back(3), b), (back(6), c), (back(9), d), (back(3), e)],
        halves: [(Halve::Conv, c), (Halve::Conv, d), (Halve::Conv, e)],
        pool: Pool::Fast { act: true, add: false },
        attention: Attention::None,
        neck: [(neck, d), (neck, c), (neck, d), (neck, e)],
        neck_halves: [(Halve::Conv, c), (Halve::Conv, d)],
        squeezes: true,
        head: Head { kind: Kind::Anchors, ..DETECT },
    };
    (net, c)
}

fn v8(size: Size) -> Built {
    let [a, b, c, d, e] = [64, 128, 256, 512, 1024].map(|w| size.channels(w));
    let back = |times| Block::C2f { times: size.times(times), add: true };
    let neck = Block::C2f { times: size.times(3), add: false };
    let net = Net {
        first: 3,
        stem: [a, b],
        stages: [(back(3), b), (back(6), c), (back(6), d), (back(3), e)],
        halves: [(Halve::Conv, c), (Halve::Conv, d), (Halve::Conv, e)],
        pool: FAST,
        attention: Attention::None,
        neck: [(neck, d), (neck, c), (neck, d), (neck, e)],
        neck_halves: [(Halve::Conv, c), (Halve::Conv, d)],
        squeezes: false,
        head: DETECT,
    };
    (net, c)
}

/// Channels are multiples of eight here too: the 180 of `YOLOv9m` become 184.
fn v9(letter: &str) -> Option<Built> {
    let elan = |wide, narrow, times| Block::Elan { wide, narrow, times };
    let small = |stem: [u64; 2], first: Block, [b, c, d, e]: [u64; 4], halves: [u64; 2], times: u64| Net {
        first: 3,
        stem,
        stages: [(first, b), (elan(c, c / 2, times), c), (elan(d, d / 2, times), d), (elan(e, e / 2, times), e)],
        halves: [(Halve::Average, c), (Halve::Average, d), (Halve::Average, e)],
        pool: Pool::Elan(e / 2),
        attention: Attention::None,
        neck: [
            (elan(d, d / 2, times), d),
            (elan(c, c / 2, times), c),
            (elan(d, d / 2, times), d),
            (elan(e, e / 2, times), e),
        ],
        neck_halves: [(Halve::Average, halves[0]), (Halve::Average, halves[1])],
        squeezes: false,
        head: DETECT,
    };
    let net = match letter {
        "t" => small([16, 32], Block::Elan1 { wide: 32, narrow: 16 }, [32, 64, 96, 128], [48, 64], 3),
        "s" => small([32, 64], Block::Elan1 { wide: 64, narrow: 32 }, [64, 128, 192, 256], [96, 128], 3),
        "m" => small([32, 64], elan(128, 64, 1), [128, 240, 360, 480], [184, 240], 1),
        "c" => Net {
            first: 3,
            stem: [64, 128],
            stages: [
                (elan(128, 64, 1), 256),
                (elan(256, 128, 1), 512),
                (elan(512, 256, 1), 512),
                (elan(512, 256, 1), 512),
            ],
            halves: [(Halve::Both, 256), (Halve::Both, 512), (Halve::Both, 512)],
            pool: Pool::Elan(256),
            attention: Attention::None,
            neck: [
                (elan(512, 256, 1), 512),
                (elan(256, 128, 1), 256),
                (elan(512, 256, 1), 512),
                (elan(512, 256, 1), 512),
            ],
            neck_halves: [(Halve::Both, 256), (Halve::Both, 512)],
            squeezes: false,
            head: DETECT,
        },
        _ => return None,
    };
    Some((net, 256))
}

fn v10(letter: &str) -> Option<Built> {
    let size = match letter {
        "b" => Size(0.67, 1.0, 512),
        other => size8(other)?,
    };
    let [a, b, c, d, e] = [64, 128, 256, 512, 1024].map(|w| size.channels(w));
    let back = |times| Block::C2f { times: size.times(times), add: true };
    let neck = Block::C2f { times: size.times(3), add: false };
    let cib = |times, large| Block::Cib { times: size.times(times), add: true, large };
    let at = |letters: &str, yes: Block, no: Block| if letters.contains(letter) { yes } else { no };
    let large = letter == "n" || letter == "s";
    let net = Net {
        first: 3,
        stem: [a, b],
        stages: [
            (back(3), b),
            (back(6), c),
            (at("x", cib(6, false), back(6)), d),
            (at("n", back(3), cib(3, letter == "s")), e),
        ],
        halves: [(Halve::Conv, c), (Halve::Split, d), (Halve::Split, e)],
        pool: FAST,
        attention: Attention::Partial(1),
        neck: [
            (at("blx", cib(3, false), neck), d),
            (neck, c),
            (at("mblx", cib(3, false), neck), d),
            (cib(3, large), e),
        ],
        neck_halves: [(Halve::Conv, c), (Halve::Split, d)],
        squeezes: false,
        head: Head { twice: true, ..LIGHT },
    };
    Some((net, c))
}

fn v11(letter: &str, size: Size) -> Built {
    let [a, b, c, d, e] = [64, 128, 256, 512, 1024].map(|w| size.channels(w));
    // The larger sizes have `C3k` everywhere.
    let large = "mlx".contains(letter);
    let block = |deep, quarter| Block::C3k2 { times: size.times(2), deep: deep || large, quarter, attention: false };
    let net = Net {
        first: 3,
        stem: [a, b],
        stages: [(block(false, true), c), (block(false, true), d), (block(true, false), d), (block(true, false), e)],
        halves: [(Halve::Conv, c), (Halve::Conv, d), (Halve::Conv, e)],
        pool: FAST,
        attention: Attention::Partial(size.times(2)),
        neck: [(block(false, false), d), (block(false, false), c), (block(false, false), d), (block(true, false), e)],
        neck_halves: [(Halve::Conv, c), (Halve::Conv, d)],
        squeezes: false,
        head: LIGHT,
    };
    (net, c)
}

fn v12(letter: &str, size: Size) -> Built {
    let (net, masks) = v11(letter, size);
    let [c, d, e] = [256, 512, 1024].map(|w| size.channels(w));
    let residual = "lx".contains(letter);
    let area = |times, areas| Block::Area { times: size.times(times), areas, residual };
    let mut stages = net.stages;
    stages[2] = (area(4, 4), d);
    stages[3] = (area(4, 1), e);
    let plain = area(2, 0);
    let neck = [(plain, d), (plain, c), (plain, d), net.neck[3]];
    (Net { stages, neck, pool: Pool::None, attention: Attention::None, ..net }, masks)
}

fn v26(letter: &str, size: Size) -> Built {
    let (net, masks) = v11(letter, size);
    let deep = |block: Block| match block {
        Block::C3k2 { times, quarter, attention, .. } => Block::C3k2 { times, deep: true, quarter, attention },
        other => other,
    };
    let mut neck = net.neck.map(|(block, width)| (deep(block), width));
    neck[3].0 = Block::C3k2 { times: 1, deep: true, quarter: false, attention: true };
    let head = Head { bins: 1, twice: true, ..LIGHT };
    (Net { neck, pool: Pool::Fast { act: false, add: true }, head, ..net }, masks)
}
