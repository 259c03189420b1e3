"""Tokens a second of a training on one core, beside stock fairseq and a plain loop over transformers.

    python tests/benchmarks/training_step.py --output FILE.json [--runs 5] [--cases ...] [--core 0]

All systems train the same size on the same text (ids drawn by Zipf's law), in float32, with the same dropout, in
updates of 4,096 tokens, in turn, each in a process of one thread that is pinned to a core. The median of the runs
counts. `matrix_gflops` is the best rate of matrix products of the sizes' own shapes, measured in the same rounds; the
share of it that a training reaches counts its matrix products alone. An idle machine is needed.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from interleaved import ROOT, SCRIPTS, in_turn, machine, medians, pinned, tokens_a_second, write

from preprocess.databin.fairseq_writer import Writer, id_type

SPECIALS = 4  # <s> <pad> </s> <unk>; <mask> is added behind the others
SENTENCES = 12_000  # of 18 to 198 subwords, </s> included: 20 to 200 tokens with <s>
MASKED = 0.15
LENGTH = 256

SIZES = {
    "6x384": {"layers": 6, "width": 384, "ffn_width": 1536, "heads": 6, "vocabulary": 16000},
    "4x128": {"layers": 4, "width": 128, "ffn_width": 512, "heads": 2, "vocabulary": 8000},
}
WARM = {"6x384": 4, "4x128": 20}
UPDATES = {"6x384": 12, "4x128": 60}
EVERY = {"6x384": 2, "4x128": 10}

PRODUCTS = """
import sys, time, torch
torch.set_num_threads(1)
best = 0.0
for rows, inner, columns in {shapes}:
    x, w, times = torch.randn(rows, inner), torch.randn(columns, inner), []
    for _ in range(8):
        began = time.perf_counter(); x @ w.T; times.append(time.perf_counter() - began)
    best = max(best, 2e-9 * rows * inner * columns / sorted(times)[4])
