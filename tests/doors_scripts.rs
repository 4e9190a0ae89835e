//! How a training is started, pasted: commands and files of many libraries, each with what must be read from it.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use enough_gpu::catalog::Catalog;
use enough_gpu::estimate;
use enough_gpu::project::Project;
use enough_gpu::project::import::{Hints, TextKind, read};
use std::fmt::Write as _;

/// Text, and `key=value` pairs that must be among what is found.
const SCRIPTS: &[(&str, &str)] = &[
    // torchtune: the recipe of LoRA with the file of QLoRA
    (
        "tune run lora_finetune_single_device --config llama3_1/8B_qlora_single_device batch_size=2",
        "model=llama-3.1-8b method=qlora batch=2 framework=torchtune",
    ),
    ("tune run full_finetune_single_device --config llama3_2/1B_full_single_device", "model=llama-3.2-1b method=full"),
    (
        "litgpt finetune_lora meta-llama/Llama-3.2-3B --quantize bnb.nf4-dq --precision bf16-true --train.micro_batch_size 4",
        "model=llama-3.2-3b method=qlora base=nf4-dq batch=4 framework=litgpt",
    ),
    // Adapters unless it says otherwise
    (
        "mlx_lm.lora --model mistralai/Mistral-7B-v0.1 --train --batch-size 1 --num-layers 4 --max-seq-length 2048",
        "model=mistral-7b-v0.1 method=lora batch=1 seq=2048",
    ),
    (
        "mlx_lm.lora --model mistralai/Mistral-7B-v0.1 --train --fine-tune-type full --batch-size 1",
        "model=mistral-7b-v0.1 method=full",
    ),
    // A copy of the network beside the one that is named
    (
        "accelerate launch train_controlnet.py --pretrained_model_name_or_path=stable-diffusion-v1-5/stable-diffusion-v1-5 \
         --resolution=512 --train_batch_size=4 --use_8bit_adam",
        "model=controlnet-sd15 batch=4 framework=diffusers",
    ),
    (
        "accelerate launch train_controlnet_sdxl.py --pretrained_model_name_or_path=stabilityai/stable-diffusion-xl-base-1.0 \
         --resolution=1024 --train_batch_size=1",
        "model=controlnet-sdxl batch=1",
    ),
    // YOLOv5 from its own file, detectron2, timm
    (
        "python train.py --data coco.yaml --epochs 300 --weights '' --cfg yolov5x.yaml --batch-size 16 --img 640",
        "model=yolov5x epochs=300 batch=16 side=640",
    ),
    (
        "python tools/train_net.py --config-file configs/COCO-InstanceSegmentation/mask_rcnn_R_50_FPN_3x.yaml --num-gpus 8",
        "model=mask-rcnn-r50-fpn count=8",
    ),
    (
        "model = timm.create_model(\"resnet50.a1_in1k\", pretrained=True)\nimport torch\nbatch_size = 64",
        "model=resnet50",
    ),
    ("./distributed_train.sh 4 /data/imagenet --model convnext_tiny --amp", "model=convnext-tiny precision=amp-fp16"),
    (
        "python main.py --data-path /imagenet --model deit_base_patch16_224 --batch-size 256 --epochs 300",
        "model=deit-b-16 batch=256 epochs=300",
    ),
    (
        "python run_speech_recognition_ctc.py --model_name_or_path=\"facebook/wav2vec2-large-xlsr-53\" --fp16",
        "model=wav2vec2-large precision=amp-fp16",
    ),
    // Checkpointing comes with the preparation of a packed base
    (
        "python qlora.py --model_name_or_path huggyllama/llama-7b --bits 4 --bf16 --source_max_len 16 --target_max_len 512 \
         --per_device_train_batch_size 1 --lora_r 64",
        "model=llama-7b method=qlora checkpointing=on seq=512",
    ),
    // transformers examples: run_clm.py
    (
        "python run_clm.py --model_name_or_path openai-community/gpt2 --train_file train.txt --per_device_train_batch_size 8 \
         --gradient_accumulation_steps 4 --block_size 512 --num_train_epochs 3 --fp16 --do_train --output_dir /tmp/test-clm",
        "model=gpt2 batch=8 accumulation=4 seq=512 epochs=3 precision=amp-fp16 method=full framework=transformers checkpointing=off",
    ),
    // The same with continued lines and without a batch
    (
        "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 run_glue.py \\\n  --model_name_or_path bert-base-cased \\\n  --task_name mrpc \\\n  \
         --do_train \\\n  --max_seq_length 128 \\\n  --learning_rate 2e-5 \\\n  --num_train_epochs 3\n",
        "model=bert-base-cased seq=128 epochs=3 count=2 batch=8 precision=fp32",
    ),
    // TrainingArguments in Python, with PEFT
    (
        r#"
from transformers import AutoModelForCausalLM, TrainingArguments, BitsAndBytesConfig
from peft import LoraConfig, get_peft_model
model_id = "mistralai/Mistral-7B-v0.1"
bnb_config = BitsAndBytesConfig(
    load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
)
model = AutoModelForCausalLM.from_pretrained(model_id, quantization_config=bnb_config, device_map={"": 0})
config = LoraConfig(r=8, lora_alpha=32, target_modules=["q_proj", "v_proj"], lora_dropout=0.05, bias="none")
args = TrainingArguments(
    per_device_train_batch_size=1,
    gradient_accumulation_steps=4,
    gradient_checkpointing=True,
    warmup_steps=2,
    max_steps=10,
    learning_rate=2e-4,
    bf16=True,
    logging_steps=1,
    output_dir="outputs",
    optim="paged_adamw_8bit"
)
"#,
        "model=mistral-7b-v0.1 method=qlora base=nf4-dq rank=8 targets=qv dropout=0.05 batch=1 accumulation=4 checkpointing=on \
         precision=amp-bf16 optimizer=paged-adamw8bit",
    ),
    // TRL on the command line
    (
        "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara --learning_rate 2.0e-4 --num_train_epochs 1 \
         --packing --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --gradient_checkpointing --eos_token '<|im_end|>' \
         --use_peft --lora_r 32 --lora_alpha 16",
        "model=qwen2.5-0.5b method=lora rank=32 batch=2 accumulation=8 checkpointing=on epochs=1",
    ),
    // TRL in Python
    (
        r#"
from trl import SFTConfig, SFTTrainer
trainer = SFTTrainer(
    model="Qwen/Qwen3-0.6B",
    args=SFTConfig(max_length=1024, bf16=True, use_liger_kernel=True),
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
)
"#,
        "model=qwen3-0.6b seq=1024 loss=fused checkpointing=on batch=8 precision=amp-bf16",
    ),
    // Unsloth's notebooks
    (
        r#"
from unsloth import FastLanguageModel
max_seq_length = 2048 # Choose any!
load_in_4bit = True
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name = "unsloth/Meta-Llama-3.1-8B-bnb-4bit",
    max_seq_length = max_seq_length,
    dtype = None,
    load_in_4bit = load_in_4bit,
)
model = FastLanguageModel.get_peft_model(
    model,
    r = 16,
    target_modules = ["q_proj", "k_proj", "v_proj", "o_proj",
                      "gate_proj", "up_proj", "down_proj",],
    lora_alpha = 16,
    lora_dropout = 0,
    bias = "none",
    use_gradient_checkpointing = "unsloth",
    random_state = 3407,
)
trainer = SFTTrainer(args = TrainingArguments(per_device_train_batch_size = 2, gradient_accumulation_steps = 4, max_steps = 60,
    fp16 = not is_bfloat16_supported(), bf16 = is_bfloat16_supported(), optim = "adamw_8bit"))
"#,
        "framework=unsloth model=llama-3.1-8b method=qlora rank=16 targets=all-linear dropout=0 seq=2048 batch=2 accumulation=4 \
         checkpointing=offload optimizer=adamw8bit",
    ),
    // LLaMA-Factory: examples/train_lora/llama3_lora_sft.yaml
    (
        "### model\nmodel_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct\ntrust_remote_code: true\n\n### method\nstage: sft\ndo_train: true\n\
         finetuning_type: lora\nlora_rank: 8\nlora_target: all\n\n### dataset\ndataset: identity,alpaca_en_demo\ntemplate: llama3\ncutoff_len: 2048\n\
         max_samples: 1000\noverwrite_cache: true\n\n### train\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\n\
         learning_rate: 1.0e-4\nnum_train_epochs: 3.0\nlr_scheduler_type: cosine\nwarmup_ratio: 0.1\nbf16: true\nddp_timeout: 180000000\n",
        "framework=llama-factory model=llama-3-8b method=lora rank=8 targets=all-linear seq=2048 samples=1000 batch=1 accumulation=8 epochs=3 \
         precision=amp-bf16 checkpointing=on objective=likelihood",
    ),
    // LLaMA-Factory: QLoRA through the environment and the command line
    (
        "llamafactory-cli train --stage dpo --do_train True --model_name_or_path Qwen/Qwen2.5-7B-Instruct --finetuning_type lora --quantization_bit 4 \
         --template qwen --flash_attn fa2 --cutoff_len 4096 --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --bf16 True --lora_rank 16",
        "framework=llama-factory model=qwen2.5-7b method=qlora objective=dpo attention=flash seq=4096 batch=2 accumulation=8 rank=16",
    ),
    // LLaMA-Factory: full with ZeRO-3
    (
        "model_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\nfinetuning_type: full\ndeepspeed: examples/deepspeed/ds_z3_config.json\ncutoff_len: 2048\n\
         per_device_train_batch_size: 1\ngradient_accumulation_steps: 2\nbf16: true\nnum_train_epochs: 3\n",
        "model=qwen2.5-7b method=full sharding=zero3 precision=bf16-master batch=1 accumulation=2",
    ),
    // Axolotl: examples/llama-3/qlora.yml
    (
        "base_model: NousResearch/Meta-Llama-3-8B\nload_in_8bit: false\nload_in_4bit: true\nstrict: false\n\ndatasets:\n  - path: aaditya/alpaca_subset_1\n    \
         type: alpaca\nadapter: qlora\nsequence_len: 4096\nsample_packing: true\n\nlora_r: 32\nlora_alpha: 16\nlora_dropout: 0.05\nlora_target_linear: true\n\n\
         gradient_accumulation_steps: 4\nmicro_batch_size: 2\nnum_epochs: 4\noptimizer: paged_adamw_32bit\nbf16: auto\ntf32: false\n\n\
         gradient_checkpointing: true\nflash_attention: true\n",
        "framework=axolotl model=llama-3-8b method=qlora seq=4096 rank=32 dropout=0.05 targets=all-linear batch=2 accumulation=4 epochs=4 \
         optimizer=paged-adamw precision=amp-bf16 checkpointing=on attention=flash",
    ),
    // Axolotl: full fine-tuning, DeepSpeed in a file
    (
        "base_model: Qwen/Qwen2.5-1.5B\nsequence_len: 8192\nmicro_batch_size: 1\ngradient_accumulation_steps: 8\nnum_epochs: 3\noptimizer: adamw_torch_fused\n\
         bf16: true\ndeepspeed: deepspeed_configs/zero2.json\ngradient_checkpointing: offload\nplugins:\n  - axolotl.integrations.liger.LigerPlugin\n\
         liger_fused_linear_cross_entropy: true\n",
        "framework=axolotl model=qwen2.5-1.5b method=full seq=8192 optimizer=adamw optimizer-impl=fused sharding=zero2 checkpointing=offload loss=fused",
    ),
    // ms-swift
    (
        "CUDA_VISIBLE_DEVICES=0 \\\nswift sft \\\n    --model Qwen/Qwen2.5-7B-Instruct \\\n    --train_type lora \\\n    --dataset 'AI-ModelScope/alpaca-gpt4-data-zh#500' \\\n    \
         --torch_dtype bfloat16 \\\n    --num_train_epochs 1 \\\n    --per_device_train_batch_size 1 \\\n    --learning_rate 1e-4 \\\n    --lora_rank 8 \\\n    \
         --lora_alpha 32 \\\n    --target_modules all-linear \\\n    --gradient_accumulation_steps 16 \\\n    --max_length 2048\n",
        "framework=ms-swift model=qwen2.5-7b method=lora rank=8 targets=all-linear batch=1 accumulation=16 seq=2048 count=1 checkpointing=on",
    ),
    // diffusers: train_text_to_image_lora.py
    (
        "export MODEL_NAME=\"stable-diffusion-v1-5/stable-diffusion-v1-5\"\naccelerate launch --mixed_precision=\"fp16\" train_text_to_image_lora.py \\\n  \
         --pretrained_model_name_or_path=$MODEL_NAME \\\n  --dataset_name=$DATASET_NAME \\\n  --dataloader_num_workers=8 \\\n  --resolution=512 --center_crop \\\n  \
         --random_flip \\\n  --train_batch_size=1 \\\n  --gradient_accumulation_steps=4 \\\n  --max_train_steps=15000 \\\n  --learning_rate=1e-04\n",
        "framework=diffusers model=sd1.5 method=lora precision=amp-fp16 side=512 batch=1 accumulation=4 checkpointing=off",
    ),
    // diffusers: train_dreambooth_lora_sdxl.py
    (
        "accelerate launch train_dreambooth_lora_sdxl.py --pretrained_model_name_or_path=stabilityai/stable-diffusion-xl-base-1.0 --instance_data_dir=dog \
         --mixed_precision=bf16 --instance_prompt=\"a photo of sks dog\" --resolution=1024 --train_batch_size=1 --gradient_accumulation_steps=4 \
         --use_8bit_adam --gradient_checkpointing --enable_xformers_memory_efficient_attention --rank=4 --max_train_steps=500",
        "model=sdxl method=lora rank=4 precision=amp-bf16 side=1024 optimizer=adamw8bit checkpointing=on attention=efficient",
    ),
    // diffusers: Flux DreamBooth LoRA
    (
        "accelerate launch train_dreambooth_lora_flux.py \\\n --pretrained_model_name_or_path=\"black-forest-labs/FLUX.1-dev\" \\\n --mixed_precision=\"bf16\" \\\n \
         --resolution=512 \\\n --train_batch_size=1 \\\n --optimizer=\"prodigy\" \\\n --cache_latents \\\n --gradient_checkpointing \\\n",
        "model=flux.1-dev method=lora side=512 optimizer=adamw cached-latents=on checkpointing=on",
    ),
    // kohya: SDXL LoRA
    (
        "accelerate launch --num_cpu_threads_per_process 1 sdxl_train_network.py --pretrained_model_name_or_path=\"D:\\models\\sd_xl_base_1.0.safetensors\" \
         --train_data_dir=\"train\" --resolution=\"1024,1024\" --network_module=networks.lora --network_dim=32 --network_alpha=16 --train_batch_size=2 \
         --max_train_epochs=10 --mixed_precision=\"bf16\" --optimizer_type=\"AdamW8bit\" --gradient_checkpointing --cache_latents --xformers",
        "framework=kohya model=sdxl method=lora rank=32 side=1024 batch=2 epochs=10 precision=amp-bf16 optimizer=adamw8bit checkpointing=on \
         cached-latents=on attention=efficient text-encoders=trained",
    ),
    // kohya: a TOML of the scripts that Chinese users know
    (
        "[model]\npretrained_model_name_or_path = \"./sd-models/v1-5-pruned.safetensors\"\n\n[train]\nresolution = \"512,768\"\ntrain_batch_size = 4\nmax_train_epochs = 20\n\
         network_module = \"networks.lora\"\nnetwork_dim = 64\noptimizer_type = \"Lion\"\nmixed_precision = \"fp16\"\ngradient_checkpointing = false\ncache_latents = true\n",
        "framework=kohya model=sd1.5 rank=64 side=627 batch=4 epochs=20 optimizer=lion precision=amp-fp16 checkpointing=off cached-latents=on",
    ),
    // kohya: Flux with an fp8 base
    (
        "accelerate launch flux_train_network.py --pretrained_model_name_or_path flux1-dev.safetensors --network_module networks.lora_flux --network_dim 16 --fp8_base \
         --mixed_precision bf16 --sdpa --optimizer_type adafactor --gradient_checkpointing --train_batch_size 1",
        "model=flux.1-dev base=fp8 optimizer=adafactor rank=16 attention=auto cached-latents=off text-encoders=resident",
    ),
    // kohya: what the page of the Flux script shows, and a full run of SDXL with a fused backward pass
    (
        "accelerate launch flux_train_network.py --pretrained_model_name_or_path=flux1-dev.safetensors --network_module=networks.lora_flux --network_dim=16 \
         --optimizer_type=AdamW8bit --sdpa --mixed_precision=bf16 --gradient_checkpointing --blocks_to_swap=18 --cache_text_encoder_outputs --cache_latents",
        "model=flux.1-dev block-swap=0.47 text-encoders=cached cached-latents=on",
    ),
    (
        "accelerate launch sdxl_train.py --pretrained_model_name_or_path=sd_xl_base_1.0.safetensors --full_bf16 --fused_backward_pass --optimizer_type=Adafactor \
         --gradient_checkpointing --cache_latents --cache_text_encoder_outputs --resolution=1024,1024 --train_batch_size=1",
        "model=sdxl method=full precision=bf16 optimizer=adafactor optimizer-impl=in-backward text-encoders=cached",
    ),
    // ai-toolkit
    (
        "job: extension\nconfig:\n  name: my_first_flux_lora\n  process:\n    - type: sd_trainer\n      device: cuda:0\n      network:\n        type: lora\n        linear: 16\n        \
         linear_alpha: 16\n      train:\n        batch_size: 1\n        steps: 2000\n        gradient_accumulation_steps: 1\n        gradient_checkpointing: true\n        \
         optimizer: adamw8bit\n        dtype: bf16\n      model:\n        name_or_path: black-forest-labs/FLUX.1-dev\n",
        "framework=ai-toolkit model=flux.1-dev method=lora rank=16 batch=1 optimizer=adamw8bit checkpointing=on",
    ),
    // ai-toolkit as its own examples are laid out, with a quantized base and several sizes
    (
        "job: extension\nconfig:\n  process:\n    - type: 'sd_trainer'\n      network: {type: \"lora\", linear: 32, linear_alpha: 32}\n      datasets:\n        - folder_path: \"/images\"\n          \
         resolution: [ 512, 768, 1024 ]\n      train:\n        batch_size: 1\n        gradient_checkpointing: true\n        optimizer: \"adamw8bit\"\n        dtype: bf16\n      model:\n        \
         name_or_path: \"black-forest-labs/FLUX.1-dev\"\n        is_flux: true\n        quantize: true\n",
        "framework=ai-toolkit model=flux.1-dev method=lora rank=32 side=1024 base=fp8 batch=1",
    ),
    (
        "simpletuner train --model_type=lora --pretrained_model_name_or_path=black-forest-labs/FLUX.1-dev --base_model_precision=int8-quanto --lora_rank=16 --train_batch_size=1",
        "framework=simpletuner model=flux.1-dev method=lora base=int8 rank=16",
    ),
    // TRL's reinforcement learning: question and answer make the sequence
    (
        "from trl import GRPOConfig, GRPOTrainer\nargs = GRPOConfig(max_prompt_length=512, max_completion_length=2048, num_generations=8, use_vllm=True, vllm_mode=\"colocate\",\n    \
         per_device_train_batch_size=8, bf16=True)\ntrainer = GRPOTrainer(model=\"Qwen/Qwen2.5-3B-Instruct\", args=args, reward_funcs=f)\n",
        "model=qwen2.5-3b seq=2560 batch=8",
    ),
    // verl
    (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=1024 data.max_prompt_length=512 data.max_response_length=1024 \
         actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=8 trainer.nnodes=1",
        "model=qwen2.5-7b seq=1536 batch=4 count=8",
    ),
    // musubi-tuner
    (
        "accelerate launch --num_cpu_threads_per_process 1 --mixed_precision bf16 src/musubi_tuner/wan_train_network.py --task t2v-1.3B --dit wan2.1_t2v_1.3B_bf16.safetensors \
         --sdpa --gradient_checkpointing --network_module networks.lora_wan --network_dim 32 --optimizer_type adamw8bit --fp8_base",
        "model=wan2.1-t2v-1.3b method=lora rank=32 base=fp8 checkpointing=on precision=amp-bf16",
    ),
    // OpenMMLab
    ("bash tools/dist_train.sh configs/faster_rcnn/faster-rcnn_r50_fpn_1x_coco.py 8", "model=faster-rcnn-r50-fpn"),
    (
        "_base_ = [\n    '../_base_/models/mask-rcnn_r50_fpn.py',\n    '../_base_/datasets/coco_instance.py']\ntrain_dataloader = dict(batch_size=2, num_workers=2)\n",
        "model=mask-rcnn-r50-fpn batch=2 framework=openmmlab",
    ),
    // torchtune's file of settings
    (
        "model:\n  _component_: torchtune.models.qwen2_5.lora_qwen2_5_14b_base\n  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']\n  apply_lora_to_mlp: True\n  lora_rank: 8\n\
         dtype: bf16\nbatch_size: 2\nenable_activation_checkpointing: True\n",
        "framework=torchtune model=qwen2.5-14b method=lora rank=8 targets=all-linear batch=2 checkpointing=on",
    ),
    (
        "tune run full_finetune_single_device --config llama3_1/8B_full_single_device optimizer_in_bwd=True",
        "framework=torchtune model=llama-3.1-8b method=full",
    ),
    // Megatron's own command: a network by its sizes
    (
        "torchrun --nproc_per_node 8 --nnodes 4 pretrain_gpt.py --num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --num-attention-heads 64 --group-query-attention \
         --num-query-groups 8 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 128 --tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 \
         --sequence-parallel --use-distributed-optimizer --recompute-granularity selective --bf16 --swiglu --vocab-size 32000",
        "framework=megatron model=custom layers=80 hidden=8192 intermediate=28672 heads=64 kv-heads=8 vocab=32000 seq=4096 batch=1 accumulation=128 tensor=8 pipeline=4 count=32 \
         sharding=zero1 checkpointing=selective",
    ),
    // SimpleTuner
    (
        r#"{"--model_type": "lora", "--pretrained_model_name_or_path": "black-forest-labs/FLUX.1-dev", "--train_batch_size": 1, "--lora_rank": 16,
        "--resolution": 1024, "--mixed_precision": "bf16", "--gradient_checkpointing": "true", "--optimizer": "adamw_bf16", "simpletuner": 1}"#,
        "framework=simpletuner model=flux.1-dev method=lora rank=16 side=1024 checkpointing=on",
    ),
    // ultralytics on the command line
    (
        "yolo detect train data=coco128.yaml model=yolo11n.pt epochs=100 imgsz=640 batch=32 device=0,1",
        // Its batch is that of all cards: `self.batch_size // max(self.world_size, 1)` of its trainer.
        "framework=ultralytics model=yolo11n epochs=100 side=640 batch=16 count=2 accumulation=2 precision=amp-fp16",
    ),
    // ultralytics in Python, all by default
    (
        "from ultralytics import YOLO\nmodel = YOLO(\"yolov8s.pt\")\nresults = model.train(data=\"coco8.yaml\", epochs=50, amp=False, optimizer='AdamW')\n",
        "framework=ultralytics model=yolov8s epochs=50 batch=16 side=640 precision=fp32 optimizer=adamw",
    ),
    // YOLOv5's script
    (
        "python train.py --data coco.yaml --epochs 300 --weights yolov5s.pt --cfg yolov5s.yaml --batch-size 64 --img 640",
        "model=yolov5s epochs=300 batch=64 side=640",
    ),
    // accelerate's YAML for DeepSpeed
    (
        "compute_environment: LOCAL_MACHINE\ndeepspeed_config:\n  gradient_accumulation_steps: 4\n  gradient_clipping: 1.0\n  offload_optimizer_device: cpu\n  \
         offload_param_device: none\n  zero3_init_flag: false\n  zero_stage: 2\ndistributed_type: DEEPSPEED\ndowncast_bf16: 'no'\nmachine_rank: 0\n\
         main_training_function: main\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 4\n",
        "sharding=zero2 offload=optimizer accumulation=4 count=4 precision=bf16-master",
    ),
    // accelerate's YAML for FSDP
    (
        "distributed_type: FSDP\nfsdp_config:\n  fsdp_activation_checkpointing: true\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_state_dict_type: SHARDED_STATE_DICT\n\
         mixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n",
        "sharding=fsdp checkpointing=on count=8 precision=amp-bf16",
    ),
    // DeepSpeed's JSON
    (
        r#"{
  "train_batch_size": 64,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 3,
    "offload_optimizer": {"device": "cpu", "pin_memory": true},
    "offload_param": {"device": "cpu", "pin_memory": true},
    "overlap_comm": true
  },
  "gradient_clipping": 1.0
}"#,
        "batch=2 accumulation=4 sharding=zero3-offload precision=bf16-master",
    ),
    // ZeRO-Infinity
    (
        r#"{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/local_nvme"},
        "offload_param": {"device": "nvme"}}, "train_micro_batch_size_per_gpu": 1, "fp16": {"enabled": true}}"#,
        "sharding=zero3 offload=nvme batch=1 precision=amp-fp16",
    ),
    // DeepSpeed's launcher
    (
        "deepspeed --num_gpus=4 train.py --deepspeed ds_config_zero3.json --model_name_or_path meta-llama/Llama-2-13b-hf --per_device_train_batch_size 4 \
         --bf16 True --gradient_checkpointing True --model_max_length 2048 --num_train_epochs 2",
        "count=4 sharding=zero3 model=llama-2-13b batch=4 precision=bf16-master checkpointing=on seq=2048 epochs=2",
    ),
    // torchtune
    (
        "tune run --nproc_per_node 2 lora_finetune_distributed --config llama3_1/8B_lora batch_size=2 gradient_accumulation_steps=8 lora_rank=8 max_seq_len=2048 \
         enable_activation_checkpointing=True",
        "framework=torchtune count=2 batch=2 accumulation=8 rank=8 seq=2048 checkpointing=on method=lora",
    ),
    // LitGPT
    (
        "litgpt finetune_lora microsoft/phi-2 --data JSON --train.micro_batch_size 4 --train.max_seq_length 512 --lora_r 8 --precision bf16-true --devices 1 --train.epochs 2",
        "framework=litgpt model=phi-2 batch=4 seq=512 rank=8 precision=bf16 count=1 epochs=2",
    ),
    // Hugging Face's Whisper recipe
    (
        "from transformers import Seq2SeqTrainingArguments, WhisperForConditionalGeneration\nmodel = WhisperForConditionalGeneration.from_pretrained(\"openai/whisper-small\")\n\
         training_args = Seq2SeqTrainingArguments(output_dir=\"./whisper-small-hi\", per_device_train_batch_size=16, gradient_accumulation_steps=1, learning_rate=1e-5,\n    \
         max_steps=5000, gradient_checkpointing=True, fp16=True, evaluation_strategy=\"steps\", generation_max_length=225)\n",
        "model=whisper-small batch=16 accumulation=1 checkpointing=on precision=amp-fp16",
    ),
    // FastChat's Vicuna: FSDP by the Trainer's flag
    (
        "torchrun --nproc_per_node=4 --master_port=20001 fastchat/train/train_mem.py --model_name_or_path meta-llama/Llama-2-7b-hf --bf16 True --per_device_train_batch_size 2 \
         --gradient_accumulation_steps 16 --fsdp \"full_shard auto_wrap\" --tf32 True --model_max_length 2048 --gradient_checkpointing True --num_train_epochs 3",
        "count=4 sharding=fsdp model=llama-2-7b batch=2 accumulation=16 seq=2048 checkpointing=on epochs=3",
    ),
    // A launch.json of an editor
    (
        "\"args\": [\n  \"--model_name_or_path\", \"Qwen/Qwen2.5-3B\",\n  \"--per_device_train_batch_size\", \"4\",\n  \"--bf16\",\n  \"--gradient_checkpointing\", \"true\"\n]",
        "model=qwen2.5-3b batch=4 precision=amp-bf16 checkpointing=on",
    ),
    // A plain loop with torchvision
    (
        "import torch\nimport torchvision\nmodel = torchvision.models.resnet50(pretrained=True)\nbatch_size = 64\nnum_epochs = 10\nloader = DataLoader(data, batch_size=batch_size, shuffle=True)\n\
         optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)\n",
        "model=resnet50 batch=64 epochs=10 framework=pytorch",
    ),
    // timm
    (
        "import torch, timm\nmodel = timm.create_model('vit_base_patch16_224', pretrained=True, num_classes=10)\nbatch_size = 32\nepochs = 5\nimg_size = 224\n",
        "model=vit-b-16 batch=32 epochs=5 side=224",
    ),
];

#[test]
fn scripts_are_read() {
    let catalog = Catalog::bundled();
    let mut wrong = String::new();
    for (text, wanted) in SCRIPTS {
        let reading = read(text, Hints::pasted(&catalog));
        let found: Vec<String> = reading.found.iter().map(|f| format!("{}={}", f.key, f.value)).collect();
        let missing: Vec<&str> = wanted.split_whitespace().filter(|pair| !found.iter().any(|f| f == pair)).collect();
        if !missing.is_empty() || reading.kind != TextKind::Script {
            let first: String = text.chars().take(90).collect();
            let _ = write!(
                wrong,
                "{first:?}\n  missing {missing:?}\n  found {} ({:?})\n  notes {:?}\n",
                found.join(" "),
                reading.kind,
                reading.notes
            );
        }
        let (project, unread) =
            reading.apply(&Project { model: "qwen2.5-0.5b".into(), ..Project::default() }, &catalog);
        if !unread.is_empty() {
            let _ = writeln!(wrong, "refused: {unread:?}");
        }
        if let Err(why) = estimate::memory(&project, None, &catalog) {
            let _ = writeln!(wrong, "no estimate: {why:?} {}", project.model);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
