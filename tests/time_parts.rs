//! What a step takes of each resource, one at a time: an amount of work over a rate that somebody published.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numbers;

use enough_gpu::catalog::{Catalog, Gpu};
use enough_gpu::estimate::time::{Arithmetic, Cut, Workload, achieved, is_fast, peak};
use enough_gpu::estimate::{Bottleneck, TimeEstimate};
use enough_gpu::project::{Interconnect, Network, Parallel, Sharding, Wires};
use numbers::close;

/// A step that asks for nothing.
fn idle() -> Workload {
    Workload {
        products: 0.0,
        attention: 0.0,
        product_speed: 1.0,
        traffic: 0.0,
        kernels: 0.0,
        input: 0.0,
        model: 0.0,
        optimizer: 0.0,
        weights: 0.0,
        trained: 0.0,
        weight_bytes: 2.0,
        gradient_bytes: 4.0,
        passes: 2.0,
        arithmetic: Arithmetic::Half,
        micro_batch: 1.0,
        accumulation: 1.0,
        samples: 1000.0,
        host_step: false,
        paged: 0.0,
        from_host: 0.0,
        from_disk: 0.0,
        histogram: 0.0,
        model_parallel: false,
        band: 0.3,
        cut: None,
        wires: (Wires::default(), ""),
    }
}

fn on(load: &Workload, gpu: &Gpu, count: u32, sharding: Sharding) -> TimeEstimate {
    load.on(gpu, count, sharding).unwrap()
}

fn alone(load: &Workload, gpu: &Gpu) -> f64 {
    on(load, gpu, 1, Sharding::Ddp).step.0
}

