//! What a card needs beside PyTorch's own tensors.

use crate::catalog::{Gpu, GpuFamily, Vendor};
use crate::network::Program;
use crate::project::{Project, Runtime};
use crate::units::Bytes;

/// CUDA context and the kernels of PyTorch's libraries that stay loaded, as `nvidia-smi` shows them for a process that
/// has run one product.
///
/// Public figures run from 0.3 to 0.6 GiB with lazily loaded modules (CUDA 11.7 and later) and grow with the number of
/// multiprocessors; data-center cards of 80 GB and more stand at the upper end
/// (stas00/ml-engineering, training/performance; huggingface/transformers `perf_train_gpu_one`, 1.3 GB with eagerly
/// loaded modules on V100).
pub fn context(gpu: Option<&Gpu>) -> Bytes {
    let Some(gpu) = gpu else { return Bytes::from_mib(500) };
    match gpu.vendor {
        Vendor::Nvidia => match gpu.family {
            GpuFamily::Datacenter if gpu.memory.gib() >= 40.0 => Bytes::from_mib(520),
            GpuFamily::Datacenter | GpuFamily::Workstation => Bytes::from_mib(450),
            _ => Bytes::from_mib(420),
        },
        Vendor::Apple => Bytes::from_mib(300),
        // The ROCm runtime and its kernels take somewhat more.
        _ => Bytes::from_mib(700),
    }
}

/// Kernels of all libraries, which are loaded with the context unless CUDA is 11.7 or later and asked to wait (CUDA
/// programming guide, "Lazy Loading"; `PyTorch` asks since 1.13). What `nvidia-smi` shows before the first tensor: with CUDA 10
/// 721 MiB on a GTX 1080, 879 on an RTX 2080 Ti, 1,008 on a Titan V (pytorch/pytorch 55277, 49877, 28394; the largest counts
/// for game cards), 1,343 on a V100 (huggingface/transformers `perf_train_gpu_one`), and 1,488 and 1,687 on an RTX 3090 with
/// the CUDA 11 that it needs (pytorch/pytorch 49877 and 55277).
pub fn eager_modules(runtime: Runtime, gpu: Option<&Gpu>) -> Bytes {
    if !matches!(runtime, Runtime::One | Runtime::LateOne) {
        return Bytes::ZERO;
    }
    let before_ampere = gpu.filter(|g| g.compute_capability.is_some_and(|c| c < 8.0));
    let all = match before_ampere.map(|g| g.family) {
        None => 1590,
        Some(GpuFamily::Datacenter | GpuFamily::Workstation) => 1343,
        Some(_) => 1008,
    };
    Bytes::from_mib(all) - context(gpu)
}

/// cuBLAS workspaces: 8 MiB a handle and stream, 32 MiB on Hopper and later (`CUDABlas.cpp`), for forward and backward
/// threads.
pub fn workspaces(gpu: Option<&Gpu>) -> Bytes {
    match gpu.and_then(|g| g.compute_capability) {
        Some(c) if c >= 9.0 => Bytes::from_mib(64),
        _ => Bytes::from_mib(17),
    }
}

/// Communication buffers of NCCL for a group of cards: a few channels of 4 MiB a peer and their bookkeeping.
pub fn communication(count: u32) -> Bytes {
    match count {
        0 | 1 => Bytes::ZERO,
        2..=8 => Bytes::from_mib(300),
        _ => Bytes::from_mib(600),
    }
}

/// A desktop with a browser on the same card: 0.4 to 1.5 GiB, the middle of it.
pub fn desktop(project: &Project) -> Bytes {
    if project.hardware.desktop { Bytes::from_mib(800) } else { Bytes::ZERO }
}

/// cuDNN's kernels, loaded with the first convolution: what convolutional nets show beyond multi-layer perceptrons on the
/// same card (itu-rad/GPUMemNet, A100: 1.75 against 1.4 GiB beside the tensors).
pub fn convolutions(program: &Program) -> Bytes {
    if program.convolution > 0 { Bytes::from_mib(320) } else { Bytes::ZERO }
}

/// What cuDNN's fast algorithms take for dense convolutions while there is room, and the allocator keeps: about twice
/// input and output of the largest (same source: ResNet-18 and -50, VGG-16, `EfficientNetV2` at 8 to 128 pictures).
pub fn convolution_workspaces(program: &Program) -> Bytes {
    Bytes(program.convolution) * 2
}
