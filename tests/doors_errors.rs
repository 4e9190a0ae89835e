//! Errors about memory as people paste them, each with what must be read and how it is explained.
//!
//! Forms and figures are those of public reports of 2017 to 2026; paths, addresses and names of people are replaced.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::advise::oom::{Cause, First, explain};
use enough_gpu::catalog::Catalog;
use enough_gpu::project::import::error::{Memory, Stage};
use enough_gpu::project::import::{Hints, Note, TextKind, read};
use enough_gpu::project::{Field, Project};
use enough_gpu::units::Bytes;

/// A message, its amounts in MiB (tried, capacity, free, allocated, reserved without use), and more where it says more.
struct Case {
    name: &'static str,
    text: &'static str,
    memory: Memory,
    amounts: [Option<f64>; 5],
    stage: Option<Stage>,
    first: Option<First>,
    card: &'static str,
    found: &'static [(Field, &'static str)],
}

const fn case(name: &'static str, memory: Memory, amounts: [Option<f64>; 5], text: &'static str) -> Case {
    Case { name, text, memory, amounts, stage: None, first: None, card: "", found: &[] }
}

impl Case {
    const fn stage(mut self, stage: Stage) -> Self {
        self.stage = Some(stage);
        self
    }

    const fn first(mut self, first: First) -> Self {
        self.first = Some(first);
        self
    }

    const fn card(mut self, card: &'static str) -> Self {
        self.card = card;
        self
    }

    const fn found(mut self, found: &'static [(Field, &'static str)]) -> Self {
        self.found = found;
        self
    }
}

const GIB: f64 = 1024.0;
const NOTHING: [Option<f64>; 5] = [None; 5];

