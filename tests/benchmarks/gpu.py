"""Tokens a second and the share of the peak, for each preset on the GPU that is there, beside transformers.

    python tests/benchmarks/gpu.py [--output FILE.json] [--presets alibert_base ...] [--runs 3]

Each preset trains blocks of 512 tokens in bfloat16 (float16 on a GPU without it), with and without --compile. The peer
is a plain loop over transformers' model of the same size with its SDPA attention and torch.compile. All run in turn.
The table of the roofline is printed without a GPU as well: it is the peak of three GPUs divided by the work of a token.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import torch
from interleaved import ROOT, SCRIPTS, in_turn, machine, medians, pinned, tokens_a_second, write
from training_step import flops_a_token, make_text

LENGTH, VOCABULARY = 512, 40_000
WARM, UPDATES, EVERY = 20, 60, 10
# arch: its size, sequences of a batch, options
PRESETS = {
    "alibert_base": ({"layers": 12, "width": 768, "ffn_width": 3072, "heads": 12}, 24, []),
    "alibert_large": ({"layers": 24, "width": 1024, "ffn_width": 4096, "heads": 16}, 16, []),
    "alibert_modern_base": ({"layers": 22, "width": 768, "ffn_width": 1152, "heads": 12}, 24, []),
    "alibert_modern_large": ({"layers": 28, "width": 1024, "ffn_width": 2624, "heads": 16}, 12, []),
    "electra_base": ({"layers": 12, "width": 768, "ffn_width": 3072, "heads": 12}, 16, ["--embedding-sharing", "all"]),
}
# name: peak of matrix products in half precision (TFLOP/s), memory (TB/s), from NVIDIA's data sheets
GPUS = {"V100": (125, 0.9), "A100 80GB": (312, 2.04), "H100 SXM": (989, 3.35)}


def work(arch: str) -> float:
    """FLOP of the matrix products of a token, forward and backward."""
    size = PRESETS[arch][0] | {"vocabulary": VOCABULARY}
    whole = flops_a_token(size, LENGTH, modern="modern" in arch)
    if not arch.startswith("electra"):
        return whole
    small = size | {"width": size["width"] // 3, "ffn_width": size["ffn_width"] // 3}
    detection = flops_a_token(size | {"vocabulary": 0}, LENGTH)
    return flops_a_token(small, LENGTH) + detection


def roofline() -> list[dict]:
    """The most tokens a second that a GPU can do, and half of it."""
    return [
        {"gpu": gpu, "arch": arch, "tokens_a_second_at_peak": round(1e12 * peak / work(arch), -2),
         "at_half": round(0.5e12 * peak / work(arch), -2)}
        for gpu, (peak, _) in GPUS.items()
        for arch in PRESETS
    ]  # fmt: skip


def ours(text: Path, arch: str, compiled: bool) -> float:
    """Tokens a second of fairseq-train."""
    objective = "electra" if arch.startswith("electra") else "alibert_mlm"
    precision = ["--bf16-autocast"] if torch.cuda.is_bf16_supported(False) else ["--fp16", "--fp16-no-flatten-grads"]
    command = [
        SCRIPTS / "fairseq-train", text, "--user-dir", ROOT / "alibert_fairseq", "--task", objective, "--criterion",
        objective, "--arch", arch, "--optimizer", "alibert_adam", "--tokens-per-sample", LENGTH, "--max-positions",
        LENGTH, "--batch-size", PRESETS[arch][1], "--lr", "1e-4", "--clip-norm", "1.0", "--no-save",
        "--disable-validation", "--max-update", UPDATES, "--log-interval", EVERY, "--log-format", "json", "--seed", "1",
        *PRESETS[arch][2], *precision, *(["--compile"] if compiled else []),
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        return tokens_a_second(pinned(command, None, Path(folder), CUDA_VISIBLE_DEVICES="0"), WARM)


def transformers_loop(text: Path, arch: str) -> float:
    """Tokens a second of transformers_loop.py, compiled."""
    size, batch, _ = PRESETS[arch]
    options = {
        "size": size | {"vocabulary": VOCABULARY, "length": LENGTH, "dropout": 0.1}, "data": str(text),
        "objective": "electra" if arch.startswith("electra") else "mlm", "sentences": False, "batch": batch,
        "body": "modern" if "modern" in arch else "bert", "updates": UPDATES, "every": EVERY, "compile": True,
        "bf16": True,
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "options.json")
        path.write_text(json.dumps(options))
        command = [sys.executable, Path(__file__).with_name("transformers_loop.py"), path]
        return tokens_a_second(pinned(command, None, CUDA_VISIBLE_DEVICES="0"), WARM)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="file of the results (default: standard output)")
    parser.add_argument("--presets", nargs="*", choices=PRESETS, default=list(PRESETS), help="presets (default: all)")
    parser.add_argument("--runs", type=int, default=3, help="number of rounds (default: 3)")
    options = parser.parse_args()
    results: dict = {"machine": machine(), "roofline": roofline(), "measured": {}}
    if not torch.cuda.is_available():
        results["measured"] = "no GPU"
        write(results, options.output)
        return
    name = torch.cuda.get_device_name()
    peak = next((peak for gpu, (peak, _) in GPUS.items() if gpu.split()[0] in name.replace("H200", "H100")), None)
    results["gpu"] = name
    with tempfile.TemporaryDirectory() as folder:
        text = make_text(Path(folder, "text"), VOCABULARY)
        for arch in options.presets:
            found = medians(in_turn({
                "ours": lambda arch=arch: ours(text, arch, False),
                "ours, compiled": lambda arch=arch: ours(text, arch, True),
                "transformers, compiled": lambda arch=arch: transformers_loop(text, arch),
            }, options.runs))  # fmt: skip
            for figures in found.values():
                figures["ours_to_this"] = round(found["ours"]["median"] / figures["median"], 2)
                if peak:
                    figures["share_of_peak"] = round(figures["median"] * work(arch) / peak / 1e12, 3)
            results["measured"][arch] = found
    write(results, options.output)


if __name__ == "__main__":
    main()
