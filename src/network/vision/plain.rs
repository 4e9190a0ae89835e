//! Plain stacks of convolutions: LeNet, AlexNet, VGG, the beginners' networks, a multi-layer perceptron.

use super::{Pictures, finish, trains_head};
use crate::network::builder::Tensor;
use crate::network::layers::Layers;
use crate::network::maps::{Act, Conv, Map};

/// A step of a plain network.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Convolution with bias and ReLU: channels, kernel, stride, padding.
    Conv(u64, u64, u64, u64),
    /// The same with batch norm between.
    ConvNorm(u64),
    /// Max pooling: kernel, stride.
    Pool(u64, u64),
    /// Average pooling of two by two.
    Average,
    /// Pooling to a given side.
    Adaptive(u64),
    /// One vector for each sample.
    Flatten,
    /// Dropout with this probability in percent.
    Dropout(u64),
    /// Linear layer and ReLU.
    Linear(u64),
}

use Step::{Adaptive, Average, Conv as C, ConvNorm, Dropout, Flatten, Linear, Pool};

/// Steps and input channels of the network with this id; the classifying layer follows.
fn steps(id: &str) -> Option<(Vec<Step>, u64)> {
    let vgg = |widths: [u64; 5], norm: bool| {
        let mut steps = Vec::new();
        for (stage, &times) in widths.iter().enumerate() {
            let channels = (64 << stage).min(512);
            for _ in 0..times {
                steps.push(if norm { ConvNorm(channels) } else { C(channels, 3, 1, 1) });
            }
            steps.push(Pool(2, 2));
        }
        steps.extend([Adaptive(7), Flatten, Linear(4096), Dropout(50), Linear(4096), Dropout(50)]);
        (steps, 3)
    };
    Some(match id {
        "vgg-11" => vgg([1, 1, 2, 2, 2], false),
        "vgg-13" => vgg([2, 2, 2, 2, 2], false),
        "vgg-16" => vgg([2, 2, 3, 3, 3], false),
        "vgg-19" => vgg([2, 2, 4, 4, 4], false),
        "vgg-11-bn" => vgg([1, 1, 2, 2, 2], true),
        "vgg-13-bn" => vgg([2, 2, 2, 2, 2], true),
        "vgg-16-bn" => vgg([2, 2, 3, 3, 3], true),
        "vgg-19-bn" => vgg([2, 2, 4, 4, 4], true),
        "alexnet" => (
            vec![
                C(64, 11, 4, 2),
                Pool(3, 2),
                C(192, 5, 1, 2),
                Pool(3, 2),
                C(384, 3, 1, 1),
                C(256, 3, 1, 1),
                C(256, 3, 1, 1),
                Pool(3, 2),
                Adaptive(6),
                Flatten,
                Dropout(50),
                Linear(4096),
                Dropout(50),
                Linear(4096),
            ],
            3,
        ),
        "lenet-5" => (vec![C(6, 5, 1, 2), Average, C(16, 5, 1, 0), Average, Flatten, Linear(120), Linear(84)], 1),
        "mnist-cnn" => {
            (vec![C(32, 3, 1, 0), C(64, 3, 1, 0), Pool(2, 2), Dropout(25), Flatten, Linear(128), Dropout(50)], 1)
        }
        "mnist-mlp" => (vec![Flatten, Linear(512), Linear(512)], 1),
        "catdog-cnn" => (
            vec![
                C(32, 3, 1, 0),
                Pool(2, 2),
                C(64, 3, 1, 0),
                Pool(2, 2),
                C(128, 3, 1, 0),
                Pool(2, 2),
                C(128, 3, 1, 0),
                Pool(2, 2),
                Adaptive(7),
                Flatten,
                Dropout(50),
                Linear(512),
            ],
            3,
        ),
        _ => return None,
    })
}

/// Classes that the beginners' data sets have.
fn classes(id: &str, pictures: Pictures) -> u64 {
    match id {
        "lenet-5" | "mnist-cnn" | "mnist-mlp" => pictures.classes_or(10),
        "catdog-cnn" => pictures.classes_or(2),
        _ => pictures.classes_or(1000),
    }
}

/// Writes the whole network; `None` where the id is not one of these.
pub(super) fn write(n: &mut Layers, id: &str, pictures: Pictures) -> Option<()> {
    let (steps, channels) = steps(id)?;
    let mut x = n.pictures(channels, pictures);
    let mut flat: Option<Tensor> = None;
    // torchvision's ReLUs are in place, the beginners' are not.
    let act = if channels == 3 && id != "catdog-cnn" { Act::Relu } else { Act::ReluCopy };
    for step in steps {
        match (step, flat) {
            (C(out, kernel, stride, padding), _) => {
                x = n.conv(x, Conv::new(out, kernel).stride(stride).padding(padding).bias());
                x = n.act(x, act);
            }
            (ConvNorm(out), _) => x = n.conv_norm(x, Conv::new(out, 3).bias(), act),
            (Pool(kernel, stride), _) => x = n.max_pool(x, kernel, stride, 0),
            (Average, _) => x = n.avg_pool(x, 2, 2, 0),
            (Adaptive(side), _) => x = n.adaptive_pool(x, side),
            (Flatten, _) => flat = Some(n.flatten(x)),
            (Dropout(percent), None) => x = Map { t: n.b.dropout(x.t, percent as f64 / 100.0), ..x },
            (Dropout(percent), Some(t)) => flat = Some(n.b.dropout(t, percent as f64 / 100.0)),
            (Linear(out), Some(t)) => {
                let y = n.fully_connected(t, out);
                flat = Some(n.act_tensor(y, act));
            }
            (Linear(_), None) => {}
        }
    }
    let last = flat.unwrap_or(x.t);
    n.trained = trains_head(n);
    let logits = n.fully_connected(last, classes(id, pictures));
    finish(n, logits);
    Some(())
}
