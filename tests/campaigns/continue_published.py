"""Does continuing from each published encoder begin at exactly that model?

    python tests/campaigns/continue_published.py OUTPUT --lines TEXT [--transformers-4 FOLDER] [--only NAME ...]

For each model of tests/helpers/published_configs.py: a folder with its true numbers but fewer layers, random weights,
and a tokenizer of its kind. Then alibert_fairseq.hf.load, and compared with transformers: logits and loss in float32,
and in float64 with the gradient of every parameter, at 1, 7, 512 and the most tokens, alone and padded; the tensors
after an export; ten updates, killed and resumed; AutoTokenizer's ids on the lines of TEXT, with both majors of
transformers. OUTPUT/NAME.json holds the figures of a model, and a second call leaves out those that are there. Prints
the table of docs/results/continue_published.md.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from published_configs import MODELS, write_published
from safetensors.torch import load_file
from transformers import AutoTokenizer
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.modernbert import modeling_modernbert

from alibert_fairseq.data.dictionary import load_dictionary
from alibert_fairseq.data.layout import Layout
from alibert_fairseq.hf.checkpoint import read_checkpoint
from alibert_fairseq.hf.export import convert, export
from alibert_fairseq.hf.load import load
from preprocess.binarize import binarize
from preprocess.tokenizer.load import load_tokenizer

root = Path(__file__).resolve().parents[2]
LAYERS = {"ModernBertForMaskedLM": 4}  # a global one, two local ones, a global one
OTHERS = 2
SAMPLE = root / "recipes" / "sample" / "text"
HEADS = ("lm_head", "cls", "head")  # of transformers' classes; ModernBERT's decoder stands beside its head


@contextmanager
def in_double():
    """transformers without what it rounds to float32, however precise its model is."""

    def rotated(q, k, cos, sin, unsqueeze_dim=1):
        cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
        half = modeling_modernbert.rotate_half
        return q * cos + half(q) * sin, k * cos + half(k) * sin

    def scale(states, factor):
        return torch.sqrt(torch.tensor(states.size(-1), dtype=torch.double) * factor)

    with (
        patch.object(modeling_modernbert, "apply_rotary_pos_emb", rotated),
        patch.object(modeling_deberta_v2, "scaled_size_sqrt", scale),
    ):
        yield


def batches(longest: int, ids: list[int], pad: int) -> list[torch.Tensor]:
    """Rows of 1, 7, 512 and the most tokens: each alone, short ones padded to 512, one padded to the most."""
    generator = torch.Generator().manual_seed(1)

    def row(length: int) -> torch.Tensor:
        drawn = torch.randint(len(ids), (length,), generator=generator)
        return torch.tensor([ids[n] for n in drawn.tolist()])

    rows = {length: row(length) for length in (1, 7, 512, longest)}
    groups = [[one] for one in rows.values()] + [[rows[1], rows[7], rows[512]], [rows[512], rows[longest]]]
    return [torch.nn.utils.rnn.pad_sequence(group, True, padding_value=pad) for group in groups]


def own_scores(model, ids: torch.Tensor, layout: Layout) -> torch.Tensor:
    """Our logits at the places of a layout of (B, T) ids."""
    features = model.encoder.sentence_encoder(layout.flat(ids), layout, only_masked=True)
    return model.encoder.lm_head(features)


def scores(model, ids: torch.Tensor, real: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """transformers' logits at these places of (B, T) ids; those of all would not fit at the longest."""
    states = model.base_model(input_ids=ids, attention_mask=real.long()).last_hidden_state[places]
    head = next(getattr(model, name) for name in HEADS if hasattr(model, name))
    return model.decoder(head(states)) if hasattr(model, "decoder") else head(states)


