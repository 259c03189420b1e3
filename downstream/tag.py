"""Find entities in raw text with a fine-tuned model: `alibert tag PATH... --model DIR --output entities.jsonl`.

As the model was scored: no text is cut off, and a word's tag is that of its first token. (The token-classification
pipeline of transformers labels every token, so its entities may begin or end inside a word.) Writes a JSON line a
document, {"id", "text", "entities": [{"start", "end", "label", "score"}]}, offsets in characters; or, with `--format
brat`, a folder that brat opens. Recipes of `format: jsonl` or `brat` read it once the entities are corrected.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from alibert_common.cli import program
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.files import files_of, read_text, written_whole
from downstream.fine_tuned import FineTuned, require_list
from downstream.run_config import add_device

if TYPE_CHECKING:
    from downstream.data.spans import ScoredSpan

TOGETHER = 64  # documents tagged at a time: enough to sort their lines by length, little enough to show progress


class Tagger(FineTuned):
    """A model of named entities, plain head or tagger."""

    def __init__(self, folder: str | Path, device: str = "auto"):
        """Raises InputError for a folder that is not from downstream.finetune, of another task, or damaged."""
        from downstream.tasks.ner import NamedEntities  # here: --help needs none of it

        super().__init__(folder, device, NamedEntities, "named entities")

    def _loaded(self, folder: Path, config):
        from downstream.learners.form_folder import load_plain
        from downstream.learners.tagger import WEIGHTS, load_tagger
        from downstream.training.heads import head_of, with_probabilities

        self.reads_words = (folder / WEIGHTS).is_file()
        if self.reads_words:
            return load_tagger(folder, self.task, config)
        head = with_probabilities(head_of(self.task.head()), self.task.num_layers)
        return load_plain(folder, head, config), head

    def __call__(self, texts: list[str]) -> "list[list[ScoredSpan]]":
        """The entities of each text, in the order of the text: (start, end, label), in characters, end excluded.

        Each has a `score` from 0 to 1: the mean probability that the model gives to the tags of its words.
        Raises TypeError for one text that is not in a list.
        """
        from downstream.data.annotated_text import AnnotatedText
        from downstream.learners.tagger import add_words, decided
        from downstream.training.loop import predict

        require_list(texts)
        if not texts:
            return []
        documents = [AnnotatedText(str(number), text, []) for number, text in enumerate(texts)]
        examples = [self.task.example(document, Counter()) for document in documents]
        encoded = self.task.encode(examples, self.tokenizer, self.frame, training=False)
        if self.reads_words:
            add_words(encoded, self.task.recipe.sequence == "line")
            ids, probabilities = decided(self.learned, encoded, probabilities=True)
        else:  # (tokens, layers, label id and probability) of each piece
            outputs = predict(self.learned, encoded.pieces)
            ids, probabilities = [output[..., 0].astype(int) for output in outputs], [o[..., 1] for o in outputs]
        answers = self.task.decode(encoded, ids)
        return list(self.task.scored(encoded, answers, probabilities))


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


TaggedText = tuple[str, str, "list[ScoredSpan]"]  # its id, the text, and the entities that a model has found in it


def tagged(tagger: Tagger, texts: list[tuple[str, str]], found: Counter) -> Iterator[TaggedText]:
    """The texts with their entities, which are counted by label."""
    with tqdm(total=len(texts), unit="document") as progress:
        for start in range(0, len(texts), TOGETHER):
            some = texts[start : start + TOGETHER]
            for (name, text), spans in zip(some, tagger([text for _, text in some]), strict=True):
                found.update(span.label for span in spans)
                yield name, text, spans
                progress.update()


def write_jsonl(documents: Iterable[TaggedText], file: Path) -> None:
    """Write a line for each document."""
    with written_whole(file) as handle:
        for name, text, spans in documents:
            entities = [span._asdict() | {"score": round(span.score, 4)} for span in spans]
            handle.write(json.dumps({"id": name, "text": text, "entities": entities}, ensure_ascii=False) + "\n")


def write_brat(documents: Iterable[TaggedText], folder: Path) -> None:
    """Write a .txt and a .ann for each document, without the scores."""
    from downstream.data.annotated_text import AnnotatedText
    from downstream.data.readers import brat
    from downstream.tasks.ner import as_entities

    brat.write((AnnotatedText(name, text, as_entities(spans)) for name, text, spans in documents), folder)


WRITERS = {"jsonl": write_jsonl, "brat": write_brat}


def build_parser() -> argparse.ArgumentParser:
    """The options of this command."""
    parser = argparse.ArgumentParser(prog=program("python -m downstream.tag"), description=__doc__.split("\n\n")[0])
    parser.add_argument("texts", nargs="+", type=Path, metavar="PATH", help=".txt files, one document each, or folders")
    parser.add_argument("--model", required=True, type=Path, help="folder `model` of a downstream.finetune run")
    parser.add_argument("--output", required=True, type=Path, help="the .jsonl file, or the new folder for brat")
    parser.add_argument("--format", choices=tuple(WRITERS), default="jsonl", help="output format (default: jsonl)")
    add_device(parser)
    return parser


def main(argv: list[str] | None = None) -> None:
    """The command; `argv` in place of the process's arguments."""
    args = build_parser().parse_args(argv)
    texts, tagger = read_texts(args.texts), Tagger(args.model, args.device)
    found: Counter = Counter()
    WRITERS[args.format](tagged(tagger, texts, found), args.output)
    types = ", ".join(f"{count} {label}" for label, count in found.most_common()) or "none"
    print(f"{len(texts)} documents, {found.total()} entities ({types}): {args.output}")


if __name__ == "__main__":
    exit_with_sentence(main)