/// The seconds of a step on one card that asks for one thing alone.
#[test]
fn each_resource_has_its_rate() {
    let catalog = Catalog::bundled();
    let gpu = |id| catalog.gpu(id).unwrap();
    let (a100, h100, v100, game) = (gpu("a100-sxm-80gb"), gpu("h100-sxm"), gpu("v100-sxm2-32gb"), gpu("rtx-4090"));
    for card in [a100, h100, v100, game] {
        let rate = achieved(card, Arithmetic::Half).unwrap();
        let products = Workload { products: 1e15, ..idle() };
        close(alone(&products, card), 1e15 / rate);
        close(alone(&Workload { product_speed: 0.5, ..products }, card), 2e15 / rate);
        // FlashAttention-2 reaches 50 to 70 % of peak forward and less backward, products some 60 to 80 %.
        let attention = alone(&Workload { attention: 1e15, ..idle() }, card) * rate / 1e15;
        assert!((1.7..3.3).contains(&attention), "{}: {attention}", card.id);
        // What cannot overlap is added up.
        let all = Workload { products: 1e15, attention: 2e15, traffic: 3e12, ..idle() };
        let traffic = alone(&Workload { traffic: 3e12, ..idle() }, card);
        close(alone(&all, card), 1e15 / rate + 2e15 * attention / rate + traffic);
        // Kernels are started, and data prepared, beside the work; what takes longest decides.
        let start = alone(&Workload { kernels: 1e6, ..idle() }, card);
        assert!((4.0..12.0).contains(&start), "a kernel takes {start} microseconds to start");
        close(alone(&Workload { kernels: 1e6, traffic: 3e9, ..idle() }, card), start);
        close(alone(&Workload { kernels: 1.0, traffic: 3e12, ..idle() }, card), traffic);
        close(
            alone(&Workload { input: start * 10.0, kernels: 1e6, ..idle() }, card),
            alone(&Workload { input: start * 10.0, ..idle() }, card),
        );
        // A micro-batch after the other.
        close(alone(&Workload { accumulation: 7.0, ..all }, card), 7.0 * alone(&all, card));
        // The optimizer's step comes once, at the speed of memory.
        let stepping = Workload { accumulation: 7.0, optimizer: 3e12, ..all };
        close(alone(&stepping, card), 7.0 * alone(&all, card) + traffic);
        // On the processor two channels of DDR5 give some 50 GB/s.
        let host = alone(&Workload { host_step: true, optimizer: 5e10, ..idle() }, card);
        assert!((0.5..2.0).contains(&host), "{host}");
        close(host, on(&Workload { optimizer: 5e10, ..idle() }, card, 1, Sharding::Zero3Offload).step.0);
    }
    // 2,039 and 3,350 GB/s; caches of Ada and of the game cards after it hold a part of the traffic.
    let traffic = Workload { traffic: 1e12, ..idle() };
    close(alone(&traffic, a100), 1e12 / 2039e9);
    close(alone(&traffic, h100), 1e12 / 3350e9);
    close(alone(&traffic, gpu("rtx-3090")), 1e12 / 936e9);
    close(alone(&traffic, gpu("rx-7900-xtx")), 1e12 / 960e9);
    for (id, gb_s) in [("rtx-4090", 1008e9), ("rtx-5090", 1792e9), ("rtx-6000-ada", 960e9), ("l40s", 864e9)] {
        let seen = 1e12 / gb_s / alone(&traffic, gpu(id));
        assert!((1.1..1.5).contains(&seen), "{id}: {seen}");
    }
    // A machine with game cards prepares data more slowly, and so do those with one small card: no faster than a game card's.
    let input = Workload { input: 1.0, ..idle() };
    close(alone(&input, a100), 1.0);
    for id in ["rtx-4090", "rtx-6000-ada", "apple-m2-ultra"] {
        assert!((1.5..4.0).contains(&alone(&input, gpu(id))), "{id}");
    }
    for id in ["t4", "l4", "a10g", "v100-sxm2-16gb", "p100-pcie-16gb"] {
        close(alone(&input, gpu(id)), alone(&input, game));
    }
    // 750,000 rows of 50 columns, 500 trees of six levels: 12.57 s on a GTX 1080 Ti, of which starting kernels is a part
    // (the page of XGBoost on GPUs).
    let trees = Workload { histogram: 750e3 * 50.0 * 6.0, samples: 500.0, ..idle() };
    let told = on(&Workload { arithmetic: Arithmetic::Fp32, ..trees }, gpu("gtx-1080-ti"), 1, Sharding::Ddp).run.0;
    assert!((11.0..14.0).contains(&told), "{told}");
    assert!((20.0..36.0).contains(&trees.on_cpu().0), "{}", trees.on_cpu().0);
}

/// A slot of generation 4 with 16 lanes gives 31.5 GB/s one way; each generation doubles it, each halving of the lanes
/// halves it.
#[test]
fn main_memory_is_behind_the_slot() {
    let catalog = Catalog::bundled();
    let copies = Workload { from_host: 31.52e9, ..idle() };
    let of = |id: &str| alone(&copies, catalog.gpu(id).unwrap());
    let fourth = of("rtx-4090");
    // A bit less than the slot's rate is reached.
    assert!((1.0..2.2).contains(&fourth), "{fourth}");
    close(of("rtx-5090"), fourth / 2.0);
    close(of("h100-sxm"), fourth / 2.0);
    close(of("v100-sxm2-32gb"), fourth * 2.0);
    close(of("rtx-4060-ti-16gb"), fourth * 2.0);
    let card = catalog.gpu("rtx-4090").unwrap();
    // Copies run beside the work, which waits for a part of them all the same.
    let busy = Workload { traffic: 1e13, ..idle() };
    let both = alone(&Workload { from_host: copies.from_host, ..busy }, card) - alone(&busy, card);
    assert!(both > 0.1 * fourth && both < 0.5 * fourth, "{both} of {fourth}");
    // Paged states go over the same slot once a step, beside the optimizer's own traffic.
    let bus = fourth - both;
    close(alone(&Workload { paged: copies.from_host, ..idle() }, card), bus);
    close(alone(&Workload { paged: copies.from_host, accumulation: 5.0, optimizer: 1.0, ..idle() }, card), bus);
    close(on(&Workload { paged: copies.from_host, ..idle() }, card, 4, Sharding::Zero2).step.0, bus / 4.0);
    close(on(&Workload { paged: copies.from_host, ..idle() }, card, 4, Sharding::Ddp).step.0, bus);
    let heavy = Workload { paged: copies.from_host, optimizer: 1e13, ..idle() };
    close(alone(&heavy, card), alone(&Workload { paged: 0.0, ..heavy }, card));
    // A disk of PCIe 4.0 reads 7 GB/s and writes 5; each machine has its own, and the work goes on beside it.
    let disk = Workload { from_disk: 6e12, ..idle() };
    let one = alone(&disk, card);
    assert!((6e12 / 7e9..6e12 / 5e9).contains(&one), "{one}");
    close(on(&disk, card, 8, Sharding::Zero3).step.0, one);
    close(on(&disk, card, 32, Sharding::Zero3).step.0, one / 4.0);
    close(alone(&Workload { traffic: 1e12, ..disk }, card), one);
}