def compared(place: Path, dtype: torch.dtype) -> dict[str, float]:
    """The largest differences of logits, of the loss and, relative to its norm, of the gradient."""
    checkpoint = read_checkpoint(place / "checkpoint.pt", load_dictionary(place))
    part = checkpoint.parts()[-1]
    ours, theirs = checkpoint.model.to(dtype).train(), convert(checkpoint, part).to(dtype).train()
    theirs.gradient_checkpointing_enable()  # the same numbers, and the states of one layer at a time
    for module in [*ours.modules(), *theirs.modules()]:
        if "Dropout" in type(module).__name__:
            module.p = 0.0
        if isinstance(getattr(module, "dropout", None), float):
            module.dropout = 0.0
    rows = part.rows(part.parameters(checkpoint.model))
    size, pad = checkpoint.size(part), checkpoint.dictionary.pad()
    ids = [number for number in range(size.vocabulary) if number != pad]
    worst = {"logits": 0.0, "loss": 0.0, "gradient": 0.0}
    for batch in batches(size.max_positions, ids, pad):
        real = batch.ne(pad)
        places = real & (torch.arange(batch.shape[1]) % max(1, batch.shape[1] // 70) == 0)
        target = batch[places].roll(1)
        layout = Layout.of(real, None, places)
        found = []
        for model in (ours, theirs):  # one after the other: both would not fit at 8,192 tokens
            model.zero_grad()
            logits = own_scores(ours, batch, layout) if model is ours else scores(theirs, batch, real, places)
            loss = F.cross_entropy(logits.double(), target)
            loss.backward()
            found.append((logits.detach(), loss.item()))
            del logits, loss
        (mine, loss), (other, their_loss) = found
        worst["logits"] = max(worst["logits"], (mine - other).abs().max().item())
        worst["loss"] = max(worst["loss"], abs(loss - their_loss))
        worst["gradient"] = max(worst["gradient"], gradient_difference(ours, theirs, rows))
    return worst


def gradient_difference(ours, theirs, rows) -> float:
    """The largest difference of gradients, relative to the norm of ours."""
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    own = {name: parameter.grad for name, parameter in ours.named_parameters()}
    norm = torch.stack([gradient.norm() for gradient in own.values()]).norm().item()
    worst, seen = 0.0, set()
    for row in rows:
        if row.theirs in gradients and row.ours in own:
            difference = own[row.ours][row.skipped :] - row.share(gradients[row.theirs])
            worst = max(worst, difference.abs().max().item() / norm)
            seen.add(row.ours)
    assert seen == own.keys(), own.keys() - seen
    return worst


def same_tensors(source: Path, model: Path, headless: bool) -> bool:
    """Whether the exported folder has the published tensors, bit for bit."""
    before, after = (load_file(place / "model.safetensors") for place in (source, model))
    prefix = "deberta." if headless else ""
    return all(torch.equal(value, after[f"{prefix}{name}"]) for name, value in before.items())


def resumed_alike(place: Path, work: Path) -> bool:
    """Whether ten updates have the same weights and moments when they are killed behind the sixth and resumed."""
    text = work / "text.txt"
    some = [file.read_text(encoding="utf-8") for file in sorted(SAMPLE.glob("*.txt"))[:12]]
    text.write_text("\n\n".join(some), encoding="utf-8")
    binarize(place, {"train": [text], "valid": [text]}, work / "data-bin")
    command = [
        "fairseq-train", str(work / "data-bin"), "--user-dir", str(root / "alibert_fairseq"), "--cpu",
        "--finetune-from-model", str(place / "checkpoint.pt"), *(place / "options").read_text().split(), "--task",
        "alibert_mlm", "--criterion", "alibert_mlm", "--tokens-per-sample", "64", "--batch-size", "4", "--optimizer",
        "alibert_adam", "--lr", "1e-4", "--max-update", "10", "--save-interval-updates", "5", "--disable-validation",
        "--no-epoch-checkpoints", "--num-workers", "0", "--log-format", "simple", "--log-interval", "1", "--seed", "1",
    ]  # fmt: skip

    def train(save: str, killed_behind: str | None = None) -> None:
        with subprocess.Popen(
            [*command, "--save-dir", str(work / save)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as child:
            lines = []
            for line in child.stdout:
                lines.append(line)
                if killed_behind and f"num_updates={killed_behind}," in line:
                    child.send_signal(signal.SIGKILL)
            child.wait()
        if child.returncode != (-signal.SIGKILL if killed_behind else 0):
            raise SystemExit("".join(lines[-20:]))

    train("whole")
    train("killed", killed_behind="6")
    train("killed")
    states = [
        torch.load(work / save / "checkpoint_last.pt", map_location="cpu", weights_only=False)
        for save in ("whole", "killed")
    ]
    return same(*({"model": state["model"], "optimizer": state["last_optimizer_state"]} for state in states))


def same(one, other) -> bool:
    """Whether nested dictionaries and lists hold equal tensors and values."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def ids_of(folder: Path, lines: list[str]) -> list[list[int]]:
    """AutoTokenizer's ids."""
    return AutoTokenizer.from_pretrained(folder)(lines)["input_ids"]


def other_major(folder: Path, file: Path, transformers_4: Path) -> list[list[int]]:
    """The same, by transformers 4."""
    code = (
        "import json, sys; from transformers import AutoTokenizer; "
        "lines = open(sys.argv[2], encoding='utf-8').read().split('\\n'); "
        "json.dump(AutoTokenizer.from_pretrained(sys.argv[1])(lines)['input_ids'], sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, folder, file], env=os.environ | {"PYTHONPATH": str(transformers_4)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def measured(name: str, work: Path, lines: Path, transformers_4: Path | None) -> dict:
    """All figures of a model."""
    model = MODELS[name]
    layers = {"num_hidden_layers": LAYERS.get(model.cls, OTHERS)}
    source = write_published(work / "source", name, **layers)
    manifest = load(source, work / "out", new_head=model.headless)
    found: dict = {"gate": max(manifest["largest_difference_of_logits"].values())}
    found["float32"] = compared(work / "out", torch.float32)
    with in_double():
        found["float64"] = compared(work / "out", torch.float64)
    export(work / "out" / "checkpoint.pt", work / "out", work / "model")
    found["same tensors"] = same_tensors(source, work / "model", model.headless)
    found["resumed alike"] = resumed_alike(work / "out", work)
    texts = lines.read_text(encoding="utf-8").split("\n")
    expected = ids_of(work / "model", texts)
    ours = load_tokenizer(work / "out").encode_batch(texts, add_special_tokens=False)
    found["lines"] = len(texts)
    found["ids"] = [row[1:-1] for row in expected] == [encoding.ids for encoding in ours]
    if transformers_4:
        found["ids of version 4"] = expected == other_major(work / "model", lines, transformers_4)
    return found


def table(output: Path) -> str:
    """Markdown, a row a model."""
    head = "| model | float32: logits, loss | float64: logits, loss, gradient | export | resumed | ids of both majors |"
    rows = [head, "|---|---|---|---|---|---|"]
    for name in MODELS:
        file = output / f"{name.replace('/', '+')}.json"
        if not file.is_file():
            continue
        found = json.loads(file.read_text())
        single, double = found["float32"], found["float64"]
        ids = [found["ids"], found.get("ids of version 4")]
        cells = [
            name,
            f"{single['logits']:.1e}, {single['loss']:.1e}",
            f"{double['logits']:.1e}, {double['loss']:.1e}, {double['gradient']:.1e}",
            *("equal" if found[key] else "DIFFER" for key in ("same tensors", "resumed alike")),
            f"equal on {found['lines']:,} lines" if all(ids) else f"{ids}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--lines", type=Path, required=True, help="a text whose lines the tokenizers encode")
    parser.add_argument("--transformers-4", type=Path, help="a folder with transformers 4, for its ids (default: none)")
    parser.add_argument("--only", nargs="+", default=list(MODELS), help="names of models (default: all)")
    given = parser.parse_args()
    for name in given.only:
        file = given.output / f"{name.replace('/', '+')}.json"
        if not file.is_file():
            work = given.output / "work" / name.replace("/", "+")
            work.mkdir(parents=True, exist_ok=True)
            found = measured(name, work, given.lines.absolute(), given.transformers_4)
            file.write_text(json.dumps(found, indent=1))
            print(name, found, flush=True)
    print(table(given.output))


if __name__ == "__main__":
    main()
