//! What a model is made of, pasted or dropped: real files of many makers, each with what must be read from it.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::Catalog;
use enough_gpu::estimate;
use enough_gpu::project::import::{Hints, Note, Reading, TextKind, read, read_file};
use enough_gpu::project::{Project, link};
use std::fmt::Write as _;

/// `key=value key=value` of what was found.
fn said(reading: &Reading) -> String {
    reading.found.iter().map(|f| format!("{}={}", f.key, f.value)).collect::<Vec<_>>().join(" ")
}

/// Text, what must be found, and whether the architecture is new to the catalog.
const CONFIGS: &[(&str, &str)] = &[
    // Qwen/Qwen2.5-7B-Instruct
    (
        r#"{"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643, "hidden_act": "silu",
        "hidden_size": 3584, "initializer_range": 0.02, "intermediate_size": 18944, "max_position_embeddings": 32768,
        "model_type": "qwen2", "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 152064}"#,
        "model=qwen2.5-7b",
    ),
    // meta-llama/Llama-3.1-8B
    (
        r#"{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "model_type": "llama",
        "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "rope_scaling": {"factor": 8.0,
        "rope_type": "llama3"}, "tie_word_embeddings": false, "vocab_size": 128256}"#,
        "model=llama-3",
    ),
    // mistralai/Mixtral-8x7B-v0.1
    (
        r#"{"architectures": ["MixtralForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "model_type": "mixtral",
        "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
        "num_local_experts": 8, "sliding_window": null, "tie_word_embeddings": false, "vocab_size": 32000}"#,
        "model=mixtral-8x7b",
    ),
    // openai-community/gpt2
    (
        r#"{"activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_ctx": 1024,
        "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "vocab_size": 50257}"#,
        "model=gpt2",
    ),
    // google-bert/bert-base-chinese
    (
        r#"{"architectures": ["BertForMaskedLM"], "hidden_size": 768, "intermediate_size": 3072, "model_type": "bert",
        "num_attention_heads": 12, "num_hidden_layers": 12, "vocab_size": 21128}"#,
        "model=bert-base-chinese",
    ),
    // tiiuae/falcon-7b
    (
        r#"{"architectures": ["FalconForCausalLM"], "bias": false, "hidden_size": 4544, "model_type": "falcon",
        "multi_query": true, "new_decoder_architecture": false, "num_attention_heads": 71, "num_hidden_layers": 32,
        "parallel_attn": true, "vocab_size": 65024}"#,
        "model=falcon-7b",
    ),
    // EleutherAI/pythia-1.4b
    (
        r#"{"architectures": ["GPTNeoXForCausalLM"], "hidden_size": 2048, "intermediate_size": 8192, "model_type": "gpt_neox",
        "num_attention_heads": 16, "num_hidden_layers": 24, "rotary_pct": 0.25, "tie_word_embeddings": false,
        "vocab_size": 50304}"#,
        "model=pythia-1.4b",
    ),
    // THUDM/chatglm3-6b: names of its own
    (
        r#"{"_name_or_path": "THUDM/chatglm3-6b", "model_type": "chatglm", "add_bias_linear": false, "ffn_hidden_size": 13696,
        "hidden_size": 4096, "kv_channels": 128, "multi_query_attention": true, "multi_query_group_num": 2,
        "num_attention_heads": 32, "num_layers": 28, "padded_vocab_size": 65024, "tie_word_embeddings": false}"#,
        "model=chatglm",
    ),
    // deepseek-ai/DeepSeek-V2-Lite
    (
        r#"{"architectures": ["DeepseekV2ForCausalLM"], "first_k_dense_replace": 1, "hidden_size": 2048,
        "intermediate_size": 10944, "kv_lora_rank": 512, "model_type": "deepseek_v2", "moe_intermediate_size": 1408,
        "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16, "num_experts_per_tok": 6,
        "num_hidden_layers": 27, "num_key_value_heads": 16, "tie_word_embeddings": false, "vocab_size": 102400}"#,
        "model=deepseek-v2-lite",
    ),
    // google/gemma-2-9b
    (
        r#"{"architectures": ["Gemma2ForCausalLM"], "head_dim": 256, "hidden_size": 3584, "intermediate_size": 14336,
        "model_type": "gemma2", "num_attention_heads": 16, "num_hidden_layers": 42, "num_key_value_heads": 8,
        "sliding_window": 4096, "vocab_size": 256000}"#,
        "model=gemma-2-9b",
    ),
    // Qwen/Qwen3-30B-A3B
    (
        r#"{"architectures": ["Qwen3MoeForCausalLM"], "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144,
        "model_type": "qwen3_moe", "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts": 128,
        "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4, "tie_word_embeddings": false,
        "vocab_size": 151936}"#,
        "model=qwen3-30b-a3b",
    ),
    // A GPTQ quantization of Qwen2.5-14B
    (
        r#"{"model_type": "qwen2", "hidden_size": 5120, "intermediate_size": 13824, "num_attention_heads": 40,
        "num_hidden_layers": 48, "num_key_value_heads": 8, "tie_word_embeddings": false, "vocab_size": 152064,
        "quantization_config": {"bits": 4, "group_size": 128, "quant_method": "gptq", "sym": true}}"#,
        "base=int4 model=qwen2.5-14b",
    ),
    // print(model.config) of a bitsandbytes 4-bit upload
    (
        "LlamaConfig {\n  \"_name_or_path\": \"unsloth/tinyllama-bnb-4bit\",\n  \"hidden_size\": 2048,\n  \"intermediate_size\": 5632,\n  \
         \"model_type\": \"llama\",\n  \"num_attention_heads\": 32,\n  \"num_hidden_layers\": 22,\n  \"num_key_value_heads\": 4,\n  \
         \"quantization_config\": {\n    \"_load_in_4bit\": true,\n    \"bnb_4bit_use_double_quant\": true,\n    \
         \"quant_method\": \"bitsandbytes\"\n  },\n  \"tie_word_embeddings\": false,\n  \"vocab_size\": 32000\n}\n",
        "base=nf4-dq model=tinyllama-1.1b",
    ),
    // Cut off in the middle of the paste
    (
        r#"{ "model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14,
        "num_hidden_layers": 24, "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": true, "torch_dt"#,
        "model=qwen2.5-0.5b",
    ),
    // Qwen/Qwen2-VL-7B-Instruct: text at the top, eyes in a part
    (
        r#"{"architectures": ["Qwen2VLForConditionalGeneration"], "hidden_size": 3584, "intermediate_size": 18944,
        "model_type": "qwen2_vl", "num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4,
        "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 3584, "patch_size": 14}, "vocab_size": 152064}"#,
        "model=qwen2-vl-7b",
    ),
    // Qwen/Qwen2.5-VL-3B as transformers 4.52 writes it: nested
    (
        r#"{"architectures": ["Qwen2_5_VLForConditionalGeneration"], "model_type": "qwen2_5_vl", "text_config": {
        "hidden_size": 2048, "intermediate_size": 11008, "model_type": "qwen2_5_vl_text", "num_attention_heads": 16,
        "num_hidden_layers": 36, "num_key_value_heads": 2, "vocab_size": 151936}, "vision_config": {"depth": 32}}"#,
        "model=qwen2.5-vl-3b",
    ),
    // OpenGVLab/InternVL2_5-8B: llm_config
    (
        r#"{"architectures": ["InternVLChatModel"], "llm_config": {"architectures": ["InternLM2ForCausalLM"],
        "hidden_size": 4096, "intermediate_size": 14336, "model_type": "internlm2", "num_attention_heads": 32,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 92553}, "model_type": "internvl_chat",
        "vision_config": {"hidden_size": 1024, "num_hidden_layers": 24}}"#,
        "model=internvl2",
    ),
    // google/vit-base-patch16-224
    (
        r#"{"architectures": ["ViTForImageClassification"], "hidden_size": 768, "image_size": 224, "intermediate_size": 3072,
        "model_type": "vit", "num_attention_heads": 12, "num_hidden_layers": 12, "patch_size": 16}"#,
        "model=vit-b-16",
    ),
    // microsoft/swin-tiny-patch4-window7-224
    (
        r#"{"architectures": ["SwinForImageClassification"], "depths": [2, 2, 6, 2], "embed_dim": 96, "image_size": 224,
        "model_type": "swin", "num_heads": [3, 6, 12, 24], "patch_size": 4, "window_size": 7, "hidden_size": 768}"#,
        "model=swin-t",
    ),
    // microsoft/resnet-50
    (
        r#"{"architectures": ["ResNetForImageClassification"], "depths": [3, 4, 6, 3], "embedding_size": 64,
        "hidden_sizes": [256, 512, 1024, 2048], "layer_type": "bottleneck", "model_type": "resnet"}"#,
        "model=resnet50",
    ),
    // facebook/convnext-tiny-224
    (
        r#"{"depths": [3, 3, 9, 3], "hidden_sizes": [96, 192, 384, 768], "image_size": 224, "model_type": "convnext"}"#,
        "model=convnext-tiny",
    ),
    // facebook/dinov2-base
    (
        r#"{"architectures": ["Dinov2Model"], "hidden_size": 768, "image_size": 518, "model_type": "dinov2",
        "num_attention_heads": 12, "num_hidden_layers": 12, "patch_size": 14}"#,
        "model=dinov2-b-14-518",
    ),
    // openai/whisper-small
    (
        r#"{"architectures": ["WhisperForConditionalGeneration"], "d_model": 768, "decoder_layers": 12, "encoder_layers": 12,
        "model_type": "whisper", "num_hidden_layers": 12, "num_mel_bins": 80, "vocab_size": 51865}"#,
        "model=whisper-small",
    ),
    // openai/whisper-large-v3
    (
        r#"{"d_model": 1280, "decoder_layers": 32, "encoder_layers": 32, "model_type": "whisper", "num_hidden_layers": 32,
        "num_mel_bins": 128, "vocab_size": 51866}"#,
        "model=whisper-large-v3",
    ),
    // facebook/wav2vec2-base
    (
        r#"{"architectures": ["Wav2Vec2ForPreTraining"], "hidden_size": 768, "model_type": "wav2vec2", "num_hidden_layers": 12,
        "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 32}"#,
        "model=wav2vec2-base",
    ),
    // stabilityai/stable-diffusion-xl-base-1.0 unet/config.json
    (
        r#"{"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.19.0.dev0", "attention_head_dim": [5, 10, 20],
        "block_out_channels": [320, 640, 1280], "cross_attention_dim": 2048, "in_channels": 4, "sample_size": 128}"#,
        "model=sdxl",
    ),
    // runwayml/stable-diffusion-v1-5 model_index.json
    (
        r#"{"_class_name": "StableDiffusionPipeline", "_diffusers_version": "0.6.0", "unet": ["diffusers",
        "UNet2DConditionModel"], "vae": ["diffusers", "AutoencoderKL"]}"#,
        "model=sd1.5",
    ),
    // black-forest-labs/FLUX.1-dev transformer/config.json
    (
        r#"{"_class_name": "FluxTransformer2DModel", "attention_head_dim": 128, "guidance_embeds": true, "in_channels": 64,
        "joint_attention_dim": 4096, "num_attention_heads": 24, "num_layers": 19, "num_single_layers": 38}"#,
        "model=flux.1-dev",
    ),
    // stabilityai/stable-diffusion-3.5-large transformer/config.json
    (
        r#"{"_class_name": "SD3Transformer2DModel", "attention_head_dim": 64, "caption_projection_dim": 2432,
        "in_channels": 16, "num_attention_heads": 38, "num_layers": 38, "qk_norm": "rms_norm", "sample_size": 128}"#,
        "model=sd3.5-large",
    ),
    // Wan-AI/Wan2.1-T2V-14B-Diffusers transformer/config.json
    (
        r#"{"_class_name": "WanTransformer3DModel", "attention_head_dim": 128, "ffn_dim": 13824, "image_dim": null,
        "in_channels": 16, "num_attention_heads": 40, "num_layers": 40, "text_dim": 4096}"#,
        "model=wan2.1-t2v-14b",
    ),
    // THUDM/CogVideoX-2b
    (
        r#"{"_class_name": "CogVideoXTransformer3DModel", "attention_head_dim": 64, "num_attention_heads": 30, "num_layers": 30}"#,
        "model=cogvideox-2b",
    ),
    // A decoder of one's own, as of no catalog: the numbers, in the code of Qwen 3
    (
        r#"{"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 128, "hidden_size": 1280,
        "intermediate_size": 3840, "num_attention_heads": 20, "num_hidden_layers": 30, "num_key_value_heads": 4,
        "tie_word_embeddings": true, "vocab_size": 64000}"#,
        "model=custom layers=30 hidden=1280 intermediate=3840 heads=20 kv-heads=4 vocab=64000 like=qwen3-",
    ),
    // The same of an architecture that is not known
    (
        r#"{"model_type": "my_llm", "n_layers": 16, "dim": 1024, "n_heads": 16, "n_kv_heads": 4, "vocab_size": 6400}"#,
        "model=custom layers=16 hidden=1024 intermediate=2730 heads=16 kv-heads=4 vocab=6400 tied=off",
    ),
    // ByteDance's or anyone's larger GPT-2
    (
        r#"{"model_type": "gpt2", "n_embd": 1024, "n_head": 16, "n_layer": 12, "n_positions": 2048, "vocab_size": 21128}"#,
        "model=custom layers=12 hidden=1024 intermediate=4096 heads=16 kv-heads=16 vocab=21128 like=gpt2-medium tied=on",
    ),
    ("Qwen/Qwen2.5-7B-Instruct", "model=qwen2.5-7b"),
    ("https://huggingface.co/meta-llama/Llama-3.1-8B-Instruct/tree/main", "model=llama-3.1-8b"),
    ("https://www.modelscope.cn/models/Qwen/Qwen3-8B", "model=qwen3-8b"),
    ("git clone https://huggingface.co/openai/whisper-large-v3", "model=whisper-large-v3"),
    ("ollama run qwen2.5:7b", "model=qwen2.5-7b"),
    // An index of weights: sizes and names only
    (
        r#"{"metadata": {"total_size": 15231233024}, "weight_map": {"lm_head.weight": "model-00004-of-00004.safetensors",
        "model.embed_tokens.weight": "model-00001-of-00004.safetensors", "model.layers.0.mlp.up_proj.weight": "a",
        "model.layers.27.mlp.up_proj.weight": "b"}}"#,
        "model=",
    ),
];