/// A step of nothing but gradients: what rings say they move (Rabenseifner: `2 (n - 1) / n`; `ZeRO`, section 7).
#[test]
fn cards_tell_each_other_what_their_way_of_sharing_asks_for() {
    let catalog = Catalog::bundled();
    let a100 = catalog.gpu("a100-sxm-80gb").unwrap();
    let load = Workload { trained: 1e9, weights: 3e9, passes: 3.0, accumulation: 4.0, ..idle() };
    let (gradients, weights) = (4e9, 6e9);
    // 300 GB/s one way, of which NCCL's rings reach 70 to 90 %.
    let ring = 2.0 * 0.5 * gradients / on(&load, a100, 2, Sharding::Ddp).between.0;
    assert!((0.7..0.9).contains(&(ring / 300e9)), "{ring:e}");
    for n in [2_u32, 4, 8] {
        let share = f64::from(n - 1) / f64::from(n);
        for (sharding, bytes) in [
            (Sharding::Auto, 2.0 * gradients),
            (Sharding::Ddp, 2.0 * gradients),
            (Sharding::Zero1, 2.0 * gradients),
            (Sharding::Zero2, 4.0 * gradients + gradients),
            (Sharding::Zero3, 4.0 * (3.0 * weights + gradients)),
            (Sharding::Fsdp, 4.0 * (3.0 * weights + gradients)),
            (Sharding::FsdpGrad, 4.0 * (weights + gradients)),
            (Sharding::DeviceMap, 0.0),
        ] {
            let told = on(&load, a100, n, sharding);
            close(told.between.0, share * bytes / ring);
            close(told.step.0, told.between.0);
        }
    }
    // fp32 weights are gathered in 16 bit; a weight of less stays as it is.
    let gathered = |bytes: f64| on(&Workload { weight_bytes: bytes, ..load }, a100, 8, Sharding::Zero3).between.0;
    close(gathered(4.0), gathered(2.0));
    close(gathered(1.0), 0.875 * 4.0 * (3.0 * 3e9 + gradients) / ring);
    let halved = Workload { gradient_bytes: 2.0, ..load };
    close(on(&halved, a100, 8, Sharding::Ddp).between.0, 0.875 * gradients / ring);
    // One card has nobody to talk to, and none is taken for one.
    assert_eq!(on(&load, a100, 1, Sharding::Ddp).between.0, 0.0);
    close(on(&load, a100, 0, Sharding::Ddp).steps, on(&load, a100, 1, Sharding::Ddp).steps);

    // Behind long work half of it stays, behind short work all but what fits.
    let wait = on(&load, a100, 8, Sharding::Ddp).between.0;
    let beside = |traffic: f64, sharding| on(&Workload { traffic, ..load }, a100, 8, sharding).between.0;
    close(beside(1e15, Sharding::Ddp), wait / 2.0);
    close(beside(1e15, Sharding::Auto), wait / 2.0);
    let little = 1e10;
    let hidden = wait - beside(little, Sharding::Ddp);
    let work = little / 2039e9;
    assert!(hidden > 0.05 * work && hidden < work, "{hidden} of {work}");
    // All-reduce waits for the last of four micro-batches; what is sent after each hides behind each.
    let sent = on(&load, a100, 8, Sharding::Zero3).between.0;
    close(sent - beside(little, Sharding::Zero3), 4.0 * hidden);
}

