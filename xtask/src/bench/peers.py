"""Other calculators on the same cases: peers.py CASES.csv prints a table.

Each is asked as its documentation says, with everything it has a setting for. What it has none for (the sequence,
say) it cannot know: that is what is measured.
"""

import csv
import importlib.metadata
import logging
import statistics
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)


def accelerate(case):
    # What `accelerate estimate-memory` prints under "Training using Adam (Peak vRAM)".
    from accelerate.commands.estimate import estimate_training_usage

    kind = "float32" if case["precision"] == "fp32" else "bfloat16"
    return max(estimate_training_usage(int(case["params"]) * 4, kind).values())


def deepspeed(case):
    # Model states on one card without offload: weights, gradients and optimizer states of mixed precision.
    from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs

    _, card = estimate_zero2_model_states_mem_needs(int(case["params"]), 1, 1, False)[::-1]
    return card


def llm_analysis(case):
    from llm_analysis.analysis import ActivationRecomputation, LLMAnalysis
    from llm_analysis.config import DtypeConfig, GPUConfig, ModelConfig, ParallelismConfig

    def number(name):
        return int(case[name])

    # Its field for the width of the MLP takes multiples of the hidden size only; the ratio takes any.
    whole = number("intermediate") % number("hidden") == 0
    ratio = number("intermediate") / number("hidden")
    width = {"ffn_embed_dim": number("intermediate")} if whole else {"expansion_ratio": ratio}
    model = ModelConfig(
        name=case["id"],
        num_layers=number("layers"),
        n_head=number("heads"),
        hidden_dim=number("hidden"),
        vocab_size=number("vocab"),
        max_seq_len=number("sequence"),
        num_key_value_heads=number("kv_heads"),
        **width,
    )
    bits = 32 if case["precision"] == "fp32" else 16
    weights = 16 if case["precision"] in ("bf16", "bf16-master") else 32
    kept = DtypeConfig(name="case", weight_bits=weights, activation_bits=bits, embedding_bits=weights)
    # The answer is wanted also where the card is too small.
    card = GPUConfig("any", 100_000, 2000, 300, 1e-5, 300)
    recompute = ActivationRecomputation.NONE if case["checkpointing"] == "off" else ActivationRecomputation.FULL
    found = LLMAnalysis(model, card, kept, ParallelismConfig(), flops_efficiency=0.5).training(
        batch_size_per_gpu=number("batch"),
        gradient_accumulation_steps=number("accumulation"),
        seq_len=number("sequence"),
        activation_recomputation=recompute,
        flash_attn=True,
        mlp_gated_linear_units=case["gated"] == "true",
        master_weights_dtype_bytes=0 if case["precision"] == "bf16" else 4,
    )
    return found["(weight+op_state+grad+act)_memory_per_gpu"]


def row(name, errors, micros, declined):
    if not errors:
        return f"| {name} | 0 | | | | | |"
    sizes = sorted(abs(e) for e in errors)
    ninth = sizes[min(len(sizes) - 1, int(0.9 * len(sizes)))]
    low = sum(e < -0.2 for e in errors)
    return (
        f"| {name} | {len(errors)} | {100 * statistics.median(sizes):.1f} % | {100 * ninth:.0f} % | "
        f"{100 * statistics.median(errors):+.0f} % | {low} | {statistics.median(micros):.0f} |"
    )


def main():
    with open(sys.argv[1], newline="") as file:
        cases = list(csv.DictReader(file))
    print("| calculator | cases | median error | 90th percentile | middle | more than 20 % too low | µs a case |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for kind in ("measured", "traced"):
        these = [c for c in cases if c["kind"] == kind]
        ours = [int(c["ours"]) / int(c["known"]) - 1 for c in these]
        print(row(f"Enough GPU, {kind}", ours, [float(c["ours_us"]) for c in these], 0))
        for name, package, ask in (
            ("accelerate", "accelerate", accelerate),
            ("DeepSpeed", "deepspeed", deepspeed),
            ("llm-analysis", "llm-analysis", llm_analysis),
        ):
            errors, micros, declined = [], [], 0
            for case in these:
                try:
                    ask(case)
                    start = time.perf_counter()
                    answer = ask(case)
                    micros.append((time.perf_counter() - start) * 1e6)
                    errors.append(answer / int(case["known"]) - 1)
                except Exception as error:
                    declined += 1
                    print(f"{name} on {case['id']}: {error!r}", file=sys.stderr)
            try:
                version = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                version = "is not there"
            print(row(f"{name} {version}, {kind}", errors, micros, declined))


main()