print(best)
"""


def make_text(folder: Path, vocabulary: int) -> Path:
    """Sentences, each a document, as a data-bin of fairseq and as arrays for transformers_loop.py."""
    folder.mkdir()
    draw = np.random.default_rng(1)
    sizes = draw.integers(19, 200, SENTENCES)
    words = vocabulary - SPECIALS - 1
    shares = 1 / np.arange(1, words + 1)
    ids = draw.choice(words, size=int(sizes.sum()), p=shares / shares.sum()) + SPECIALS + 1
    ends = np.cumsum(sizes)
    ids[ends - 1] = 2
    np.save(folder / "ids.npy", ids)
    np.save(folder / "ends.npy", ends)
    lines = "".join(f"w{number} {words - number}\n" for number in range(words + 1))
    (folder / "dict.txt").write_text(lines, encoding="utf-8")
    dtype = id_type(vocabulary)
    for split, count in (("train", SENTENCES), ("valid", 10)):
        with Writer(folder / split, dtype) as writer:
            for sentence in np.split(ids, ends)[:count]:
                writer.add(np.append(sentence, 2).astype(dtype), np.array([len(sentence), 1], dtype=np.int32))
    return folder


def flops_a_token(size: dict, length: int, modern: bool = False) -> float:
    """Of the matrix products of one training step, forward and backward, as our encoder computes them.

    The last layer computes queries and all that follows for the masked tokens alone; without a vocabulary, for all.
    """
    width, ffn, vocabulary = size["width"], size["ffn_width"], size["vocabulary"]
    own = 2 * width**2 + (3 if modern else 2) * width * ffn + 2 * length * width  # of a token that is computed
    read = 2 * width**2  # keys and values
    last = own * (MASKED if vocabulary else 1) + read
    head = MASKED * (width**2 + width * vocabulary) if vocabulary else width**2
    return 6 * ((size["layers"] - 1) * (own + read) + last + head)


def best_product(size: dict, core: str) -> float:
    """GFLOP/s, the best of the shapes of the size and of a large square."""
    width, ffn = size["width"], size["ffn_width"]
    shapes = [(4096, width, ffn), (4096, ffn, width), (4096, width, 3 * width), (2048, 2048, 2048)]
    process = pinned([sys.executable, "-c", PRODUCTS.format(shapes=shapes)], core)
    return float(process.communicate()[0].split()[-1])


def of_size(text: Path, name: str) -> list:
    """The options that our runs and those of stock fairseq share."""
    size = SIZES[name]
    return [
        text, "--no-save", "--disable-validation", "--cpu", "--num-workers", "0",
        "--encoder-layers", size["layers"], "--encoder-embed-dim", size["width"],
        "--encoder-ffn-embed-dim", size["ffn_width"], "--encoder-attention-heads", size["heads"],
        "--tokens-per-sample", LENGTH, "--max-positions", LENGTH, "--batch-size", 4096 // LENGTH, "--lr", "1e-4",
        "--clip-norm", "1.0", "--weight-decay", "0.01", "--lr-scheduler", "polynomial_decay",
        "--total-num-update", "1000", "--log-interval", EVERY[name], "--log-format", "json", "--seed", "1",
    ]  # fmt: skip


def options_of(text: Path, name: str, objective: str = "mlm", modern: bool = False, packed: bool = False) -> list:
    """The options of our fairseq-train."""
    options = [*of_size(text, name), "--user-dir", ROOT / "alibert_fairseq", "--optimizer", "alibert_adam"]
    options += ["--embedding-dim", SIZES[name]["width"]]
    if objective == "electra":
        options += "--task electra --criterion electra --arch electra_base --embedding-sharing all".split()
    else:
        options += (
            f"--task alibert_mlm --criterion alibert_mlm --arch alibert_{'modern_' if modern else ''}tiny".split()
        )
    if packed:
        options += "--pack-sequences --sample-break-mode complete_doc".split()
    return options if modern else [*options, "--dropout", "0.1", "--attention-dropout", "0.1"]


def fairseq_train(options: list, name: str, core: str) -> float:
    """Tokens a second."""
    command = [SCRIPTS / "fairseq-train", *options, "--max-update", UPDATES[name]]
    with tempfile.TemporaryDirectory() as folder:
        return tokens_a_second(pinned(command, core, Path(folder)), WARM[name])


def ours(text: Path, name: str, core: str, *others, **kinds) -> float:
    """Of this plugin."""
    return fairseq_train(options_of(text, name, *others, **kinds), name, core)


def stock_fairseq(text: Path, name: str, core: str) -> float:
    """Of `--task masked_lm --arch roberta_base` without this plugin."""
    options = "--task masked_lm --criterion masked_lm --arch roberta_base --optimizer adam --adam-betas (0.9,0.999) "
    options += "--dropout 0.1 --attention-dropout 0.1 --sample-break-mode none"
    return fairseq_train([*of_size(text, name), *options.split()], name, core)


def transformers_loop(text: Path, name: str, core: str, objective="mlm", body="bert", sentences=False) -> float:
    """Of transformers_loop.py. Padded batches of sentences have as many tokens, padding left aside."""
    options = {
        "size": SIZES[name] | {"length": LENGTH, "dropout": 0.1}, "data": str(text), "objective": objective,
        "body": body, "sentences": sentences, "batch": 4096 // (110 if sentences else LENGTH),
        "updates": UPDATES[name], "every": EVERY[name],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "options.json")
        path.write_text(json.dumps(options))
        process = pinned([sys.executable, Path(__file__).with_name("transformers_loop.py"), path], core)
        return tokens_a_second(process, WARM[name])


def cases(text: dict[str, Path], core: str) -> dict[str, dict]:
    """The systems of each case."""

    def of(name: str) -> dict:
        return {
            "ours": lambda: ours(text[name], name, core),
            "stock fairseq": lambda: stock_fairseq(text[name], name, core),
            "transformers": lambda: transformers_loop(text[name], name, core),
            "matrix_gflops": lambda: best_product(SIZES[name], core),
        }

    return {
        "mlm 6x384": of("6x384"),
        "mlm 4x128": of("4x128"),
        "electra 6x384": {
            "ours": lambda: ours(text["6x384"], "6x384", core, "electra"),
            "transformers": lambda: transformers_loop(text["6x384"], "6x384", core, "electra"),
        },
        "sentences 4x128, modern body": {
            "ours, packed": lambda: ours(text["4x128"], "4x128", core, modern=True, packed=True),
            "transformers, padded": lambda: transformers_loop(
                text["4x128"], "4x128", core, body="modern", sentences=True
            ),
        },
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="file of the results (default: standard output)")
    parser.add_argument("--runs", type=int, default=5, help="number of rounds (default: 5)")
    parser.add_argument("--cases", nargs="*", help="cases to measure (default: all)")
    parser.add_argument("--core", default="0", help="core of the processes (default: 0)")
    options = parser.parse_args()
    results: dict = {"machine": machine()}
    with tempfile.TemporaryDirectory() as folder:
        text = {name: make_text(Path(folder, name), size["vocabulary"]) for name, size in SIZES.items()}
        for case, systems in cases(text, options.core).items():
            if options.cases and case not in options.cases:
                continue
            found = medians(in_turn(systems, options.runs))
            results[case] = found
            for figures in found.values():
                own = found.get("ours") or found["ours, packed"]
                figures["ours_to_this"] = round(own["median"] / figures["median"], 2)
            if "matrix_gflops" in found:
                name = case.split()[1]
                rate = found["ours"]["median"] * flops_a_token(SIZES[name], LENGTH) / 1e9
                found["matrix_gflops"] = found["matrix_gflops"] | {"ours_to_this": None}
                found["ours"]["share_of_matrix_rate"] = round(rate / found["matrix_gflops"]["median"], 3)
    write(results, options.output)


if __name__ == "__main__":
    main()