/// Which link there is, and what the network between machines adds.
#[test]
fn links_are_as_fast_as_they_are_sold() {
    let catalog = Catalog::bundled();
    let gpu = |id: &str| catalog.gpu(id).unwrap();
    let rate = |id: &str, count: u32, wires: Wires| {
        let card = gpu(id);
        let load = Workload { trained: 1e9, wires: (wires, card.id), ..idle() };
        let share = f64::from(count - 1) / f64::from(count);
        2.0 * share * 4e9 / on(&load, card, count, Sharding::Ddp).between.0 / 1e9
    };
    let usual = Wires::default();
    let link = |link| Wires { link, ..usual };
    let network = |network| Wires { network, ..usual };
    let machines = |machines, network| Wires { machines, network, ..usual };
    // NVLink: 900, 600 and 300 GB/s both ways together.
    let nvlink = rate("h100-sxm", 8, usual);
    assert!((315.0..405.0).contains(&nvlink), "{nvlink}");
    close(rate("a100-sxm-80gb", 8, usual), nvlink * 600.0 / 900.0);
    close(rate("v100-sxm2-32gb", 8, usual), nvlink * 300.0 / 900.0);
    // Two game cards without a bridge lose 26 % on BERT-large, which is 5 GB/s (lambdal/deeplearning-benchmark); two
    // workstation cards of the same generation lose 3 %, which is 10 GB/s or more of 31.
    let (game, work) = (rate("rtx-4090", 2, usual), rate("rtx-6000-ada", 2, usual));
    assert!((4.0..7.0).contains(&game) && (9.0..20.0).contains(&work), "{game} {work}");
    close(rate("l40s", 4, usual), work);
    close(rate("rx-7900-xtx", 2, usual), work);
    // A bridge that somebody has said to have, between two; cards of workstations come with it.
    close(rate("rtx-3090", 2, usual), game);
    close(rate("rtx-3090", 2, link(Interconnect::NvLink)), nvlink * 112.5 / 900.0);
    close(rate("rtx-3090", 4, link(Interconnect::NvLink)), game);
    close(rate("quadro-gv100", 2, usual), nvlink * 200.0 / 900.0);
    close(rate("quadro-gv100", 4, usual), work / 2.0);
    // Lanes.
    close(rate("rtx-4090", 2, link(Interconnect::Pcie16)), game);
    close(rate("rtx-4090", 2, link(Interconnect::Pcie8)), game / 2.0);
    close(rate("rtx-4090", 2, link(Interconnect::Pcie4)), game / 4.0);
    close(rate("a100-sxm-80gb", 8, link(Interconnect::Pcie16)), work);
    // Several machines: 400 Gb/s for each H100, 200 for each A100, 25 GB/s for a data-center machine of PCIe cards, 100
    // Gb/s elsewhere; the slower of link and network decides.
    let share = rate("h100-sxm", 16, network(Network::Ethernet100)) / 12.5;
    assert!((0.75..0.95).contains(&share), "{share}");
    close(rate("h100-sxm", 16, usual), (8.0 * 50.0 * share).min(nvlink));
    close(rate("a100-sxm-80gb", 16, usual), 8.0 * 25.0 * share);
    close(rate("h100-sxm", 16, network(Network::InfiniBand400)), (400.0 * share).min(nvlink));
    close(rate("h100-sxm", 16, network(Network::InfiniBand200)), 200.0 * share);
    for (net, gigabits) in [(Network::Ethernet1, 1.0), (Network::Ethernet10, 10.0), (Network::Ethernet25, 25.0)] {
        close(rate("a100-sxm-80gb", 16, network(net)), gigabits / 8.0 * share);
        close(rate("a100-sxm-80gb", 8, network(net)), nvlink * 600.0 / 900.0);
    }
    close(rate("rtx-4090", 2, machines(2, Network::Ethernet10)), 1.25 * share);
    close(rate("rtx-4090", 2, machines(2, Network::Auto)), game.min(12.5 * share));
    close(rate("v100-pcie-32gb", 2, machines(2, Network::Auto)), work / 2.0);
    // Two machines of two H100 each have two network cards each.
    close(rate("h100-sxm", 4, machines(2, Network::InfiniBand200)), 2.0 * 25.0 * share);

    // What the person says of their own cards is nothing to others.
    let load = Workload { trained: 1e9, wires: (link(Interconnect::Pcie4), "rtx-4090"), ..idle() };
    let other = on(&load, gpu("rtx-5090"), 2, Sharding::Ddp).between.0;
    close(other, on(&Workload { trained: 1e9, ..idle() }, gpu("rtx-5090"), 2, Sharding::Ddp).between.0);
    // Cards whose bridges join pairs, or whose fabric the name denies.
    assert!(!is_fast(gpu("a100-pcie-80gb"), 8, usual) && is_fast(gpu("a100-pcie-80gb"), 2, usual));
    assert!(
        is_fast(gpu("h100-sxm"), 8, link(Interconnect::NvLink))
            && !is_fast(gpu("h100-sxm"), 8, link(Interconnect::Pcie16))
    );
    assert!(!is_fast(gpu("rtx-4090"), 2, link(Interconnect::NvLink)) && !is_fast(gpu("rtx-3090"), 2, usual));
}

