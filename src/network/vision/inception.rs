//! Inception v3 as torchvision writes it, with the auxiliary classifier that is trained beside it.

use super::{Pictures, classifier};
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// Writes the whole network; `None` where the id is not this one.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    if id != "inception-v3" {
        return None;
    }
    let mut x = n.pictures(3, pictures);
    x = basic(n, x, Conv::new(32, 3).stride(2).padding(0));
    x = basic(n, x, Conv::new(32, 3).padding(0));
    x = basic(n, x, Conv::new(64, 3));
    x = n.max_pool(x, 3, 2, 0);
    x = basic(n, x, Conv::new(80, 1));
    x = basic(n, x, Conv::new(192, 3).padding(0));
    x = n.max_pool(x, 3, 2, 0);
    for pooled in [32, 64, 64] {
        x = first(n, x, pooled);
    }
    x = first_halved(n, x);
    for inner in [128, 160, 160, 192] {
        x = second(n, x, inner);
    }
    let aside = x;
    x = second_halved(n, x);
    for _ in 0..2 {
        x = third(n, x);
    }
    // `InceptionAux`: its result is not in the loss of the usual scripts, its memory is.
    let aux = n.avg_pool(aside, 5, 3, 0);
    let aux = basic(n, aux, Conv::new(128, 1));
    let aux = basic(n, aux, Conv::new(768, aux.height.min(5)).padding(0));
    let aux = n.global_pool(aux);
    n.fully_connected(aux.t, pictures.classes_or(1000));
    let pooled = n.global_pool(x);
    let dropped = Map { t: n.b.dropout(pooled.t, 0.5), ..pooled };
    classifier(n, dropped, pictures.classes_or(1000));
    Some(())
}

/// `BasicConv2d`.
fn basic(n: &mut Layers, x: Map, conv: Conv) -> Map {
    n.conv_norm(x, conv, Act::Relu)
}

/// Convolutions one after another.
fn chain(n: &mut Layers, x: Map, convs: &[Conv]) -> Map {
    convs.iter().fold(x, |x, &conv| basic(n, x, conv))
}

fn pooled(n: &mut Layers, x: Map, out: u64) -> Map {
    let y = n.avg_pool(x, 3, 1, 1);
    basic(n, y, Conv::new(out, 1))
}

fn first(n: &mut Layers, x: Map, out: u64) -> Map {
    let a = basic(n, x, Conv::new(64, 1));
    let b = chain(n, x, &[Conv::new(48, 1), Conv::new(64, 5)]);
    let c = chain(n, x, &[Conv::new(64, 1), Conv::new(96, 3), Conv::new(96, 3)]);
    let d = pooled(n, x, out);
    n.cat_maps(&[a, b, c, d])
}

fn first_halved(n: &mut Layers, x: Map) -> Map {
    let a = basic(n, x, Conv::new(384, 3).stride(2).padding(0));
    let b = chain(n, x, &[Conv::new(64, 1), Conv::new(96, 3), Conv::new(96, 3).stride(2).padding(0)]);
    let c = n.max_pool(x, 3, 2, 0);
    n.cat_maps(&[a, b, c])
}

fn second(n: &mut Layers, x: Map, inner: u64) -> Map {
    let (wide, high) = (|out| Conv::new(out, 1).rectangle(1, 7), |out| Conv::new(out, 1).rectangle(7, 1));
    let a = basic(n, x, Conv::new(192, 1));
    let b = chain(n, x, &[Conv::new(inner, 1), wide(inner), high(192)]);
    let c = chain(n, x, &[Conv::new(inner, 1), high(inner), wide(inner), high(inner), wide(192)]);
    let d = pooled(n, x, 192);
    n.cat_maps(&[a, b, c, d])
}

fn second_halved(n: &mut Layers, x: Map) -> Map {
    let last = |out| Conv::new(out, 3).stride(2).padding(0);
    let a = chain(n, x, &[Conv::new(192, 1), last(320)]);
    let b = chain(
        n,
        x,
        &[Conv::new(192, 1), Conv::new(192, 1).rectangle(1, 7), Conv::new(192, 1).rectangle(7, 1), last(192)],
    );
    let c = n.max_pool(x, 3, 2, 0);
    n.cat_maps(&[a, b, c])
}

fn third(n: &mut Layers, x: Map) -> Map {
    let both = |n: &mut Layers, x: Map| {
        let wide = basic(n, x, Conv::new(384, 1).rectangle(1, 3));
        let high = basic(n, x, Conv::new(384, 1).rectangle(3, 1));
        n.cat_maps(&[wide, high])
    };
    let a = basic(n, x, Conv::new(320, 1));
    let b = basic(n, x, Conv::new(384, 1));
    let b = both(n, b);
    let c = chain(n, x, &[Conv::new(448, 1), Conv::new(384, 3)]);
    let c = both(n, c);
    let d = pooled(n, x, 192);
    n.cat_maps(&[a, b, c, d])
}
