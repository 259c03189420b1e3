"""Seconds of an optimizer's step, in multiples of PyTorch's fused AdamW, for the tensors of a base model.

    python tests/benchmarks/optimizers.py [--output FILE.json] [--runs 5] [--arch alibert_base] [--tokens 1024]

The steps are taken in turn, in one process of one thread, and the medians count. It also times the forward and backward
pass of so many tokens, and tells from it what an update of 8,192 and of 65,536 tokens takes with each optimizer.
"""

import argparse
import copy
import statistics
import sys
import time
from pathlib import Path

import torch
from interleaved import ROOT, machine, write

sys.path.insert(0, str(ROOT))
BATCHES = (8192, 65536)  # tokens of a process and update


def base_model(arch: str):
    """A model of 40,000 words, and a batch of it."""
    from fairseq.data import Dictionary

    import alibert_fairseq  # noqa: F401  registers
    from alibert_fairseq.models.bert import AliBertModel
    from alibert_fairseq.models.config import EncoderConfig, fill_size
    from alibert_fairseq.models.pretraining import mark_depths

    words = Dictionary()
    for number in range(40_000 - len(words) - 1):
        words.add_symbol(f"w{number}")
    words.add_symbol("<mask>")
    cfg = EncoderConfig()
    fill_size(cfg, arch.rsplit("_", 1)[1])
    model = AliBertModel(cfg, words)
    mark_depths(model.encoder.sentence_encoder)
    return model.train()


def seconds(step, device: str) -> float:
    """Of one call."""
    began = time.perf_counter()
    step()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def optimizers(model) -> dict:
    """Each over weights of its own, with gradients."""
    from alibert_fairseq.optim.adam_lamb_step import AdamLamb, decay_groups
    from alibert_fairseq.optim.marks import is_hidden_matrix
    from alibert_fairseq.optim.muon_step import MuonAdam

    def weights():
        own = copy.deepcopy(model)
        for parameter, marked in zip(own.parameters(), model.parameters(), strict=True):
            parameter.grad = torch.randn_like(parameter)
            if hasattr(marked, "param_group"):
                parameter.param_group = marked.param_group
        return list(own.parameters())

    muon = weights()
    hidden = [parameter for parameter in muon if is_hidden_matrix(parameter)]
    others = [parameter for parameter in muon if not is_hidden_matrix(parameter)]
    groups = [*decay_groups(others, 0.01, adapt=False), {"params": hidden, "momentum": 0.95, "weight_decay": 0.1}]
    return {
        "fused AdamW": torch.optim.AdamW(weights(), lr=1e-4, fused=True),
        "AdamW, foreach": torch.optim.AdamW(weights(), lr=1e-4, foreach=True),
        "alibert_adam": AdamLamb(decay_groups(weights(), 0.01, adapt=False), lr=1e-4, adapt=False),
        "lamb": AdamLamb(decay_groups(weights(), 0.01, adapt=True), lr=1e-4),
        "muon": MuonAdam(groups, lr=1e-4),
    }


def forward_backward(model, tokens: int, device: str) -> float:
    """Seconds of the passes over so many tokens, in blocks of 512."""
    from alibert_fairseq.data.layout import laid_out

    ids = torch.randint(4, 39_000, (tokens // 512, 512))
    target = torch.ones_like(ids)
    target[:, 1::7] = ids[:, 1::7]
    batch = laid_out({"net_input": {"src_tokens": ids, "has_padding": False}, "target": target}, 1)
    from fairseq.utils import move_to_cuda

    batch = move_to_cuda(batch) if device == "cuda" else batch

    def passes():
        model(**batch["net_input"], target=batch["target"]).words.loss.backward()

    passes()
    return statistics.median(seconds(passes, device) for _ in range(3))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="file of the results (default: standard output)")
    parser.add_argument("--runs", type=int, default=5, help="number of steps of each (default: 5)")
    parser.add_argument("--arch", default="alibert_base", help="size of the model (default: alibert_base)")
    parser.add_argument("--tokens", type=int, default=1024, help="tokens of the timed passes (default: 1024)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = base_model(options.arch).to(device)
    passes = forward_backward(model, options.tokens, device) / options.tokens
    made, found = optimizers(model), {}
    for _ in range(options.runs + 1):
        for name, optimizer in made.items():
            found.setdefault(name, []).append(seconds(optimizer.step, device))
    median = {name: statistics.median(times[1:]) for name, times in found.items()}
    fused = median["fused AdamW"]
    rows = {
        name: {"seconds": round(own, 4), "to_fused_adamw": round(own / fused, 2)}
        | {f"update_of_{n}": round((n * passes + own) / (n * passes + fused), 3) for n in BATCHES}
        for name, own in median.items()
    }
    parameters = sum(parameter.numel() for parameter in model.parameters())
    passes_of = {"parameters": parameters, "seconds_a_token": passes, "device": device}
    write({"machine": machine()} | passes_of | {"optimizers": rows}, options.output)


if __name__ == "__main__":
    main()