/// Steps, the share of the peak rate, the band and what decides.
#[test]
fn a_run_is_its_steps() {
    let catalog = Catalog::bundled();
    let a100 = catalog.gpu("a100-sxm-80gb").unwrap();
    let load = Workload { products: 3e14, model: 2e14, micro_batch: 3.0, accumulation: 2.0, samples: 1001.0, ..idle() };
    let one = on(&load, a100, 1, Sharding::Ddp);
    assert_eq!((one.steps, one.flops.0), (167.0, 4e14));
    close(one.run.0, one.step.0 * 167.0);
    close(one.mfu, 4e14 / one.step.0 / 312e12);
    let eight = on(&load, a100, 8, Sharding::Ddp);
    assert_eq!((eight.steps, eight.flops.0), (21.0, 32e14));
    close(eight.mfu, one.mfu * one.step.0 / eight.step.0);
    // Cards one behind the other see the same samples.
    assert_eq!(on(&load, a100, 8, Sharding::DeviceMap).steps, 167.0);
    assert_eq!(on(&Workload { samples: 1.0, ..load }, a100, 8, Sharding::Ddp).steps, 1.0);
    // Several cards wait for the slowest: 1 to 5 % (ResNet-50 on 2 to 8 cards).
    let wait = eight.step.0 / one.step.0;
    assert!((1.01..1.05).contains(&wait), "{wait}");
    // Beyond a machine less is known.
    assert_eq!((one.band, eight.band), (0.3, 0.3));
    assert!(on(&load, a100, 16, Sharding::Ddp).band > 0.4);

    let limit = |load: &Workload, count| on(load, a100, count, Sharding::Ddp).bottleneck;
    assert_eq!(limit(&load, 1), Bottleneck::Compute);
    assert_eq!(limit(&Workload { traffic: 1e13, ..load }, 1), Bottleneck::Memory);
    assert_eq!(limit(&Workload { input: 1e3, ..load }, 1), Bottleneck::Input);
    assert_eq!(limit(&Workload { kernels: 1e9, ..load }, 1), Bottleneck::Input);
    assert_eq!(limit(&Workload { trained: 1e13, ..load }, 8), Bottleneck::Communication);
    assert_eq!(limit(&Workload { trained: 1e8, ..load }, 8), Bottleneck::Compute);
    // Waiting for more than half of the work is a matter of the link.
    let work = one.step.0;
    let shares: Vec<(f64, bool)> = (1..40)
        .map(|n| on(&Workload { trained: f64::from(n) * 2.5e9, ..load }, a100, 8, Sharding::Ddp))
        .map(|told| (told.between.0 / work, told.bottleneck == Bottleneck::Communication))
        .collect();
    assert!(shares.iter().all(|(share, link)| *link == (*share > 0.5)), "{shares:?}");
    assert!(shares.iter().any(|(share, _)| (0.35..0.5).contains(share)), "{shares:?}");
    assert!(shares.iter().any(|(share, _)| (0.5..0.7).contains(share)), "{shares:?}");

    // A library that lays out layers and matrices as well keeps what is lost small, where links are fast.
    let large = Workload { trained: 1e12, model_parallel: true, ..load };
    let lost = on(&large, a100, 8, Sharding::Zero3).between.0 / (2.0 * work / 2.0);
    assert!((0.05..0.3).contains(&lost), "{lost}");
    let slow = catalog.gpu("rtx-4090").unwrap();
    let plain = Workload { model_parallel: false, ..large };
    assert_eq!(on(&large, slow, 8, Sharding::Zero3).between, on(&plain, slow, 8, Sharding::Zero3).between);
    // Divided states are stepped by all cards, each its part.
    let stepping = Workload { optimizer: 2039e9, ..idle() };
    for (sharding, seconds) in [
        (Sharding::Ddp, 1.0),
        (Sharding::Auto, 1.0),
        (Sharding::DeviceMap, 1.0),
        (Sharding::Zero1, 0.25),
        (Sharding::Fsdp2, 0.25),
    ] {
        close(on(&stepping, a100, 4, sharding).step.0, seconds);
    }
}