const CASES: &[Case] = &[
    // PyTorch before its own messages.
    case("2017: the driver's error alone", Memory::Cuda, NOTHING, "THCudaCheck FAIL file=/pytorch/torch/lib/THC/generic/THCStorage.cu line=66 error=2 : out of memory
Traceback (most recent call last):
  File \"main.py\", line 180, in <module>
    loss.backward()
RuntimeError: cuda runtime error (2) : out of memory at /pytorch/torch/lib/THC/generic/THCStorage.cu:66")
        .stage(Stage::Backward),
    case("1.0: cached, without a total of what is reserved", Memory::Cuda, [Some(1.0), Some(11.17 * GIB), Some(0.5625), Some(10.90 * GIB), Some(30.96)],
        "RuntimeError: CUDA out of memory. Tried to allocate 1024.00 KiB (GPU 0; 11.17 GiB total capacity; 10.90 GiB already allocated; 576.00 KiB free; 30.96 MiB cached)")
        .card("k80").first(First::Fixes),
    case("1.0: much free, and yet", Memory::Cuda, [Some(12.5), Some(10.92 * GIB), Some(9.28 * GIB), Some(8.57), Some(4.68)],
        "RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 MiB already allocated; 9.28 GiB free; 4.68 MiB cached)")
        .card("gtx-1080-ti").first(First::NoPinnedMemory),
    case("1.1: much free, more asked for", Memory::Cuda, [Some(8.13 * GIB), Some(10.76 * GIB), Some(8.20 * GIB), Some(643.57), Some(32.43)],
        "RuntimeError: CUDA out of memory. Tried to allocate 8.13 GiB (GPU 0; 10.76 GiB total capacity; 643.57 MiB already allocated; 8.20 GiB free; 32.43 MiB cached)")
        .card("rtx-2080-ti"),
    // 1.4 to 2.0.
    case("1.x on a small laptop", Memory::Cuda, [Some(264.0), Some(2.0 * GIB), Some(145.93), Some(788.51), Some(1.02 * GIB - 788.51)],
        "\" CUDA out of memory. Tried to allocate 264.00 MiB (GPU 0; 2.00 GiB total capacity; 788.51 MiB already allocated; 145.93 MiB free; 1.02 GiB reserved in total by PyTorch)\""),
    case("1.x with a second card", Memory::Cuda, [Some(130.0), Some(7.80 * GIB), Some(33.56), Some(5.91 * GIB), Some(0.18 * GIB)],
        "whyCUDA out of memory. Tried to allocate 130.00 MiB (GPU 1; 7.80 GiB total capacity; 5.91 GiB already allocated; 33.56 MiB free; 6.09 GiB reserved in total by PyTorch)"),
    case("1.x: half of the card is free", Memory::Cuda, [Some(10.84 * GIB), Some(23.65 * GIB), Some(10.26 * GIB), Some(1.06 * GIB), Some(11.47 * GIB)],
        "CUDA out of memory. Tried to allocate 10.84 GiB (GPU 0; 23.65 GiB total capacity; 1.06 GiB already allocated; 10.26 GiB free; 12.53 GiB reserved in total by PyTorch)")
        .card("rtx-4090").first(First::ExpandableSegments),
    case("1.13: far more reserved than allocated", Memory::Cuda, [Some(1.71 * GIB), Some(6.0 * GIB), Some(1.04 * GIB), Some(3.49 * GIB), Some(10.0)],
        "OutOfMemoryError: CUDA out of memory. Tried to allocate 1.71 GiB (GPU 0; 6.00 GiB total capacity; 3.49 GiB already allocated; 1.04 GiB free; 3.50 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"),
    case("2.0 on Windows: more allocated than there is, broken over lines", Memory::Cuda, [Some(2.11 * GIB), Some(8.0 * GIB), Some(0.0), Some(19.84 * GIB), Some(2.42 * GIB)],
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.11 GiB (GPU 0; 8.00 GiB total capacity; 19.84 GiB already allocated; 0 bytes free; 22.26 GiB
 reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Mana
gement and PYTORCH_CUDA_ALLOC_CONF")
        .first(First::NoSharedMemory),
    // 2.1 and later.
    case("2.1 with the letter missing", Memory::Cuda, [Some(32.0), Some(4.0 * GIB), Some(41.56), Some(2.58 * GIB), Some(1.90)],
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. GPU 0 has a total capacty of 4.00 GiB of which 41.56 MiB is free. Including non-PyTorch memory, this process has 3.44 GiB memory in use. Of the allocated memory 2.58 GiB is allocated by PyTorch, and 1.90 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF."),
    case("2.1 on Windows: one piece larger than the card", Memory::Cuda, [Some(27.12 * GIB), Some(11.99 * GIB), Some(0.0), Some(16.16 * GIB), Some(144.59)],
        "    torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 27.12 GiB. GPU 0 has a total capacty of 11.99 GiB of which 0 bytes is free. Of the allocated memory 16.16 GiB is allocated by PyTorch, and 144.59 MiB is reserved by PyTorch but unallocated.")
        .first(First::NoSharedMemory),
    case("2.1: fragments", Memory::Cuda, [Some(3.0 * GIB), Some(23.65 * GIB), Some(1.66 * GIB), Some(12.09 * GIB), Some(4.84 * GIB)],
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacty of 23.65 GiB of which 1.66 GiB is free. Including non-PyTorch memory, this process has 20.81 GiB memory in use. Of the allocated memory 12.09 GiB is allocated by PyTorch, and 4.84 GiB is reserved by PyTorch but unallocated.")
        .first(First::ExpandableSegments).card("rtx-4090"),
    case("2.1 with another process", Memory::Cuda, [Some(132.0), Some(23.64 * GIB), Some(67.06), Some(18.70 * GIB), Some(353.02)],
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 132.00 MiB. GPU 0 has a total capacty of 23.64 GiB of which 67.06 MiB is free. Process 250345 has 662.00 MiB memory in use. Including non-PyTorch memory, this process has 22.90 GiB memory in use. Of the allocated memory 18.70 GiB is allocated by PyTorch, and 353.02 MiB is reserved by PyTorch but unallocated.")
        .first(First::EndOthers).card("rtx-4090"),
    case("2.1 in a container: itself under the host's number", Memory::Cuda, [Some(3.5 * GIB), Some(23.64 * GIB), Some(1.42 * GIB), Some(20.13 * GIB), Some(1.75 * GIB)],
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.50 GiB. GPU 0 has a total capacty of 23.64 GiB of which 1.42 GiB is free. Process 2722 has 22.22 GiB memory in use. Of the allocated memory 20.13 GiB is allocated by PyTorch, and 1.75 GiB is reserved by PyTorch but unallocated.")
        .first(First::Fixes).card("rtx-4090"),
    case("2.1 in a container, with a larger neighbour", Memory::Cuda, [Some(448.0), Some(79.11 * GIB), Some(391.12), Some(27.48 * GIB), Some(1.98)],
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 0 has a total capacty of 79.11 GiB of which 391.12 MiB is free. Process 247516 has 50.52 GiB memory in use. Process 477367 has 28.19 GiB memory in use. Of the allocated memory 27.48 GiB is allocated by PyTorch, and 1.98 MiB is reserved by PyTorch but unallocated.")
        .first(First::EndOthers),
    case("2.4: fifteen workers on one card", Memory::Cuda, [Some(52.0), Some(31.74 * GIB), Some(39.62), Some(11.54 * GIB), Some(677.26)],
        "`OutOfMemoryError: CUDA out of memory. Tried to allocate 52.00 MiB. GPU 0 has a total capacity of 31.74 GiB of which 39.62 MiB is free. Process 101553 has 1.19 GiB memory in use. Process 101552 has 1.19 GiB memory in use. Process 101563 has 1.19 GiB memory in use. Process 101549 has 1.19 GiB memory in use. Process 101555 has 1.19 GiB memory in use. Process 101558 has 1.19 GiB memory in use. Process 101557 has 1.19 GiB memory in use. Process 101562 has 1.19 GiB memory in use. Including non-PyTorch memory, this process has 13.82 GiB memory in use. Of the allocated memory 11.54 GiB is allocated by PyTorch, and 677.26 MiB is reserved by PyTorch but unallocated.`")
        .card("v100-sxm2-32gb").first(First::ExpandableSegments),
    case("2.9: the other name of the setting, ranks before every line", Memory::Cuda, [Some(572.0), Some(39.49 * GIB), Some(321.31), Some(36.04 * GIB), Some(321.37)],
        "[rank0]:   File \"/home/me/env/lib/python3.12/site-packages/litgpt/lora.py\", line 355, in conv1d
[rank0]:     return torch.cat(
[rank0]:            ^^^^^^^^^^
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 572.00 MiB. GPU 0 has a total capacity of 39.49 GiB of which 321.31 MiB is free. Process 3721648 has 414.00 MiB memory in use. Including non-PyTorch memory, this process has 37.46 GiB memory in use. Process 1374765 has 414.00 MiB memory in use. Process 1374763 has 414.00 MiB memory in use. Process 1374764 has 414.00 MiB memory in use. Of the allocated memory 36.04 GiB is allocated by PyTorch, and 321.37 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.")
        .card("a100-sxm-40gb").first(First::EndOthers).found(&[(Field::Framework, "litgpt")]),
    case("2.x with private pools", Memory::Cuda, [Some(1024.0), Some(79.15 * GIB), Some(512.0), Some(70.0 * GIB), Some(300.0)],
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 512.00 MiB is free. Including non-PyTorch memory, this process has 78.60 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, with 3.20 GiB allocated in private pools (e.g., CUDA Graphs), and 300.00 MiB is reserved by PyTorch but unallocated.")
        .card("a100-sxm-80gb"),
    case("with a limit of its own", Memory::Hip, [Some(2.0), Some(255.98 * GIB), Some(244.65 * GIB), Some(1017.01), Some(54.99)],
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 255.98 GiB of which 244.65 GiB is free. 1.05 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., HIP Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.")
        .card("mi325x").first(First::RaiseLimit),
    // Other makers.
    case("HIP on a workstation card", Memory::Hip, [Some(6.64 * GIB), Some(19.92 * GIB), Some(6.22 * GIB), Some(5.34 * GIB), Some(7.10 * GIB)],
        "!!! Exception during processing !!! HIP out of memory. Tried to allocate 6.64 GiB. GPU 0 has a total capacity of 19.92 GiB of which 6.22 GiB is free. Of the allocated memory 5.34 GiB is allocated by PyTorch, and 7.10 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True")
        .card("rx-7900-xt").first(First::ExpandableSegments),
    case("HIP with plenty free", Memory::Hip, [Some(2.0), Some(287.98 * GIB), Some(203.49 * GIB), Some(68.63 * GIB), Some(14.93 * GIB)],
        "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 MiB. GPU 7 has a total capacity of 287.98 GiB of which 203.49 GiB is free. Of the allocated memory 68.63 GiB is allocated by PyTorch, and 14.93 GiB is reserved by PyTorch but unallocated.")
        .card("mi355x"),
    case("NPU", Memory::Npu, [Some(5.03 * GIB), Some(60.96 * GIB), Some(1.32 * GIB), Some(49.47 * GIB), Some(8.08 * GIB)],
        "RuntimeError: NPU out of memory. Tried to allocate 5.03 GiB (NPU 3; 60.96 GiB total capacity; 49.47 GiB already allocated; 49.47 GiB current active; 1.32 GiB free; 57.55 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.")
        .card("ascend-910b3").first(First::ExpandableSegmentsNpu),
    case("NPU in a newer form", Memory::Npu, [Some(72.0), Some(61.27 * GIB), Some(5.04), Some(56.05 * GIB), Some(2.34 * GIB)],
        "torch.OutOfMemoryError: NPU out of memory. Tried to allocate 72.00 MiB (NPU 0; 61.27 GiB total capacity; 56.05 GiB already allocated; 56.05 GiB current active; 5.04 MiB free; 58.39 GiB reserved in total by PyTorch).If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.")
        .card("ascend-910c"),
    case("XPU: a piece the driver does not give", Memory::Xpu, [Some(8.0 * GIB), Some(15.11 * GIB), None, Some(0.0), Some(0.0)],
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 15.11 GiB. Of the allocated memory 0 bytes is allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.")
        .card("arc-a770-16gb").first(First::Fixes),
    case("XPU in its older form", Memory::Xpu, [Some(1.71 * GIB), Some(15.56 * GIB), None, Some(176.0), Some(0.0)],
        "RuntimeError: XPU out of memory. Tried to allocate 1.71 GiB (GPU 0; 15.56 GiB total capacity; 176.00 MiB already allocated; 176.00 MiB reserved in total by PyTorch)"),
    case("Metal in decimal clothes", Memory::Metal, [Some(6.25), Some(9.07 * GIB), None, Some(8.89 * GIB), None],
        "RuntimeError: MPS backend out of memory (MPS allocated: 8.89 GB, other allocations: 172.98 MB, max allowed: 9.07 GB). Tried to allocate 6.25 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure)."),
    case("Metal: others hold most", Memory::Metal, [Some(292.5), Some(27.20 * GIB), None, Some(9.57 * GIB), None],
        "MPS backend out of memory (MPS allocated: 9.57 GiB, other allocations: 17.35 GiB, max allowed: 27.20 GiB). Tried to allocate 292.50 MiB on private pool.")
        .first(First::EndOthers),
    case("Metal on the shared pool", Memory::Metal, [Some(256.0 / 1_048_576.0), Some(18.13 * GIB), None, Some(16.0 * GIB), None],
        "MPS backend out of memory (MPS allocated: 16.00 GB, other allocations: 3.31 GB, max allowed: 18.13 GB). Tried to allocate 256 bytes on shared pool."),
    case("the asynchronous allocator, as ComfyUI shows it", Memory::Cuda, [Some(1536.0), Some(4.0 * GIB), Some(0.0), Some(3.08 * GIB), None],
        "Error occurred when executing KSampler:
Allocation on device 0 would exceed allowed memory. (out of memory)
Currently allocated     : 3.08 GiB
Requested               : 1.50 GiB
Device limit            : 4.00 GiB
Free (according to CUDA): 0 bytes
PyTorch limit (set by user-supplied memory fraction)
                        : 17179869184.00 GiB"),
    case("MUSA", Memory::Musa, [Some(512.0), Some(47.9 * GIB), Some(100.0), Some(46.0 * GIB), Some(1.0 * GIB)],
        "RuntimeError: MUSA out of memory. Tried to allocate 512.00 MiB (GPU 0; 47.90 GiB total capacity; 46.00 GiB already allocated; 100.00 MiB free; 47.00 GiB reserved in total by PyTorch)"),
    // Translated by machines.
    case("Chinese, labels before", Memory::Cuda, [Some(20.0), Some(8.0 * GIB), Some(0.0), Some(6.74 * GIB), Some(0.08 * GIB)],
        "RuntimeError：CUDA 内存不足。 尝试分配 20.00 MiB（GPU 0；总容量 8.00 GiB；已分配 6.74 GiB；0 字节空闲；PyTorch 总共保留 6.82 GiB）"),
    case("Chinese, as a title", Memory::Cuda, [Some(5.47 * GIB), Some(8.0 * GIB), Some(1.63 * GIB), Some(3.93 * GIB), None],
        "错误：CUDA内存不足。尝试分配5.47 GB但失败。GPU 0的总容量为8.00 GB，其中有1.63 GB是空闲的。在已分配的内存中，有3.93 GB被PyTorch占用"),
    case("Chinese, the newer form", Memory::Cuda, [Some(2.0 * GIB), Some(23.65 * GIB), Some(1.2 * GIB), Some(20.0 * GIB), Some(500.0)],
        "torch.OutOfMemoryError：CUDA 显存不足。尝试分配 2.00 GiB。GPU 0 的总容量为 23.65 GiB，其中 1.20 GiB 可用。包括非 PyTorch 内存在内，此进程已使用 22.00 GiB 内存。在已分配的内存中，20.00 GiB 由 PyTorch 分配，500.00 MiB 被 PyTorch 保留但未分配。")
        .card("rtx-4090"),
    case("Paddle, translated", Memory::Paddle, [Some(50.0), None, Some(0.0), Some(11.999_512 * GIB), None],
        "GPU 0上出现内存不足错误。无法在GPU 0上分配50.000000MB内存，已分配11.999512 GB内存，可用内存仅为0.000000B。ResourceExhaustedError: Out of memory error on GPU 0. Cannot allocate 50.000000MB memory on GPU 0, 11.999512GB memory has been allocated and available memory is only 0.000000B."),
    // Other frameworks.
    case("TensorFlow 1: a shape in place of a size", Memory::TensorFlow, [Some(64.0 * 2016.0 * 81.0 * 4.0 / 1_048_576.0), None, None, None, None],
        "ResourceExhaustedError (see above for traceback): OOM when allocating tensor with shape[64,2016,9,9] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc
     [[Node: SecondStageFeatureExtractor/cell_12/AvgPool_1 = AvgPool[T=DT_FLOAT]]]"),
    case("TensorFlow 2 in small letters", Memory::TensorFlow, [Some(16.0 * 112.0 * 112.0 * 147.0 * 4.0 / 1_048_576.0), None, None, None, None],
        "resource exhausted: oom when allocating tensor with shape[16,112,112,147] and type float on /job:localhost/replica:0/task:0/device:gpu:0 by allocator gpu_0_bfc"),
    case("TensorFlow's driver", Memory::TensorFlow, [Some(32.0), None, None, None, None],
        "2019-07-21 23:23:06.228039: E tensorflow/stream_executor/cuda/cuda_driver.cc:828] failed to allocate 32.00M (33554432 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory"),
    case("JAX", Memory::Jax, [Some(7_406_166_528.0 / 1_048_576.0), None, None, None, None],
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7406166528 bytes."),
    case("JAX in other words", Memory::Jax, [Some(20_029_400_304.0 / 1_048_576.0), None, None, None, None],
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 20029400304 bytes."),
    case("XLA on a TPU", Memory::Jax, [None, Some(15.48 * GIB), None, None, None],
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 19.20G of 15.48G hbm. Exceeded hbm capacity by 3.72G."),
    case("Paddle", Memory::Paddle, [Some(3.621_826 * GIB), None, Some(2.814_575 * GIB), Some(21.184_814 * GIB), None],
        "Out of memory error on GPU 0. Cannot allocate 3.621826GB memory on GPU 0, 21.184814GB memory has been allocated and available memory is only 2.814575GB. Please check whether there is any other process using GPU 0. 1. If yes, please stop them, or start PaddlePaddle on another GPU. 2. If no, please decrease the batch size of your model."),
    case("cuBLAS has no room", Memory::Cuda, NOTHING,
        "  File \"lib/python3.9/site-packages/torch/nn/modules/linear.py\", line 116, in forward
    return F.linear(input, self.weight, self.bias)
RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
        .stage(Stage::Forward).first(First::Fixes),
    // Main memory.
    case("the shell's one word", Memory::Killed, NOTHING, "iter 144: image-id:0254212, time:1.722(sec), total-loss 0.5882\n**Killed**\n").first(First::LessMainMemory),
    case("the kernel's own log", Memory::Killed, [None, None, None, Some(60_356_340.0 / 1024.0), None],
        "[Mon Apr 29 14:55:41 2024] Out of memory: Killed process 1440763 (python) total-vm:87033376kB, anon-rss:60356340kB, file-rss:0kB, shmem-rss:0kB, UID:1000")
        .first(First::LessMainMemory),
    case("a person's words for it", Memory::Killed, NOTHING, "训练到一半 Killed 了，没有别的报错").first(First::LessMainMemory),
    case("accelerate's last words", Memory::Killed, NOTHING, "subprocess.CalledProcessError: Command '['/usr/bin/python3', 'train_network.py']' died with <Signals.SIGKILL: 9>."),
    case("torchrun's last words", Memory::Killed, NOTHING, "torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 0 (pid: 2170) of binary: /usr/bin/python3"),
    case("an IDE's last words", Memory::Killed, NOTHING, "Process finished with exit code 137 (interrupted by signal 9:SIGKILL)"),
    case("a refused allocation of the processor", Memory::Main, [Some(1152.0), None, None, None, None],
        "RuntimeError: [enforce fail at alloc_cpu.cpp:80] data. DefaultCPUAllocator: not enough memory: you tried to allocate 1207959552 bytes."),
    case("NumPy", Memory::Main, [Some(1.23 * GIB), None, None, None, None],
        "numpy.core._exceptions.MemoryError: Unable to allocate 1.23 GiB for an array with shape (5500, 224, 224, 3) and data type float64"),
    case("the container's shared memory", Memory::SharedBetweenProcesses, NOTHING,
        "RuntimeError: DataLoader worker (pid 21733) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.")
        .first(First::MoreShared),
    case("Windows' paging file", Memory::PagingFile, NOTHING,
        "OSError: [WinError 1455] 页面文件太小，无法完成操作。 Error loading \"C:\\sd\\venv\\lib\\site-packages\\torch\\lib\\cudnn_cnn_train64_8.dll\" or one of its dependencies.")
        .first(First::LargerPagingFile),
    // With a traceback around.
    case("kohya on Windows, in the first step", Memory::Cuda, [Some(20.0), Some(24.0 * GIB), Some(0.0), Some(22.9 * GIB), Some(0.2 * GIB)], r#"
use 8-bit AdamW optimizer | {}
running training / 学習開始
  num train images * repeats / 学習画像の数×繰り返し回数: 800
  batch size per device / バッチサイズ: 8
  gradient accumulation steps / 勾配を合計するステップ数 = 1
steps:   0%|                                 | 0/1500 [00:00<?, ?it/s]epoch 1/30
Traceback (most recent call last):
  File "D:\sd\kohya_ss\train_network.py", line 538, in train
    noise_pred = unet(noisy_latents, timesteps, encoder_hidden_states).sample
  File "D:\sd\kohya_ss\venv\lib\site-packages\torch\nn\modules\module.py", line 1130, in _call_impl
    return forward_call(*input, **kwargs)
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 24.00 GiB total capacity; 22.90 GiB already allocated; 0 bytes free; 23.10 GiB reserved in total by PyTorch)
"#)
    .stage(Stage::Forward)
    .found(&[
        (Field::Framework, "kohya"), (Field::MicroBatch, "8"), (Field::Accumulation, "1"), (Field::Samples, "800"),
        (Field::Optimizer, "adamw8bit"), (Field::Method, "lora"),
    ]),
    case("kohya while the model goes to the card", Memory::Cuda, [Some(26.0), Some(4.0 * GIB), Some(0.0), Some(3.4 * GIB), Some(0.1 * GIB)], r#"
use AdamW optimizer | {}
Traceback (most recent call last):
  File "D:\sd\kohya_ss\train_db.py", line 191, in train
    unet, text_encoder, optimizer, train_dataloader, lr_scheduler = accelerator.prepare(
  File "D:\sd\kohya_ss\venv\lib\site-packages\accelerate\accelerator.py", line 912, in prepare_model
    model = model.to(self.device)
  File "D:\sd\kohya_ss\venv\lib\site-packages\torch\nn\modules\module.py", line 927, in to
    return self._apply(convert)
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 26.00 MiB (GPU 0; 4.00 GiB total capacity; 3.40 GiB already allocated; 0 bytes free; 3.50 GiB reserved in total by PyTorch)
"#)
    .stage(Stage::Loading)
    .first(First::LoadLess)
    .found(&[(Field::Framework, "kohya"), (Field::Optimizer, "adamw")]),
    case("LLaMA-Factory, late, with checkpointing", Memory::Cuda, [Some(4.64 * GIB), Some(23.65 * GIB), Some(2.9 * GIB), Some(17.8 * GIB), Some(2.4 * GIB)], r#"
***** Running training *****
  Num examples = 1,000
  Num Epochs = 3
  Instantaneous batch size per device = 2
  Gradient Accumulation steps = 8
 36%|###6      | 68/186 [11:02<19:09,  9.74s/it]Traceback (most recent call last):
  File "/data/LLaMA-Factory/src/llamafactory/train/tuner.py", line 49, in run_exp
    run_sft(model_args, data_args)
  File "/env/lib/python3.11/site-packages/transformers/trainer.py", line 3690, in training_step
    self.accelerator.backward(loss, **kwargs)
  File "/env/lib/python3.11/site-packages/torch/autograd/__init__.py", line 347, in backward
    _engine_run_backward(
  File "/env/lib/python3.11/site-packages/torch/utils/checkpoint.py", line 313, in backward
    torch.autograd.backward(outputs_with_grad, args_with_grad)
  File "/env/lib/python3.11/site-packages/peft/tuners/lora/layer.py", line 557, in forward
    result = result + lora_B(lora_A(dropout(x))) * scaling
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB. GPU 0 has a total capacity of 23.65 GiB of which 2.90 GiB is free. Including non-PyTorch memory, this process has 20.70 GiB memory in use. Of the allocated memory 17.80 GiB is allocated by PyTorch, and 2.40 GiB is reserved by PyTorch but unallocated.
"#)
    .stage(Stage::Backward)
    .found(&[
        (Field::Framework, "llama-factory"), (Field::Checkpointing, "on"), (Field::Method, "lora"), (Field::MicroBatch, "2"),
        (Field::Accumulation, "8"), (Field::Samples, "1000"), (Field::Epochs, "3"),
    ])
    .first(First::CapLength),
    case("the Trainer while it evaluates", Memory::Cuda, [Some(18.55 * GIB), Some(79.11 * GIB), Some(9.1 * GIB), Some(60.0 * GIB), Some(7.0 * GIB)], r#"
Traceback (most recent call last):
  File "/env/lib/python3.10/site-packages/transformers/trainer.py", line 2412, in _maybe_log_save_evaluate
    metrics = self.evaluate(ignore_keys=ignore_keys_for_eval)
  File "/env/lib/python3.10/site-packages/transformers/trainer.py", line 3375, in evaluation_loop
    all_preds = nested_concat(all_preds, logits, padding_index=-100)
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.55 GiB. GPU 0 has a total capacty of 79.11 GiB of which 9.10 GiB is free. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 7.00 GiB is reserved by PyTorch but unallocated.
"#)
    .stage(Stage::Evaluation)
    .first(First::SmallEvaluation)
    .found(&[(Field::Framework, "transformers")]),
    case("Adam's first step", Memory::Cuda, [Some(2.03 * GIB), Some(79.15 * GIB), Some(1.5 * GIB), Some(76.0 * GIB), Some(0.3 * GIB)], r#"
Traceback (most recent call last):
  File "train.py", line 210, in main
    optimizer.step()
  File "/env/lib/python3.10/site-packages/torch/optim/adamw.py", line 171, in step
    has_complex = self._init_group(
  File "/env/lib/python3.10/site-packages/torch/optim/adamw.py", line 113, in _init_group
    state["exp_avg"] = torch.zeros_like(
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.03 GiB (GPU 2; 79.15 GiB total capacity; 76.00 GiB already allocated; 1.50 GiB free; 76.30 GiB reserved in total by PyTorch)
"#)
    .stage(Stage::Optimizer)
    .first(First::SmallOptimizer)
    .found(&[(Field::Optimizer, "adamw")]),
    case("the loss over the vocabulary, eager attention, a model by its cache", Memory::Cuda, [Some(9.27 * GIB), Some(15.6 * GIB), Some(2.0 * GIB), Some(12.0 * GIB), Some(0.5 * GIB)], r#"
loading weights file /home/me/.cache/huggingface/hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots/abc/model.safetensors.index.json
Traceback (most recent call last):
  File "/env/lib/python3.11/site-packages/transformers/models/qwen2/modeling_qwen2.py", line 180, in eager_attention_forward
  File "/env/lib/python3.11/site-packages/transformers/loss/loss_utils.py", line 38, in ForCausalLMLoss
    loss = fixed_cross_entropy(logits, shift_labels)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total capacity of 15.60 GiB of which 2.00 GiB is free. Of the allocated memory 12.00 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.
"#)
    .stage(Stage::Loss)
    .found(&[(Field::Model, "qwen2.5-7b"), (Field::Attention, "eager")]),
    case("a checkpoint is merged and written", Memory::Cuda, [Some(250.0), Some(47.4 * GIB), Some(100.0), Some(46.0 * GIB), Some(0.2 * GIB)], r#"
Traceback (most recent call last):
  File "/data/axolotl/src/axolotl/cli/merge_lora.py", line 30, in do_merge_lora
    model = model.merge_and_unload(progressbar=True)
torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 250.00 MiB (GPU 0; 47.40 GiB total capacity; 46.00 GiB already allocated; 100.00 MiB free; 46.20 GiB reserved in total by PyTorch)
"#)
    .stage(Stage::Saving)
    .first(First::SaveLess)
    .card("rtx-a6000")
    .found(&[(Field::Framework, "axolotl")]),
    case("ultralytics", Memory::Cuda, [Some(50.0), Some(7.79 * GIB), Some(20.0), Some(6.0 * GIB), Some(0.2 * GIB)], r#"
  File "/env/lib/python3.8/site-packages/ultralytics/engine/trainer.py", line 331, in _do_train
    self.scaler.scale(self.loss).backward()
RuntimeError: CUDA out of memory. Tried to allocate 50.00 MiB (GPU 0; 7.79 GiB total capacity; 6.00 GiB already allocated; 20.00 MiB free; 6.20 GiB reserved in total by PyTorch)
"#)
    .stage(Stage::Backward)
    .found(&[(Field::Framework, "ultralytics")]),
    case("ZeRO-3 while it is set up, Rich's frames", Memory::Cuda, [Some(32.0), Some(39.39 * GIB), Some(10.0), Some(38.0 * GIB), Some(0.1 * GIB)], "
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /env/lib/python3.10/site-packages/deepspeed/runtime/zero/stage3.py:147 in    │
│ __init__                                                                     │
│ ❱ 147 │   │   self._create_fp16_partitions_with_defragmentation()            │
╰──────────────────────────────────────────────────────────────────────────────╯
OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB (GPU 0; 39.39 GiB total capacity; 38.00 GiB already allocated; 10.00 MiB free; 38.10 GiB reserved in total by PyTorch)
")
    .card("a100-sxm-40gb")
    .found(&[(Field::Sharding, "zero3")]),
    case("2.8: the error of an accelerator", Memory::Cuda, NOTHING,
        "torch.AcceleratorError: CUDA error: out of memory
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect."),
    case("ComfyUI's newer words", Memory::Cuda, NOTHING,
        "!!! Exception during processing !!! Allocation on device
torch.OutOfMemoryError: Allocation on device
This error means you ran out of memory on your GPU.
Got an OOM, unloading all loaded models."),
    case("ggml", Memory::Cuda, [Some(1024.0), None, None, None, None],
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1024.00 MiB on device 0: cudaMalloc failed: out of memory"),
    case("MindSpore", Memory::Npu, [Some(2048.0), None, None, None, None],
        "RuntimeError: Device(id:0) memory isn't enough and alloc failed, kernel name: Default/MatMul-op1, alloc size: 2147483648B."),
    case("Ascend's driver", Memory::Npu, NOTHING, "EL0004: Failed to allocate memory.\n        Possible Cause: Available memory is insufficient."),
    case("DeepSpeed's launcher", Memory::Killed, NOTHING, "[2024-05-01 10:00:00,000] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py'] exits with return code = -9"),
    case("Slurm", Memory::Killed, NOTHING, "slurmstepd: error: Detected 1 oom_kill event in StepId=123.batch. Some of the step tasks have been OOM Killed."),
    case("Kubernetes", Memory::Killed, NOTHING, "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137"),
    case("Colab", Memory::Killed, NOTHING, "Your session crashed after using all available RAM."),
    case("Kaggle", Memory::Killed, NOTHING, "Your notebook tried to allocate more memory than is available. It has restarted."),
    case("a C++ library", Memory::Main, NOTHING, "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc"),
    case("the system's errno", Memory::Main, NOTHING, "OSError: [Errno 12] Cannot allocate memory"),
    case("a macOS shell", Memory::Killed, NOTHING, "zsh: killed     python train.py"),
    case("a Linux shell with a script", Memory::Killed, NOTHING, "run.sh: line 12: 2170 Killed                  python train.py"),
    case("Traditional Chinese", Memory::Cuda, [Some(512.0), Some(12.0 * GIB), Some(100.0), Some(11.0 * GIB), None],
        "CUDA 記憶體不足。嘗試分配 512.00 MiB。GPU 0 的總容量為 12.00 GiB，其中 100.00 MiB 可用。其中 11.00 GiB 由 PyTorch 分配。"),
    case("remembered only in part", Memory::Cuda, NOTHING, "CUDA out of memory"),
];

#[test]
fn errors_are_read_and_explained() {
    let catalog = Catalog::bundled();
    let mut wrong = Vec::new();
    for case in CASES {
        let reading = read(case.text, Hints::pasted(&catalog));
        let Some(error) = &reading.error else {
            wrong.push(format!("{}: no error is seen", case.name));
            continue;
        };
        let mut check = |right: bool, what: String| {
            if !right {
                wrong.push(format!("{}: {what}", case.name));
            }
        };
        check(reading.kind == TextKind::Error, format!("kind {:?}", reading.kind));
        check(error.memory == case.memory, format!("{:?}, not {:?}", error.memory, case.memory));
        let read = [error.tried, error.capacity, error.free, error.allocated, error.unused];
        let names = ["tried", "capacity", "free", "allocated", "unused"];
        for ((name, got), wanted) in names.iter().zip(read).zip(case.amounts) {
            let got = got.map(Bytes::mib);
            let near = |a: f64, b: f64| (a - b).abs() <= (b * 0.01).max(11.0);
            let right = match (got, wanted) {
                (Some(got), Some(wanted)) => near(got, wanted),
                (got, wanted) => got.is_none() == wanted.is_none(),
            };
            check(right, format!("{name} is {got:?}, not {wanted:?}"));
        }
        check(case.stage.is_none() || error.stage == case.stage, format!("stage {:?}", error.stage));
        let explained = explain(error, &Project::default(), &catalog);
        check(!explained.causes.is_empty(), "no cause".into());
        if let Some(first) = case.first {
            check(
                explained.first.first() == Some(&first),
                format!("first {:?} for {:?}", explained.first, explained.causes),
            );
        }
        check(case.card.is_empty() || explained.cards.contains(&case.card), format!("cards {:?}", explained.cards));
        for (field, wanted) in case.found {
            check(
                reading.value(*field) == Some(wanted),
                format!("{field:?} is {:?}, not {wanted}", reading.value(*field)),
            );
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_missing_and_whose_card_it_is() {
    let catalog = Catalog::bundled();
    let text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 15.60 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 14.50 GiB memory in use. Of the allocated memory 14.00 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.";
    let error = read(text, Hints::pasted(&catalog)).error.unwrap();
    let mut project = Project::default();
    project.hardware.gpu = "rtx-4060-ti-16gb".into();
    let explained = explain(&error, &project, &catalog);
    assert_eq!((explained.missing, explained.is_own), (Some(Bytes(2 << 30)), Some(true)));
    assert_eq!(explained.causes, [Cause::Size]);
    project.hardware.gpu = "rtx-4090".into();
    assert_eq!(explain(&error, &project, &catalog).is_own, Some(false));
}

#[test]
fn texts_that_only_speak_of_it_are_no_errors() {
    let catalog = Catalog::bundled();
    for text in [
        "",
        "Lorem ipsum dolor sit amet",
        "try:\n    train()\nexcept torch.cuda.OutOfMemoryError:\n    batch //= 2\n",
        "# lower this if you run out of memory\nbatch_size: 4\nlearning_rate: 1e-4\nnum_train_epochs: 3\n",
        "batch_size: 4  # reduce if out of memory\nlr: 1e-4\n",
        "try:\n    step()\nexcept RuntimeError as e:\n    if 'out of memory' in str(e):\n        print('out of memory, skipping')\n",
        "{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 4096}",
    ] {
        let reading = read(text, Hints::pasted(&catalog));
        assert!(reading.error.is_none(), "{text}: {:?}", reading.error);
    }
}

/// A build without code for the card is an error, and none about memory.
#[test]
fn a_card_that_pytorch_has_no_code_for_is_told() {
    let catalog = Catalog::bundled();
    let text = "RuntimeError: CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors \
                might be asynchronously reported at some other API call.";
    let reading = read(text, Hints::pasted(&catalog));
    assert_eq!((reading.kind, reading.error), (TextKind::Error, None));
    assert_eq!(reading.notes, [Note::NoKernelForCard]);
}
