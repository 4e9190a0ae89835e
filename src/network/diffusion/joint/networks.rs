//! Sizes of the joint transformers.

use super::{Joint, Mlp, Modulation, QueryNorm, Single, TextIn};

const SD3: Joint = Joint {
    width: 1536,
    heads: 24,
    double: 24,
    single: 0,
    single_kind: Single::Parallel,
    patch: (64, 64),
    cell: (16, 1),
    text: (4096, 154),
    text_in: TextIn::Linear,
    registers: 0,
    pooled: 2048,
    guidance: false,
    rotary: false,
    query_norm: QueryNorm::None,
    wide_norms: false,
    modulation: Modulation::Linear,
    mlp: Mlp::Gelu,
    bias: true,
    dual: 0,
    drops_text: true,
    table: 192 * 192,
    learned_table: false,
    skips_attention: false,
    masked: false,
    reference: false,
};

const FLUX: Joint = Joint {
    width: 3072,
    double: 19,
    single: 38,
    text: (4096, 512),
    pooled: 768,
    guidance: true,
    rotary: true,
    query_norm: QueryNorm::Head,
    drops_text: false,
    table: 0,
    ..SD3
};

/// `transformer_flux2.py`.
const FLUX2: Joint = Joint {
    width: 6144,
    heads: 48,
    double: 8,
    single: 48,
    single_kind: Single::Fused,
    patch: (128, 128),
    text: (15_360, 512),
    pooled: 0,
    modulation: Modulation::Shared,
    mlp: Mlp::Halves(18_432),
    bias: false,
    ..FLUX
};

const NETWORKS: &[(&str, Joint)] = &[
    ("sd3-medium", SD3),
    ("sd3.5-medium", Joint { query_norm: QueryNorm::Written, dual: 13, table: 384 * 384, ..SD3 }),
    ("sd3.5-large", Joint { width: 2432, heads: 38, double: 38, query_norm: QueryNorm::Written, ..SD3 }),
    ("flux.1-dev", FLUX),
    ("flux.1-kontext", Joint { reference: true, ..FLUX }),
    ("flux.1-schnell", Joint { guidance: false, text: (4096, 256), ..FLUX }),
    ("flux.2-dev", FLUX2),
    (
        "flux.2-klein-4b",
        Joint {
            width: 3072,
            heads: 24,
            double: 5,
            single: 20,
            text: (7680, 512),
            guidance: false,
            mlp: Mlp::Halves(9216),
            ..FLUX2
        },
    ),
    (
        "flux.2-klein-9b",
        Joint {
            width: 4096,
            heads: 32,
            single: 24,
            text: (12_288, 512),
            guidance: false,
            mlp: Mlp::Halves(12_288),
            ..FLUX2
        },
    ),
    // transformer_chroma.py.
    ("chroma", Joint { pooled: 0, guidance: false, modulation: Modulation::Approximated, ..FLUX }),
    // transformer_longcat_image.py.
    ("longcat-image", Joint { pooled: 0, guidance: false, text: (3584, 512), ..FLUX }),
    // transformer_qwenimage.py.
    (
        "qwen-image",
        Joint {
            double: 60,
            single: 0,
            text: (3584, 256),
            text_in: TextIn::Normed,
            query_norm: QueryNorm::Written,
            pooled: 0,
            guidance: false,
            ..FLUX
        },
    ),
    // auraflow_transformer_2d.py; eight register tokens.
    (
        "auraflow",
        Joint {
            width: 3072,
            heads: 12,
            double: 4,
            single: 32,
            single_kind: Single::Serial,
            patch: (16, 16),
            text: (2048, 256),
            registers: 8,
            pooled: 0,
            query_norm: QueryNorm::Layer,
            wide_norms: true,
            mlp: Mlp::Gated(8192),
            bias: false,
            drops_text: false,
            table: 1024,
            learned_table: true,
            skips_attention: true,
            ..SD3
        },
    ),
    // transformer_hidream_image.py; 48 states of Llama's layers beside T5's.
    (
        "hidream-i1",
        Joint {
            width: 2560,
            heads: 20,
            double: 16,
            single: 32,
            single_kind: Single::Serial,
            text: (4096, 128),
            text_in: TextIn::States,
            pooled: 2048,
            rotary: true,
            query_norm: QueryNorm::Width,
            modulation: Modulation::Joint,
            mlp: Mlp::Experts(6912),
            drops_text: false,
            table: 0,
            ..SD3
        },
    ),
    // transformer_hunyuan_video.py.
    (
        "hunyuanvideo",
        Joint {
            double: 20,
            single: 40,
            cell: (16, 4),
            text: (4096, 256),
            text_in: TextIn::Refined { glyphs: 0, picture: 0 },
            query_norm: QueryNorm::Written,
            masked: true,
            ..FLUX
        },
    ),
    // transformer_hunyuanimage.py; its VAE makes one latent of 32 x 32 pixels.
    (
        "hunyuanimage-2.1",
        Joint {
            width: 3584,
            heads: 28,
            double: 20,
            single: 40,
            cell: (32, 1),
            text: (3584, 1000),
            text_in: TextIn::Refined { glyphs: 128, picture: 0 },
            query_norm: QueryNorm::Written,
            pooled: 0,
            guidance: false,
            masked: true,
            ..FLUX
        },
    ),
    // transformer_hunyuan_video15.py; tokens of ByT5 and of an empty picture.
    (
        "hunyuanvideo-1.5",
        Joint {
            width: 2048,
            heads: 16,
            double: 54,
            single: 0,
            patch: (65, 32),
            cell: (16, 4),
            text: (3584, 1000),
            text_in: TextIn::Refined { glyphs: 256, picture: 729 },
            query_norm: QueryNorm::Written,
            pooled: 0,
            guidance: false,
            masked: true,
            ..FLUX
        },
    ),
];

/// Ids of [`network`].
pub(in crate::network::diffusion) fn ids() -> impl Iterator<Item = &'static str> {
    NETWORKS.iter().map(|(id, _)| *id)
}

/// The denoiser with this id.
pub(in crate::network::diffusion) fn network(id: &str) -> Option<Joint> {
    NETWORKS.iter().find(|(known, _)| *known == id).map(|(_, net)| *net)
}