/// An ordinary processor: eight cores with AVX2 come to some hundred GFLOP/s and 30 GB/s.
#[test]
fn a_processor_does_it_too() {
    let seconds = |load: &Workload| load.on_cpu().0 / load.samples;
    let (flops, bytes) =
        (seconds(&Workload { products: 1e12, ..idle() }), seconds(&Workload { traffic: 1e11, ..idle() }));
    assert!((1.0..10.0).contains(&flops) && (1.5..6.0).contains(&bytes), "{flops} {bytes}");
    close(seconds(&Workload { attention: 1e12, ..idle() }), flops);
    close(seconds(&Workload { optimizer: 1e11, ..idle() }), bytes);
    close(seconds(&Workload { products: 1e12, attention: 2e12, traffic: 1e11, ..idle() }), 3.0 * flops + bytes);
    let starts = seconds(&Workload { kernels: 1e6, ..idle() });
    assert!((1.0..7.0).contains(&starts), "{starts}");
    let input = seconds(&Workload { input: 10.0, ..idle() });
    assert!((15.0..40.0).contains(&input), "{input}");
    close(seconds(&Workload { input: 10.0, products: 1e12, ..idle() }), input);
    close(seconds(&Workload { input: 10.0, kernels: 1e6, ..idle() }), input + starts);
    // Micro-batch after micro-batch, step after step.
    let load =
        Workload { products: 1e12, optimizer: 1e11, micro_batch: 3.0, accumulation: 2.0, samples: 1001.0, ..idle() };
    close(load.on_cpu().0, 167.0 * (2.0 * flops + bytes));
    close(Workload { samples: 1.0, ..load }.on_cpu().0, 2.0 * flops + bytes);
    // The page of XGBoost on GPUs: 36.01 s on a Ryzen 7 2700 (see `each_resource_has_its_rate`).
    let trees = Workload { histogram: 750e3 * 50.0 * 6.0, kernels: 1710.0, samples: 500.0, ..idle() };
    assert!((33.0..39.0).contains(&trees.on_cpu().0), "{}", trees.on_cpu().0);
}

