//! Listings of cards as people paste them, each with what must be read: the card, how many, the memory in use, the screen.
//!
//! Layouts and figures are those of public reports of 2017 to 2026; addresses, paths and names of people are replaced.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::Catalog;
use enough_gpu::project::Field;
use enough_gpu::project::import::{Hints, Note, Reading, TextKind, read, read_file};

/// A listing and what it says: card, how many, used and total MiB of the first, whether a screen hangs on it.
struct Case {
    name: &'static str,
    text: &'static str,
    card: &'static str,
    count: &'static str,
    used: Option<u64>,
    total: Option<u64>,
    screen: Option<&'static str>,
}

const fn case(name: &'static str, card: &'static str, count: &'static str, text: &'static str) -> Case {
    Case { name, text, card, count, used: None, total: None, screen: None }
}

impl Case {
    const fn memory(mut self, used: u64, total: u64) -> Self {
        (self.used, self.total) = (Some(used), Some(total));
        self
    }

    const fn total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    const fn screen(mut self, screen: &'static str) -> Self {
        self.screen = Some(screen);
        self
    }
}

fn pasted(text: &str) -> Reading {
    read(text, Hints::pasted(&Catalog::bundled()))
}

const CASES: &[Case] = &[
    case("nvidia-smi 2018, narrow table, name cut off", "gtx-1080-ti", "1", r"
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 390.48                 Driver Version: 390.48                    |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  GeForce GTX 108...  Off  | 00000000:01:00.0  On |                  N/A |
| 23%   36C    P8    10W / 250W |    414MiB / 11175MiB |      0%      Default |
+-------------------------------+----------------------+----------------------+
")
    .memory(414, 11175)
    .screen("on"),
    case("nvidia-smi 2022, one Quadro in a notebook server", "quadro-rtx-5000", "1", r"
Tue Nov 15 09:36:39 2022
| NVIDIA-SMI 510.60.02    Driver Version: 510.60.02    CUDA Version: 11.6     |
|   0  Quadro RTX 5000     On   | 00000000:81:00.0 Off |                  N/A |
| 40%   30C    P8     9W / 230W |    159MiB / 16384MiB |      0%      Default |
|                               |                      |                  N/A |
")
    .memory(159, 16384)
    .screen("off"),
    case("nvidia-smi 2024 under WSL, wide table", "rtx-4090", "1", r"
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 545.36                 Driver Version: 546.33       CUDA Version: 12.3     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA GeForce RTX 4090        On  | 00000000:01:00.0  On |                  Off |
|  0%   38C    P8              16W / 450W |   1528MiB / 24564MiB |      8%      Default |
|                                         |                      |                  N/A |
+-----------------------------------------+----------------------+----------------------+
")
    .memory(1528, 24564)
    .screen("on"),
    case("nvidia-smi on Windows: driver model in place of persistence, programs without amounts", "rtx-3060-12gb", "1", r"
| NVIDIA-SMI 560.94                 Driver Version: 560.94         CUDA Version: 12.6     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                  Driver-Model | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|   0  NVIDIA GeForce RTX 3060      WDDM  |   00000000:01:00.0  On |                  N/A |
| 34%   45C    P8             16W /  170W |    1043MiB /  12288MiB |      3%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A      7756    C+G   C:\Windows\explorer.exe                     N/A      |
|    0   N/A  N/A     12404    C+G   ...CBS_cw5n1h2txyewy\TextInputHost.exe      N/A      |
")
    .memory(1043, 12288)
    .screen("on"),
    case("nvidia-smi, eight cards with somebody else's programs", "a100-sxm-80gb", "8", r"
|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |
| N/A   34C    P0              63W / 400W |  41022MiB / 81920MiB |      0%      Default |
|   1  NVIDIA A100-SXM4-80GB          On  | 00000000:0A:00.0 Off |                    0 |
| N/A   31C    P0              61W / 400W |      7MiB / 81920MiB |      0%      Default |
|   2  NVIDIA A100-SXM4-80GB          On  | 00000000:44:00.0 Off |                    0 |
| N/A   31C    P0              61W / 400W |      7MiB / 81920MiB |      0%      Default |
|   3  NVIDIA A100-SXM4-80GB          On  | 00000000:4A:00.0 Off |                    0 |
| N/A   31C    P0              61W / 400W |      7MiB / 81920MiB |      0%      Default |
|   4  NVIDIA A100-SXM4-80GB          On  | 00000000:84:00.0 Off |                    0 |
| N/A   31C    P0              61W / 400W |      7MiB / 81920MiB |      0%      Default |
|   5  NVIDIA A100-SXM4-80GB          On  | 00000000:8A:00.0 Off |                    0 |
| N/A   31C    P0              61W / 400W |      7MiB / 81920MiB |      0%      Default |
|   6  NVIDIA A100-SXM4-80GB          On  | 00000000:C0:00.0 Off |                    0 |
| N/A   31C    P0              61W / 400W |      7MiB / 81920MiB |      0%      Default |
|   7  NVIDIA A100-SXM4-80GB          On  | 00000000:C3:00.0 Off |                    0 |
| N/A   31C    P0              61W / 400W |      7MiB / 81920MiB |      0%      Default |
| Processes:                                                                            |
|    0   N/A  N/A   1421337      C   python                                    41010MiB |
")
    .memory(41022, 81920)
    .screen("off"),
    case("nvidia-smi of a Kaggle notebook", "t4", "2", r"
|   0  Tesla T4                       Off |   00000000:00:04.0 Off |                    0 |
| N/A   39C    P8              9W /   70W |       1MiB /  15360MiB |      0%      Default |
|   1  Tesla T4                       Off |   00000000:00:05.0 Off |                    0 |
| N/A   38C    P8              9W /   70W |       1MiB /  15360MiB |      0%      Default |
|  No running processes found                                                             |
")
    .memory(1, 15360)
    .screen("off"),
    case("nvidia-smi, cut off but told by its memory", "a100-sxm-40gb", "1", r"
|   0  NVIDIA A100-SXM...  On   | 00000000:0F:00.0 Off |                    0 |
| N/A   26C    P0    51W / 400W |      0MiB / 40536MiB |      0%      Default |
")
    .memory(0, 40536),
    case("nvidia-smi with a card turned into a larger one", "rtx-2080-ti-22gb-mod", "1", r"
|   0  NVIDIA GeForce RTX 2080 Ti     Off |   00000000:03:00.0 Off |                  N/A |
| 27%   33C    P8             12W /  250W |       4MiB /  22528MiB |      0%      Default |
")
    .memory(4, 22528),
    case("nvidia-smi of a 4060 Ti: the memory tells which", "rtx-4060-ti-16gb", "1", r"
|   0  NVIDIA GeForce RTX 4060 Ti     Off | 00000000:01:00.0 Off |                  N/A |
|  0%   31C    P8               5W / 165W |      2MiB / 16380MiB |      0%      Default |
"),
    case("nvidia-smi of a laptop", "rtx-4070-laptop", "1", r"
|   0  NVIDIA GeForce RTX 4070 ...    Off |   00000000:01:00.0 Off |                  N/A |
GPU 0: NVIDIA GeForce RTX 4070 Laptop GPU (UUID: GPU-00000000-0000-0000-0000-000000000000)
"),
    case("nvidia-smi of one H100", "h100-sxm", "1", r"
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |
| N/A   33C    P0             70W /  700W |       1MiB /  81559MiB |      0%      Default |
")
    .memory(1, 81559),
    case("nvidia-smi -L", "rtx-3090", "4", "
GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-11111111-0000-0000-0000-000000000000)
GPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-22222222-0000-0000-0000-000000000000)
GPU 2: NVIDIA GeForce RTX 3090 (UUID: GPU-33333333-0000-0000-0000-000000000000)
GPU 3: NVIDIA GeForce RTX 3090 (UUID: GPU-44444444-0000-0000-0000-000000000000)
"),
    case("nvidia-smi -q", "rtx-a4000", "1", "
==============NVSMI LOG==============
Driver Version                            : 535.104.05
Attached GPUs                             : 1
GPU 00000000:01:00.0
    Product Name                          : NVIDIA RTX A4000
    Product Brand                         : NVIDIA RTX
    Display Mode                          : Enabled
    FB Memory Usage
        Total                             : 16376 MiB
        Reserved                          : 326 MiB
        Used                              : 8415 MiB
        Free                              : 7636 MiB
    BAR1 Memory Usage
        Total                             : 16384 MiB
        Used                              : 9 MiB
")
    .memory(8415, 16376),
    case("nvidia-smi -q -x", "gtx-1660-super", "1", "
<gpu id=\"00000000:01:00.0\">
  <product_name>NVIDIA GeForce GTX 1660 SUPER</product_name>
  <fb_memory_usage>
    <total>6144 MiB</total>
    <used>912 MiB</used>
  </fb_memory_usage>
</gpu>
")
    .memory(912, 6144),
    case("nvidia-smi --query-gpu with a header", "rtx-3090", "2", "
index, name, memory.total [MiB], memory.used [MiB]
0, NVIDIA GeForce RTX 3090, 24576 MiB, 10 MiB
1, NVIDIA GeForce RTX 3090, 24576 MiB, 22010 MiB
")
    .memory(10, 24576),
    case("nvidia-smi --query-gpu without units", "l40s", "1", "
name, memory.used [MiB], memory.total [MiB]
NVIDIA L40S, 513, 46068
")
    .memory(513, 46068),
    case("nvidia-smi --query-gpu without a header", "v100-sxm2-32gb", "2", "
Tesla V100-SXM2-32GB, 32510 MiB, 0 MiB
Tesla V100-SXM2-32GB, 32510 MiB, 16001 MiB
")
    .total(32510),
    case("gpustat", "rtx-a6000", "2", "
node  Mon Mar 11 10:00:00 2024  535.54.03
[0] NVIDIA RTX A6000 | 30'C,   0 % |     3 / 49140 MB |
[1] NVIDIA RTX A6000 | 71'C, 100 % | 31002 / 49140 MB | somebody(30990M)
")
    .memory(3, 49140),
    case("rocm-smi with names and memory", "rx-7900-xtx", "1", "
============================ ROCm System Management Interface ============================
GPU[0]\t\t: VRAM Total Memory (B): 25753026560
GPU[0]\t\t: VRAM Total Used Memory (B): 27856896
GPU[0]\t\t: Card Series: \t\tRadeon RX 7900 XTX
GPU[0]\t\t: Card Vendor: \t\tAdvanced Micro Devices, Inc. [AMD/ATI]
")
    .total(24560),
    case("rocm-smi --csv", "rx-7900-xt", "1", "
device,GPU use (%),VRAM Total Memory (B),VRAM Total Used Memory (B),Card Series,Card Model,Card Vendor
card0,0,21458059264,27856896,Radeon RX 7900 XT,0x744c,Advanced Micro Devices Inc. [AMD/ATI]
")
    .memory(26, 20464),
    case("rocm-smi --json", "rx-7900-xt", "1", r#"
{
  "card0": {
    "GPU use (%)": "0",
    "VRAM Total Memory (B)": "21458059264",
    "VRAM Total Used Memory (B)": "27856896",
    "Card Series": "Radeon RX 7900 XT",
    "Card Model": "0x744c"
  }
}
"#),
    case("amd-smi static", "mi300x", "1", "
GPU: 0
    ASIC:
        MARKET_NAME: AMD Instinct MI300X
        VENDOR_ID: 0x1002
    VRAM:
        TYPE: HBM
        SIZE: 196592 MB
")
    .total(196_592),
    case("rocminfo", "rx-6800-xt", "1", "
Agent 2
  Name:                    gfx1030
  Marketing Name:          AMD Radeon RX 6800 XT
  Vendor Name:             AMD
"),
    case("npu-smi info, one chip a card", "ascend-910b3", "2", "
+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.0                   Version: 24.1.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 91.3        33                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3197 / 65536         |
+===========================+===============+====================================================+
| 1     910B3               | OK            | 88.1        32                0    / 0             |
| 0                         | 0000:C2:00.0  | 0           0    / 0          3355 / 65536         |
")
    .memory(3197, 65536),
    case("mx-smi", "metax-c500", "2", "
| MX-SMI 2.2.3                        Kernel Mode Driver Version: 2.12.13         |
| GPU         NAME                   | Bus-id              | GPU-Util             |
| Temp        Pwr:Usage/Cap          | Memory-Usage        | GPU-State            |
| 0           MetaX C500             | 0000:0e:00.0        | 0%                   |
| 36C         56W / 350W             | 914/65536 MiB       | Available            |
| 1           MetaX C500             | 0000:0f:00.0        | 0%                   |
| 37C         57W / 350W             | 914/65536 MiB       | Available            |
")
    .memory(914, 65536),
    case("mthreads-gmi", "mtt-s4000", "1", "
ID   Name                 |PCIe                |%GPU  Mem
0    MTT S4000            |00000000:2a:00.0    |0%    66MiB(49152MiB)
     Physical      P0     |16x(16x)            |52C   YES
")
    .memory(66, 49152),
    case("torch.cuda.get_device_properties", "rtx-4090", "1", "_CudaDeviceProperties(name='NVIDIA GeForce RTX 4090', major=8, minor=9, total_memory=24209MB, multi_processor_count=128)")
        .total(24209),
    case("torch.cuda.get_device_name in a notebook", "p100-pcie-16gb", "1", "'Tesla P100-PCIE-16GB'"),
    case("ultralytics' banner", "t4", "1", "Ultralytics YOLOv8.0.196 Python-3.10.12 torch-2.0.1+cu118 CUDA:0 (Tesla T4, 15102MiB)").total(15102),
    case("Unsloth's banner", "rtx-4090", "1", r"
==((====))==  Unsloth 2024.8: Fast Llama patching. Transformers = 4.44.0.
   \\   /|    GPU: NVIDIA GeForce RTX 4090. Max memory: 23.988 GB. Platform = Windows.
")
    .total(24563),
    case("ComfyUI's start", "rtx-3060-12gb", "1", "
Total VRAM 12288 MB, total RAM 32691 MB
Set vram state to: NORMAL_VRAM
Device: cuda:0 NVIDIA GeForce RTX 3060 : cudaMallocAsync
"),
    case("TensorFlow's start, 2019", "gtx-1080-ti", "1", "
2019-03-21 10:11:12.000000: I tensorflow/core/common_runtime/gpu/gpu_device.cc:1411] Found device 0 with properties:
name: GeForce GTX 1080 Ti major: 6 minor: 1 memoryClockRate(GHz): 1.582
pciBusID: 0000:01:00.0
totalMemory: 10.92GiB freeMemory: 10.36GiB
"),
    case("collect_env", "v100-sxm2-16gb", "2", "
Is CUDA available: True
GPU models and configuration:
GPU 0: Tesla V100-SXM2-16GB
GPU 1: Tesla V100-SXM2-16GB
Nvidia driver version: 470.82.01
"),
    case("deviceQuery", "gtx-1080-ti", "2", "
Detected 2 CUDA Capable device(s)
Device 0: \"GeForce GTX 1080 Ti\"
  Total amount of global memory:                 11172 MBytes (11715084288 bytes)
Device 1: \"GeForce GTX 1080 Ti\"
  Total amount of global memory:                 11172 MBytes (11715084288 bytes)
"),
    case("lspci", "rtx-3090", "1", "01:00.0 VGA compatible controller: NVIDIA Corporation GA102 [GeForce RTX 3090] (rev a1)"),
    case("dxdiag", "rtx-3090", "1", "
---------------
Display Devices
---------------
           Card name: NVIDIA GeForce RTX 3090
        Manufacturer: NVIDIA
           Chip type: NVIDIA GeForce RTX 3090
         Device Type: Full Device (POST)
      Display Memory: 89840 MB
    Dedicated Memory: 24348 MB
       Shared Memory: 65492 MB
")
    .total(24348),
    case("dxdiag with graphics in the processor beside a card", "rx-6700-xt", "1", "
           Card name: Intel(R) UHD Graphics 770
    Dedicated Memory: 128 MB
       Shared Memory: 16285 MB
           Card name: AMD Radeon RX 6700 XT
    Dedicated Memory: 12243 MB
       Shared Memory: 16340 MB
"),
    case("Windows' Task Manager in English", "rtx-3060-12gb", "1", "
GPU 0

\tNVIDIA GeForce RTX 3060

\tDriver version:\t31.0.15.3623
\tPhysical location:\tPCI bus 1, device 0, function 0

\tUtilization\t2%
\tDedicated GPU memory\t1.1/12.0 GB
\tShared GPU memory\t0.1/15.9 GB
\tGPU Memory\t1.2/27.9 GB
")
    .total(12288),
    case("Windows' Task Manager in Chinese", "rtx-4060", "1", "
GPU 1

\tNVIDIA GeForce RTX 4060

\t驱动程序版本:\t32.0.15.6094
\t利用率\t1%
\t专用 GPU 内存\t0.9/8.0 GB
\t共享 GPU 内存\t0.1/15.9 GB
\tGPU 内存\t1.0/23.9 GB
")
    .total(8192),
    case("what a browser says of WebGL, Windows", "rtx-3060-12gb", "1", "ANGLE (NVIDIA, NVIDIA GeForce RTX 3060 (0x00002504) Direct3D11 vs_5_0 ps_5_0, D3D11)"),
    case("what a browser says of WebGL, older Windows", "gtx-1650", "1", "ANGLE (NVIDIA GeForce GTX 1650 Direct3D11 vs_5_0 ps_5_0)"),
    case("what a browser says of WebGL, Linux", "rtx-2080-ti", "1", "ANGLE (NVIDIA Corporation, NVIDIA GeForce RTX 2080 Ti/PCIe/SSE2, OpenGL 4.5.0)"),
    case("what a browser says of WebGL, AMD", "rx-6800-xt", "1", "ANGLE (AMD, AMD Radeon RX 6800 XT Direct3D11 vs_5_0 ps_5_0, D3D11)"),
    case("macOS' system report", "apple-m1-pro-16gb", "1", "
Hardware Overview:
  Model Name: MacBook Pro
  Chip: Apple M1 Pro
  Total Number of Cores: 10 (8 performance and 2 efficiency)
  Memory: 16 GB
")
    .total(16384),
    case("cnmon", "cambricon-mlu370-x8", "1", r"
| Card  VF  Name       Firmware |               Bus-Id | Util        Ecc-Error |
| Fan   Temp      Pwr:Usage/Cap |         Memory-Usage |     Mode  Compute-Mode |
| 0     /   MLU370-X8    v1.1.4 |         0000:69:00.0 | 0%                   0 |
|  0%   31C        56 W/ 250 W  |     0 MiB/ 49152 MiB | FULL           Default |
"),
    case("xpu-smi discovery", "arc-a770-16gb", "1", "
| 0         | Device Name: Intel(R) Arc(TM) A770 Graphics                                         |
|           | Vendor Name: Intel(R) Corporation                                                    |
"),
    case("llama.cpp's start", "rtx-4090", "2", "
ggml_cuda_init: found 2 CUDA devices:
  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes
  Device 1: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes
"),
    case("TensorFlow 2's start", "t4", "1", "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 13775 MB memory:  -> device: 0, name: Tesla T4, pci bus id: 0000:00:04.0, compute capability: 7.5"),
    case("a card alone, as a person writes it", "rtx-4090", "1", "RTX 4090"),
];

#[test]
fn listings_are_read() {
    let catalog = Catalog::bundled();
    let mut wrong = Vec::new();
    for case in CASES {
        let reading = read(case.text, Hints::pasted(&catalog));
        let mib = |bytes: Option<enough_gpu::units::Bytes>| bytes.map(|b| b.0 >> 20);
        let first = reading.cards.first();
        let mut check = |what: &str, got: Option<String>, wanted: Option<String>| {
            if wanted.is_some() && got != wanted {
                wrong.push(format!("{}: {what} is {got:?}, not {wanted:?}", case.name));
            }
        };
        let value = |field| reading.value(field).map(str::to_string);
        check("the kind", Some(format!("{:?}", reading.kind)), Some("Cards".into()));
        check("the card", value(Field::Gpu), Some(case.card.into()));
        check("the count", value(Field::Count), Some(case.count.into()));
        check("the screen", value(Field::Desktop), case.screen.map(Into::into));
        check(
            "memory in use",
            mib(first.and_then(|c| c.used)).map(|m| m.to_string()),
            case.used.map(|m| m.to_string()),
        );
        check("all memory", mib(first.and_then(|c| c.total)).map(|m| m.to_string()), case.total.map(|m| m.to_string()));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn programs_on_a_card_are_read() {
    let reading = pasted(
        r"
|   0  NVIDIA GeForce RTX 3090     Off  | 00000000:01:00.0  On |                  N/A |
|  0%   50C    P2   101W / 350W |  21730MiB / 24576MiB |     37%      Default |
+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|    0   N/A  N/A      1080      G   /usr/lib/xorg/Xorg                412MiB |
|    0   N/A  N/A      1335      G   /usr/bin/gnome-shell              101MiB |
|    0   N/A  N/A     90211      C   python3                         21200MiB |
",
    );
    let card = &reading.cards[0];
    let programs: Vec<_> =
        card.processes.iter().map(|p| (p.pid, p.name.as_str(), p.bytes.unwrap().0 >> 20, p.draws)).collect();
    assert_eq!(
        programs,
        [
            (1080, "/usr/lib/xorg/Xorg", 412, true),
            (1335, "/usr/bin/gnome-shell", 101, true),
            (90211, "python3", 21200, false)
        ]
    );
    assert_eq!(reading.value(Field::Desktop), Some("on"));

    // Before instances were listed.
    let reading = pasted(
        "|   0  GeForce GTX 1070    Off  | 00000000:01:00.0  On |\n| 23%  36C  P8  10W / 151W |  414MiB /  8119MiB |\n| Processes:\n|    0      1234      G   /usr/lib/xorg/Xorg      100MiB |",
    );
    assert_eq!(reading.cards[0].processes[0].name, "/usr/lib/xorg/Xorg");
}

#[test]
fn what_a_listing_leaves_open_is_said() {
    let names = |reading: &Reading| format!("{:?}", reading.notes);
    let cut = pasted(
        "|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0 Off |                  N/A |\n|  0%   30C    P8    21W / 350W |      5MiB / 24576MiB |      0%      Default |",
    );
    assert_eq!(cut.value(Field::Gpu), None);
    assert!(
        cut.notes.iter().any(|n| matches!(n, Note::OneOf(_, ids) if ids.iter().any(|id| id == "rtx-3090"))),
        "{}",
        names(&cut)
    );

    let two = pasted("GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)\nGPU 1: NVIDIA GeForce GTX 1080 Ti (UUID: GPU-2)");
    assert_eq!((two.value(Field::Gpu), two.value(Field::Count)), (Some("rtx-3090"), Some("1")));
    assert!(two.notes.contains(&Note::SeveralKinds), "{}", names(&two));

    let slices = pasted(
        "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n  MIG 3g.20gb     Device  0: (UUID: MIG-1)\n  MIG 3g.20gb     Device  1: (UUID: MIG-2)",
    );
    assert!(slices.notes.contains(&Note::Slice("3g.20gb".into())), "{}", names(&slices));

    let unknown = pasted("GPU 0: NVIDIA GeForce RTX 9090 (UUID: GPU-1)");
    assert!(unknown.notes.iter().any(|n| matches!(n, Note::UnknownCard(_))), "{}", names(&unknown));

    let numbers = pasted(
        "==== ROCm System Management Interface ====\nGPU  Temp   AvgPwr  SCLK    MCLK    Fan    Perf  PwrCap  VRAM%  GPU%\n1    25.0c  10.0W   852Mhz  167Mhz  14.9%  auto  170.0W  N/A    0%",
    );
    assert!(numbers.notes.contains(&Note::NamesMissing), "{}", names(&numbers));

    let inside = pasted("ANGLE (Intel, Intel(R) UHD Graphics 630 Direct3D11 vs_5_0 ps_5_0, D3D11)");
    assert!(inside.is_empty(), "{inside:?}");
    let masked = pasted("ANGLE (NVIDIA, NVIDIA GeForce GTX 980 Direct3D11 vs_5_0 ps_5_0), or similar");
    assert!(masked.is_empty(), "{masked:?}");
    let apple = pasted("ANGLE (Apple, ANGLE Metal Renderer: Apple M1 Pro, Unspecified Version)");
    assert!(apple.notes.iter().any(|n| matches!(n, Note::OneOf(..))) || apple.value(Field::Gpu).is_some(), "{apple:?}");
}

#[test]
fn files_of_other_encodings_are_read() {
    let catalog = Catalog::bundled();
    let text = "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-1)\r\n";
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let reading = read_file(&wide, Hints { name: "smi.txt", catalog: &catalog });
    assert_eq!((reading.kind, reading.value(Field::Gpu)), (TextKind::Cards, Some("rtx-4090")));
    assert!(read_file(&[0xff, 0xfe, 0x00], Hints::pasted(&catalog)).is_empty());
}