#[test]
fn configurations_are_read() {
    let catalog = Catalog::bundled();
    let mut wrong = String::new();
    for (text, wanted) in CONFIGS {
        let reading = read(text, Hints::pasted(&catalog));
        let found = said(&reading);
        if !found.starts_with(wanted) || reading.kind != TextKind::Model {
            let _ = writeln!(wrong, "wanted {wanted}\n found {found} {:?}", reading.notes);
        }
        // What was read makes a project that can be estimated, and goes through a link.
        let (project, unread) = reading.apply(&Project { micro_batch: 1, ..Project::default() }, &catalog);
        assert_eq!(unread, [], "{text}");
        let memory = estimate::memory(&project, None, &catalog);
        if let Err(why) = memory {
            let _ = writeln!(wrong, "{text}: {why:?}");
        }
        let usual = project.budget.currency;
        let written = link::write(&project, usual, &catalog);
        let (back, _) = link::Link::new("", &written).project(usual, &catalog).unwrap();
        assert_eq!(back, project, "{written}");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_is_assumed_is_told() {
    let catalog = Catalog::bundled();
    let notes = |text: &str| read(text, Hints::pasted(&catalog)).notes;
    let unknown = r#"{"model_type": "my_llm", "n_layers": 16, "dim": 1024}"#;
    let told = notes(unknown);
    assert!(told.contains(&Note::UnknownKind("my_llm".into())), "{told:?}");
    assert!(told.iter().any(|note| matches!(note, Note::Assumed(names) if names.contains(&"vocab"))), "{told:?}");
    assert_eq!(notes("nobody/no-such-model-9b"), [Note::UnknownModel("nobody/no-such-model-9b".into())]);
    let eyes = r#"{"model_type": "newvl", "text_config": {"hidden_size": 1000, "num_hidden_layers": 10, "num_attention_heads": 10,
        "intermediate_size": 4000, "vocab_size": 1000, "model_type": "llama"}, "vision_config": {"depth": 3}}"#;
    assert!(notes(eyes).contains(&Note::LanguagePartOnly));
}