/// A model that is cut: tensor parallelism (Korthikanti et al. 2022), a pipeline (Narayanan et al. 2021).
#[test]
fn a_cut_model_pays_for_its_cuts() {
    let catalog = Catalog::bundled();
    let h100 = catalog.gpu("h100-sxm").unwrap();
    let rate = achieved(h100, Arithmetic::Half).unwrap();
    let sizes = Cut { layers: 32.0, stream: 1e8, passes: 2.0 };
    let with = |load: Workload, tensor, pipeline, chunks, count| {
        let parallel = Parallel { tensor, pipeline, chunks, ..Parallel::default() };
        on(&Workload { cut: Some((parallel, sizes)), ..load }, h100, count, Sharding::Zero1)
    };
    let load = Workload { products: 1e15, accumulation: 8.0, ..idle() };
    let work = 1e15 / rate;
    let wait = alone_wait(h100);
    // A pipeline of p cards waits for (p - 1) / (v m) of its work.
    for (pipeline, chunks) in [(4_u32, 1_u32), (4, 2), (8, 4)] {
        let (p, v) = (f64::from(pipeline), f64::from(chunks));
        close(with(load, 1, pipeline, chunks, pipeline).step.0, 8.0 * work / p * (1.0 + (p - 1.0) / (v * 8.0)) * wait);
    }
    // Two all-reduces a layer and pass, of the stream: 2 (t - 1) / t of it past each card.
    let ring = 2.0 * 0.5 * 4e9 / on(&Workload { trained: 1e9, ..idle() }, h100, 2, Sharding::Ddp).between.0;
    for tensor in [2_u32, 8] {
        let t = f64::from(tensor);
        let between = 2.0 * 2.0 * (t - 1.0) / t * 1e8 * 2.0 * 32.0 / ring;
        let told = with(load, tensor, 1, 1, tensor);
        close(told.step.0, 8.0 * (work / t + between) * wait);
        close(told.between.0, 8.0 * between);
        // A pipeline beside it has its share of the layers.
        let told = with(load, tensor, 2, 1, 2 * tensor);
        close(told.step.0, 8.0 * (work / t / 2.0 + between / 2.0) * (1.0 + 1.0 / 8.0) * wait);
        close(told.between.0, 8.0 * between / 2.0 * (1.0 + 1.0 / 8.0));
    }
    // Attention, traffic and kernels are cut as well: every card starts the kernels of its layers.
    let other = Workload { attention: 1e15, traffic: 1e12, ..idle() };
    let whole = alone(&other, h100);
    close(with(other, 2, 4, 1, 8).step.0, {
        let t = 2.0 * 2.0 * 0.5 * 1e8 * 2.0 * 32.0 / 4.0 / ring;
        (whole / 8.0 + t) * (1.0 + 3.0) * wait
    });
    let kernels = Workload { kernels: 1e6, ..idle() };
    close(with(kernels, 1, 4, 1, 4).step.0, alone(&kernels, h100) / 4.0 * (1.0 + 3.0) * wait);
    // The optimizer's bytes are divided over all cards, on the processor over the machines.
    close(with(Workload { optimizer: 3350e9 * 16.0, ..idle() }, 1, 4, 1, 16).step.0, 1.0);
    let host = Workload { optimizer: 1e12, host_step: true, ..idle() };
    close(with(host, 1, 4, 1, 8).step.0, alone(&host, h100));
    close(with(host, 1, 4, 1, 16).step.0, alone(&host, h100) / 2.0);
    let paged = Workload { paged: 1e12, ..idle() };
    close(with(paged, 1, 4, 1, 16).step.0, alone(&paged, h100) / 16.0);
    let disk = Workload { from_disk: 6e12, ..idle() };
    close(with(disk, 1, 4, 1, 16).step.0, alone(&disk, h100) / 2.0);
    // What waits in main memory comes over each card's own slot.
    let host = Workload { from_host: 1e12, ..idle() };
    close(with(host, 1, 4, 1, 4).step.0, alone(&host, h100) / 4.0 * (1.0 + 3.0) * wait);
    // Samples, operations and their share of the peak.
    let told = with(Workload { model: 1e15, micro_batch: 2.0, ..load }, 2, 2, 1, 32);
    // Thirty-two cards hold eight copies.
    assert_eq!(told.steps, (1000.0_f64 / (2.0 * 8.0 * 8.0)).ceil());
    close(told.flops.0, 1e15 * 8.0 * 8.0);
    close(told.mfu, told.flops.0 / told.step.0 / 32.0 / peak(h100, Arithmetic::Half).unwrap().0);
    close(told.run.0, told.step.0 * told.steps);
    assert_eq!(told.band, 0.3);
    assert_eq!(told.bottleneck, Bottleneck::Compute);
    assert_eq!(with(Workload { products: 1.0, ..load }, 8, 1, 1, 8).bottleneck, Bottleneck::Communication);
    // On a number of cards that the cut does not divide there is none.
    assert_eq!(with(load, 4, 1, 1, 6), on(&load, h100, 6, Sharding::Zero1));
}

