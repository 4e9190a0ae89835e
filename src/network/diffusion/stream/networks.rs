//! Sizes of the denoisers of one stream.

use super::{Fusion, Modulation, Norm, Stream, Text, TextLayers};

const BASE: Stream = Stream {
    width: 2048,
    heads: 32,
    key_heads: 32,
    blocks: 28,
    refiners: (0, 0),
    checked_refiners: false,
    patch: (64, 64),
    cell: (16, 1),
    text: (4096, 256),
    text_in: Text::Cross { masked: true },
    norm: Norm::Layer,
    modulation: Modulation::Table,
    inner: 8192,
    gated: false,
    bias: true,
    inner_bias: true,
    wide_inner: false,
    query_norm: None,
    written_query_norm: false,
    bends_time: true,
    text_layers: TextLayers::Two,
    rotary: true,
    attention_gate: false,
    by_head: false,
    cross_norm: false,
    time: 0,
    linear: false,
    joint_in_simpletuner: false,
    fusion: None,
};

/// diffusers' defaults of each class, or the arguments of its conversion script.
const NETWORKS: &[(&str, Stream)] = &[
    ("pixart-sigma", PIXART),
    ("pixart-900m", Stream { blocks: 42, ..PIXART }),
    ("pixart-alpha", Stream { text: (4096, 120), ..PIXART }),
    // transformer_ltx.py; 0.9.5's VAE: 32 x 32 pixels and 8 frames a token.
    (
        "ltx-video-2b",
        Stream {
            patch: (128, 128),
            cell: (32, 8),
            text: (4096, 128),
            norm: Norm::Rms,
            query_norm: Some(false),
            ..BASE
        },
    ),
    (
        "ltx-video-13b",
        Stream {
            width: 4096,
            blocks: 48,
            inner: 16_384,
            patch: (128, 128),
            cell: (32, 8),
            text: (4096, 256),
            norm: Norm::Rms,
            query_norm: Some(false),
            ..BASE
        },
    ),
    ("wan2.1-t2v-1.3b", Stream { width: 1536, heads: 12, key_heads: 12, blocks: 30, inner: 8960, ..WAN }),
    ("wan2.1-t2v-14b", WAN),
    ("wan2.2-t2v-a14b", WAN),
    ("wan2.2-i2v-a14b", Stream { patch: (144, 64), ..WAN }),
    (
        "wan2.2-ti2v-5b",
        Stream {
            width: 3072,
            heads: 24,
            key_heads: 24,
            blocks: 30,
            inner: 14_336,
            patch: (192, 192),
            cell: (32, 4),
            ..WAN
        },
    ),
    // transformer_lumina2.py.
    (
        "lumina-image-2",
        Stream {
            width: 2304,
            heads: 24,
            key_heads: 8,
            blocks: 26,
            refiners: (2, 2),
            text: (2304, 256),
            text_in: Text::Joined,
            norm: Norm::Rms,
            modulation: Modulation::Sandwich,
            inner: 9216,
            gated: true,
            bias: false,
            query_norm: Some(true),
            written_query_norm: true,
            text_layers: TextLayers::Normed,
            by_head: true,
            time: 1024,
            ..BASE
        },
    ),
    // transformer_z_image.py.
    (
        "z-image",
        Stream {
            width: 3840,
            heads: 30,
            key_heads: 30,
            blocks: 30,
            refiners: (2, 2),
            checked_refiners: true,
            text: (2560, 256),
            text_in: Text::Joined,
            norm: Norm::Rms,
            modulation: Modulation::Sandwich,
            inner: 10_240,
            gated: true,
            bias: false,
            query_norm: Some(true),
            written_query_norm: true,
            bends_time: false,
            text_layers: TextLayers::Normed,
            time: 256,
            ..BASE
        },
    ),
    // transformer_kandinsky.py: text blocks before those of the picture.
    ("kandinsky-5-video-2b", Stream { patch: (132, 64), ..KANDINSKY }),
    (
        "kandinsky-5-image-6b",
        Stream { width: 2560, heads: 20, key_heads: 20, blocks: 50, inner: 10_240, time: 1024, ..KANDINSKY },
    ),
    // transformer_krea2.py.
    (
        "krea-2",
        Stream {
            width: 6144,
            heads: 48,
            key_heads: 12,
            blocks: 28,
            text: (2560, 512),
            text_in: Text::Joined,
            norm: Norm::FusedRms,
            inner: 16_384,
            gated: true,
            bias: false,
            query_norm: Some(true),
            attention_gate: true,
            joint_in_simpletuner: true,
            fusion: Some(Fusion { layers: 12, heads: 20, inner: 6912, across: 2, along: 2 }),
            ..BASE
        },
    ),
    // transformer_cosmos.py with the sizes of Cosmos-Predict2-2B-Text2Image, which Anima starts from.
    ("anima", COSMOS),
    ("cosmos-predict2-2b", COSMOS),
    // transformer_ernie_image.py with the sizes of baidu/ERNIE-Image.
    (
        "ernie-image",
        Stream {
            width: 4096,
            blocks: 36,
            patch: (128, 128),
            text: (3072, 256),
            text_in: Text::Joined,
            norm: Norm::Rms,
            modulation: Modulation::Shared,
            inner: 12_288,
            gated: true,
            bias: false,
            text_layers: TextLayers::One,
            query_norm: Some(true),
            ..BASE
        },
    ),
    // sana_transformer.py; its DC-AE makes one token of 32 x 32 pixels.
    ("sana-1.6b", Stream { patch: (32, 32), cell: (32, 1), rotary: false, ..SANA }),
    // transformer_sana_video.py.
    ("sana-video-2b", Stream { cell: (16, 4), query_norm: Some(false), ..SANA }),
    // `LongCatVideoTransformer3DModel` of meituan-longcat/LongCat-Video; SimpleTuner has a copy.
    (
        "longcat-video",
        Stream {
            width: 4096,
            heads: 32,
            key_heads: 32,
            blocks: 48,
            inner: 11_008,
            gated: true,
            modulation: Modulation::Linear,
            time: 512,
            query_norm: Some(true),
            written_query_norm: true,
            inner_bias: false,
            wide_inner: true,
            ..WAN
        },
    ),
    ("cogvideox-2b", Stream { rotary: false, ..COGVIDEO }),
    ("cogvideox-5b", Stream { width: 3072, heads: 48, key_heads: 48, blocks: 42, inner: 12_288, ..COGVIDEO }),
    // `patch_size_t` of 2: a token spans two latent frames.
    (
        "cogvideox1.5-5b",
        Stream {
            width: 3072,
            heads: 48,
            key_heads: 48,
            blocks: 42,
            inner: 12_288,
            patch: (128, 128),
            cell: (16, 8),
            ..COGVIDEO
        },
    ),
];