/// A file of safetensors with these tensors.
fn safetensors(tensors: &[(&str, &[u64])]) -> Vec<u8> {
    let entries: Vec<String> = tensors
        .iter()
        .map(|(name, shape)| format!(r#""{name}":{{"dtype":"BF16","shape":{shape:?},"data_offsets":[0,1]}}"#))
        .collect();
    let header = format!(r#"{{"__metadata__":{{"format":"pt"}},{}}}"#, entries.join(","));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend([0; 16]);
    file
}

#[test]
fn headers_of_weights_are_counted() {
    let catalog = Catalog::bundled();
    let hints = Hints { name: "model.safetensors", catalog: &catalog };
    // Qwen2.5-0.5B: 494,032,768 parameters.
    let mut tensors: Vec<(String, Vec<u64>)> =
        vec![("model.embed_tokens.weight".into(), vec![151_936, 896]), ("model.norm.weight".into(), vec![896])];
    for layer in 0..24 {
        for (name, shape) in [
            ("self_attn.q_proj.weight", vec![896, 896]),
            ("self_attn.q_proj.bias", vec![896]),
            ("self_attn.k_proj.weight", vec![128, 896]),
            ("self_attn.k_proj.bias", vec![128]),
            ("self_attn.v_proj.weight", vec![128, 896]),
            ("self_attn.v_proj.bias", vec![128]),
            ("self_attn.o_proj.weight", vec![896, 896]),
            ("mlp.gate_proj.weight", vec![4864, 896]),
            ("mlp.up_proj.weight", vec![4864, 896]),
            ("mlp.down_proj.weight", vec![896, 4864]),
            ("input_layernorm.weight", vec![896]),
            ("post_attention_layernorm.weight", vec![896]),
        ] {
            tensors.push((format!("model.layers.{layer}.{name}"), shape));
        }
    }
    let listed: Vec<(&str, &[u64])> = tensors.iter().map(|(name, shape)| (name.as_str(), shape.as_slice())).collect();
    let reading = read_file(&safetensors(&listed), hints);
    assert_eq!(reading.notes, [Note::Parameters(494_032_768)]);
    assert!(said(&reading).starts_with("model=qwen2"), "{}", said(&reading));
    // An adapter tells its rank.
    let adapter = safetensors(&[("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", &[32, 4096])]);
    assert!(said(&read_file(&adapter, hints)).contains("rank=32"));
    // Cut anywhere, or with any byte wrong, it is survived.
    let file = safetensors(&listed);
    for end in (0..file.len()).step_by(97) {
        let _ = read_file(&file[..end], hints);
    }
}

/// A GGUF header.
fn gguf(keys: &[(&str, Value)]) -> Vec<u8> {
    let mut file = b"GGUF".to_vec();
    file.extend(3_u32.to_le_bytes());
    file.extend(0_u64.to_le_bytes());
    file.extend((keys.len() as u64).to_le_bytes());
    let text = |file: &mut Vec<u8>, text: &str| {
        file.extend((text.len() as u64).to_le_bytes());
        file.extend(text.as_bytes());
    };
    for (key, value) in keys {
        text(&mut file, key);
        match value {
            Value::Text(value) => {
                file.extend(8_u32.to_le_bytes());
                text(&mut file, value);
            }
            Value::Number(value) => {
                file.extend(4_u32.to_le_bytes());
                file.extend(value.to_le_bytes());
            }
            Value::Words(count) => {
                file.extend(9_u32.to_le_bytes());
                file.extend(8_u32.to_le_bytes());
                file.extend(count.to_le_bytes());
                for _ in 0..*count {
                    text(&mut file, "ab");
                }
            }
        }
    }
    file
}

enum Value {
    Text(&'static str),
    Number(u32),
    Words(u64),
}

#[test]
fn gguf_headers_are_read() {
    let catalog = Catalog::bundled();
    let hints = Hints { name: "model.gguf", catalog: &catalog };
    // llama.cpp's conversion of Llama-3.2-1B.
    let file = gguf(&[
        ("general.architecture", Value::Text("llama")),
        ("general.name", Value::Text("Llama 3.2 1B")),
        ("llama.block_count", Value::Number(16)),
        ("llama.embedding_length", Value::Number(2048)),
        ("llama.feed_forward_length", Value::Number(8192)),
        ("llama.attention.head_count", Value::Number(32)),
        ("llama.attention.head_count_kv", Value::Number(8)),
        ("tokenizer.ggml.tokens", Value::Words(128_256)),
    ]);
    assert_eq!(said(&read_file(&file, hints)), "model=llama-3.2-1b");
    // Llama 3 and 3.1 have the same numbers: the name tells.
    let file_8b = gguf(&[
        ("general.architecture", Value::Text("llama")),
        ("general.name", Value::Text("Meta-Llama-3.1-8B")),
        ("llama.block_count", Value::Number(32)),
        ("llama.embedding_length", Value::Number(4096)),
        ("llama.feed_forward_length", Value::Number(14_336)),
        ("llama.attention.head_count", Value::Number(32)),
        ("llama.attention.head_count_kv", Value::Number(8)),
        ("tokenizer.ggml.tokens", Value::Words(128_256)),
    ]);
    assert_eq!(said(&read_file(&file_8b, hints)), "model=llama-3.1-8b");
    // A broken one says so, and a network without attention is none of ours.
    let broken = [b"GGUF".as_slice(), &3_u32.to_le_bytes(), &u64::MAX.to_le_bytes(), &u64::MAX.to_le_bytes()].concat();
    assert_eq!(read_file(&broken, hints).notes, [Note::Damaged]);
    let mamba = r#"{"model_type": "mamba2", "architectures": ["Mamba2ForCausalLM"], "hidden_size": 2560, "num_hidden_layers": 64, "num_heads": 80, "vocab_size": 50288}"#;
    let reading = read(mamba, hints);
    assert!(reading.notes.contains(&Note::NoAttention("mamba2".into())) && reading.found.is_empty(), "{reading:?}");
    for end in (0..file.len().min(600)).chain([file.len() - 1]) {
        assert_eq!(read_file(&file[..end], hints).kind == TextKind::Model, end >= 4);
    }
    let endless = gguf(&[("tokenizer.ggml.tokens", Value::Words(0))]);
    let mut endless = endless[..endless.len() - 8].to_vec();
    endless.extend(u64::MAX.to_le_bytes());
    let _ = read_file(&endless, hints);
}
