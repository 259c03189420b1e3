"""Entities of raw text by a fine-tuned model: `python -m downstream.tag PATH... --model DIR --output entities.jsonl`.

As the model was scored: no text is cut off, and a word's tag is that of its first token. (transformers' pipeline for
token classification asks every token, and so may begin or end an entity inside a word.) Writes a JSON line a document,
{"id", "text", "entities": [{"start", "end", "label"}]}, offsets in characters: what recipes of `format: jsonl` read,
once the entities are corrected.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm
from transformers import AutoModelForTokenClassification

from downstream import models
from downstream.documents import Document
from downstream.files import InputError, exit_with_sentence, files_of, read_text, written_whole
from downstream.recipe import Recipe
from downstream.spans import Span
from downstream.tasks.ner import Layout, label_names, predicted_spans, prepare, stitch
from downstream.training import Machine, predict

TOGETHER = 64  # documents tagged at a time: enough to sort their lines by length, little enough to show progress


class Tagger:
    """A model that `downstream.finetune` wrote, with what its scores depend on."""

    def __init__(self, folder: str | Path, device: str = "auto"):
        """Raises InputError for a folder that is not from downstream.finetune, or damaged."""
        folder = Path(folder)
        recipe, longest, bf16 = read_notes(folder)
        config = models.read_config(folder)
        self.machine = Machine(models.device_of(device), bf16)
        self.tokenizer = models.load_tokenizer(folder)
        model, missing = models.load_weights(AutoModelForTokenClassification, folder, config=config)
        if missing:
            raise InputError(f"{folder}: it lacks {len(missing)} weights (first: {missing[0]}); copy the folder again.")
        self.model = model.to(self.machine.device)
        self.frame = models.frame_of(self.tokenizer, config)
        size = longest - len(self.frame.prefix) - len(self.frame.suffix)
        self.layout = Layout(label_names(recipe.types), recipe.policy(), size, recipe.sequence == "line")

    def __call__(self, texts: list[str]) -> list[list[Span]]:
        """The entities of each text, in the order of the text: (start, end, label), in characters, end excluded."""
        if not texts:
            return []
        documents = [Document(str(number), text, []) for number, text in enumerate(texts)]
        split = prepare(documents, self.tokenizer, self.layout, training=False)
        tags = stitch(split, predict(self.model, split.sequences, self.frame, self.machine), self.layout.names)
        return [predicted_spans(example, mine) for example, mine in zip(split.examples, tags, strict=True)]


def read_notes(folder: Path) -> tuple[Recipe, int, bool]:
    """The recipe, the longest sequence in tokens and whether to use bf16: what finetuning.json says of the scoring."""
    notes = folder / "finetuning.json"
    if not notes.is_file():
        raise InputError(f"{folder}: no finetuning.json in it; give the folder `model` of a downstream.finetune run.")
    text = read_text(notes)
    try:
        conditions = json.loads(text)["conditions"]
        return Recipe(**conditions["recipe"]), conditions["max_tokens"], conditions["precision"] == "bf16 autocast"
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{notes}: not as downstream.finetune wrote it; copy the folder again.") from None


def read_texts(paths: list[Path]) -> list[tuple[str, str]]:
    """(id, text) of every .txt file, those of folders at any depth; the id is the path inside the folder.

    Raises InputError for a path without .txt and for two files of one id.
    """
    found: dict[str, Path] = {}
    for path in paths:
        if not path.exists() or (path.is_file() and path.suffix != ".txt"):
            raise InputError(f"{path}: no such .txt file or folder of them; check the path.")
        files = files_of(path, ".txt")
        if not files:
            raise InputError(f"{path}: no .txt file in it; give the folder that holds the texts.")
        for file in files:
            name = str(file.relative_to(path if path.is_dir() else path.parent).with_suffix(""))
            if name in found:
                raise InputError(f"{file}: would have the id of {found[name]}; give the folder that holds both.")
            found[name] = file
    return [(name, read_text(file)) for name, file in found.items()]


def records(tagger: Tagger, texts: list[tuple[str, str]]) -> Iterator[dict]:
    """What the output holds, a record a document."""
    for start in range(0, len(texts), TOGETHER):
        some = texts[start : start + TOGETHER]
        for (name, text), spans in zip(some, tagger([text for _, text in some]), strict=True):
            yield {"id": name, "text": text, "entities": [span._asdict() for span in spans]}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m downstream.tag", description=__doc__.split("\n\n")[0])
    parser.add_argument("texts", nargs="+", type=Path, metavar="PATH", help=".txt files, a document each, or folders")
    parser.add_argument("--model", required=True, type=Path, help="the folder `model` of a downstream.finetune run")
    parser.add_argument("--output", required=True, type=Path, help="the .jsonl to write")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto", help="default auto: a GPU if any")
    args = parser.parse_args()
    texts, tagger = read_texts(args.texts), Tagger(args.model, args.device)
    found: Counter = Counter()
    with written_whole(args.output) as handle:
        for record in tqdm(records(tagger, texts), total=len(texts), unit="document"):
            found.update(entity["label"] for entity in record["entities"])
            handle.write(json.dumps(record, ensure_ascii=False) + "\n")
    types = ", ".join(f"{count} {label}" for label, count in found.most_common()) or "none"
    print(f"{len(texts)} documents, {found.total()} entities ({types}): {args.output}")


if __name__ == "__main__":
    exit_with_sentence(main)