const COSMOS: Stream = Stream {
    heads: 16,
    key_heads: 16,
    patch: (68, 64),
    text: (1024, 512),
    text_in: Text::Cross { masked: false },
    modulation: Modulation::LowRank(256),
    bias: false,
    query_norm: Some(true),
    written_query_norm: true,
    text_layers: TextLayers::None,
    ..BASE
};

const PIXART: Stream = Stream {
    width: 1152,
    heads: 16,
    key_heads: 16,
    patch: (16, 32),
    text: (4096, 300),
    inner: 4608,
    rotary: false,
    by_head: true,
    ..BASE
};

const SANA: Stream = Stream {
    width: 2240,
    heads: 20,
    key_heads: 20,
    blocks: 20,
    text: (2304, 300),
    inner: 5600,
    bias: false,
    linear: true,
    ..BASE
};

/// `transformer_wan.py`.
const WAN: Stream = Stream {
    width: 5120,
    heads: 40,
    key_heads: 40,
    blocks: 40,
    cell: (16, 4),
    text: (4096, 512),
    text_in: Text::Cross { masked: false },
    norm: Norm::Wide,
    inner: 13_824,
    query_norm: Some(false),
    cross_norm: true,
    ..BASE
};

/// `transformer_kandinsky.py`.
const KANDINSKY: Stream = Stream {
    width: 1792,
    heads: 28,
    key_heads: 28,
    blocks: 32,
    refiners: (0, 2),
    checked_refiners: true,
    cell: (16, 4),
    text: (3584, 256),
    text_in: Text::Cross { masked: false },
    norm: Norm::Wide,
    modulation: Modulation::Ninefold,
    inner: 7168,
    inner_bias: false,
    query_norm: Some(true),
    text_layers: TextLayers::ThenNormed,
    time: 512,
    ..BASE
};

/// `cogvideox_transformer_3d.py`.
const COGVIDEO: Stream = Stream {
    width: 1920,
    heads: 30,
    key_heads: 30,
    blocks: 30,
    cell: (16, 4),
    text: (4096, 226),
    text_in: Text::Joined,
    modulation: Modulation::Twin,
    inner: 7680,
    query_norm: Some(true),
    by_head: true,
    time: 512,
    ..BASE
};

/// Ids of [`network`].
pub(in crate::network::diffusion) fn ids() -> impl Iterator<Item = &'static str> {
    NETWORKS.iter().map(|(id, _)| *id)
}

/// The denoiser with this id.
pub(in crate::network::diffusion) fn network(id: &str) -> Option<Stream> {
    NETWORKS.iter().find(|(known, _)| *known == id).map(|(_, net)| *net)
}