/// Copies of a cut model sum their gradients.
#[test]
fn copies_of_a_cut_model_sum_gradients() {
    let catalog = Catalog::bundled();
    let h100 = catalog.gpu("h100-sxm").unwrap();
    let sizes = Cut { layers: 32.0, stream: 0.0, passes: 2.0 };
    let parallel = Parallel { tensor: 2, pipeline: 2, ..Parallel::default() };
    let with =
        |load: Workload, count, sharding| on(&Workload { cut: Some((parallel, sizes)), ..load }, h100, count, sharding);
    let load = Workload { trained: 1e9, ..idle() };
    let ring = 2.0 * 0.5 * 4e9 / on(&load, h100, 2, Sharding::Ddp).between.0;
    // Inside a machine: reduced in fp32, gathered in 16 bit, by cards that hold a quarter of the weights each.
    close(with(load, 8, Sharding::Zero1).between.0, 0.5 * 1e9 * (4.0 + 2.0) / 4.0 / ring);
    // Between machines each card has its own network card: the eighth part of what the machine has.
    let machine = 2.0 * 15.0 / 16.0 * 4e9 / on(&load, h100, 16, Sharding::Ddp).between.0;
    close(with(load, 16, Sharding::Zero1).between.0, 0.75 * 1e9 * (4.0 + 2.0) / 4.0 / (machine / 8.0));
    // Divided gradients are summed after every micro-batch.
    let several = Workload { accumulation: 4.0, ..load };
    let once = with(several, 8, Sharding::Zero1).between.0;
    close(once, with(load, 8, Sharding::Zero1).between.0);
    close(with(several, 8, Sharding::Zero2).between.0, 4.0 * once);
    // Long work hides what is sent after each, and half of the last.
    let busy = Workload { products: 1e18, ..several };
    let told = with(busy, 8, Sharding::Zero2).between.0;
    close(told, once / 2.0);
    close(with(busy, 8, Sharding::Zero1).between.0, once / 2.0);
    // Nobody to sum with: the four cards are one copy.
    assert_eq!(with(load, 4, Sharding::Zero1).between.0, 0.0);
    assert_eq!(with(several, 8, Sharding::Zero1).bottleneck, Bottleneck::Communication);
}

/// How much longer a step takes for the slowest of several cards.
fn alone_wait(gpu: &Gpu) -> f64 {
    let load = Workload { products: 1e15, ..idle() };
    on(&load, gpu, 2, Sharding::Ddp).step.0 / alone(&load, gpu)
}
