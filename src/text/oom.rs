//! The message that `PyTorch` prints when memory runs out, with the numbers of this project.

use super::{Lang, say};
use crate::advise::{OutOfMemory, Verdict};
use crate::catalog::Vendor;
use crate::units::decimal::fixed;
use crate::units::{Bytes, GIB, MIB};

/// The message in the shape that `PyTorch` prints on a card of this maker (`c10/cuda/CUDACachingAllocator.cpp`,
/// `aten/src/ATen/mps/MPSAllocator.mm`, torch-npu's `NPUCachingAllocator.cpp`).
pub fn out_of_memory(vendor: Vendor, oom: &OutOfMemory) -> String {
    let (tried, capacity, free) = (size(oom.tried), size(oom.capacity), size(oom.free));
    let in_use = size(oom.capacity - oom.free);
    let (allocated, unused) = (size(oom.allocated), size(oom.reserved_unused));
    match vendor {
        Vendor::Apple => {
            let other = size(oom.capacity - oom.free - oom.allocated);
            format!(
                "RuntimeError: MPS backend out of memory (MPS allocated: {allocated}, other allocations: {other}, max \
                 allowed: {capacity}). Tried to allocate {tried} on private pool. Use \
                 PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system \
                 failure)."
            )
        }
        Vendor::Huawei => {
            let reserved = size(oom.allocated + oom.reserved_unused);
            format!(
                "RuntimeError: NPU out of memory. Tried to allocate {tried} (NPU 0; {capacity} total capacity; \
                 {allocated} already allocated; {allocated} current active; {free} free; {reserved} reserved in total \
                 by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid \
                 fragmentation."
            )
        }
        _ => {
            let (stack, variable) = match vendor {
                Vendor::Amd | Vendor::Hygon => ("HIP", "PYTORCH_HIP_ALLOC_CONF"),
                Vendor::Intel => ("XPU", "PYTORCH_ALLOC_CONF"),
                Vendor::MooreThreads => ("MUSA", "PYTORCH_MUSA_ALLOC_CONF"),
                _ => ("CUDA", "PYTORCH_CUDA_ALLOC_CONF"),
            };
            format!(
                "torch.OutOfMemoryError: {stack} out of memory. Tried to allocate {tried}. GPU 0 has a total capacity \
                 of {capacity} of which {free} is free. Including non-PyTorch memory, this process has {in_use} memory \
                 in use. Of the allocated memory {allocated} is allocated by PyTorch, and {unused} is reserved by \
                 PyTorch but unallocated. If reserved but unallocated memory is large try setting \
                 {variable}=expandable_segments:True to avoid fragmentation."
            )
        }
    }
}

/// What stands above the message: how much is missing, in words, where it does not fit for sure.
pub fn out_of_memory_intro(lang: Lang, verdict: &Verdict) -> String {
    match verdict {
        Verdict::RunsOut { missing } => {
            say!(lang, "还差 {missing}，PyTorch 会这样报错：", "{missing} short, and PyTorch will say:")
        }
        _ => say!(lang, "真要爆显存的话，PyTorch 会这样报错：", "If it does run out, PyTorch will say:"),
    }
}

/// A size the way the allocator prints it: two decimals from a KiB on.
fn size(bytes: Bytes) -> String {
    let value = bytes.0 as f64;
    if bytes.0 <= 1024 {
        format!("{} bytes", bytes.0)
    } else if bytes.0 <= MIB {
        format!("{} KiB", fixed(value / 1024.0, 2))
    } else if bytes.0 <= GIB {
        format!("{} MiB", fixed(bytes.mib(), 2))
    } else {
        format!("{} GiB", fixed(bytes.gib(), 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OOM: OutOfMemory = OutOfMemory {
        tried: Bytes(2_491_081_032),
        capacity: Bytes(16_750_372_454),
        free: Bytes(1_092_616_192),
        allocated: Bytes(14_919_143_219),
        reserved_unused: Bytes(126_877_696),
    };

    #[test]
    fn the_message_is_the_one_people_know() {
        let message = out_of_memory(Vendor::Nvidia, &OOM);
        assert!(message.starts_with(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. GPU 0 has a total capacity of \
             15.60 GiB of which 1.02 GiB is free."
        ));
        assert!(message.contains("121.00 MiB is reserved by PyTorch but unallocated"));
        assert!(out_of_memory(Vendor::Amd, &OOM).contains("HIP out of memory"));
        assert!(out_of_memory(Vendor::Apple, &OOM).contains("MPS backend out of memory"));
        assert!(out_of_memory(Vendor::Huawei, &OOM).contains("NPU out of memory"));
    }

    #[test]
    fn sizes_are_printed_as_the_allocator_does() {
        for (bytes, shown) in [(512, "512 bytes"), (2048, "2.00 KiB"), (20 << 20, "20.00 MiB"), (GIB + 1, "1.00 GiB")] {
            assert_eq!(size(Bytes(bytes)), shown);
        }
    }
}
