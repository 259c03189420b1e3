"""The steps as Python functions, for scripts and notebooks. `import alibert` offers them all.

Each function writes what the command of the same name writes, and reuses a finished output with the same settings. Bad
input raises `alibert.InputError` with one sentence. What needs torch or fairseq is imported when it is called.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import PreTokenizedString, Tokenizer

from alibert.paths import environment
from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from alibert_common.shipped import RECIPES
from preprocess import binarize as binarize_stage
from preprocess import clean as clean_stage
from preprocess import deduplicate as deduplicate_stage
from preprocess import ingest as ingest_stage
from preprocess import mix as mix_stage
from preprocess import pseudonymise as pseudonymise_stage
from preprocess import train_tokenizer as tokenizer_stage
from preprocess.clean import Cleaning
from preprocess.deduplicate import Settings as Deduplication
from preprocess.documents.stage_report import Report
from preprocess.mixing.weights import MixWeights
from preprocess.pseudonymisation.settings import Settings as Pseudonymisation
from preprocess.readers import ReadOptions
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.normalizer import BOUNDARY, TextOptions, rules_only

AnyPath = str | os.PathLike[str]
AnyPaths = AnyPath | Iterable[AnyPath]
MASK = "<mask>"
ENDING = 15  # lines of a failed training that its error quotes


class Word(NamedTuple):
    """A word of a normalised text. `start` and `end` (excluded) are characters of the raw text."""

    text: str
    start: int
    end: int


class Guess(NamedTuple):
    """A prediction for a masked word: the piece, its probability, the whole text with it."""

    piece: str
    probability: float
    text: str


def _paths(paths: AnyPaths) -> list[Path]:
    return [Path(paths)] if isinstance(paths, (str, os.PathLike)) else list(map(Path, paths))


# From raw text to a data-bin


def ingest(
    paths: AnyPaths, output: AnyPath, *,
    source: str = "", licence: str = "", settings: ReadOptions | None = None, workers: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Read files or folders of any format into documents.

    `settings` says how files are read (format, fields, encoding). Returns the manifest of the output.
    """
    given = {name: value for name, value in (("source", source), ("licence", licence)) if value}
    read_options = (settings or ReadOptions()).with_changes(**given)
    return ingest_stage.ingest(_paths(paths), Path(output), read_options, engine=Engine(workers))


def clean(documents: AnyPaths, output: AnyPath, settings: Cleaning | None = None, *, workers: int = 1) -> Report:
    """Repair text and drop what is not French. Returns the counts; dropped.txt has samples of what was dropped."""
    return clean_stage.clean(_paths(documents), Path(output), settings or Cleaning(), Engine(workers))


def pseudonymise(
    documents: AnyPaths, output: AnyPath, key: AnyPath, settings: Pseudonymisation | None = None, *, workers: int = 1
) -> Report:
    """Replace names, numbers, addresses and dates of patients; `key` is the file of the secret key.

    Returns the counts.
    """
    chosen, engine = settings or Pseudonymisation(), Engine(workers)
    return pseudonymise_stage.pseudonymise(_paths(documents), Path(output), chosen, Path(key), engine)


def deduplicate(
    documents: AnyPaths, output: AnyPath, settings: Deduplication | None = None, *, workers: int = 1
) -> Report:
    """Drop repeated documents, repeated lines, and sentences of benchmarks. Returns the counts."""
    return deduplicate_stage.deduplicate(_paths(documents), Path(output), settings or Deduplication(), Engine(workers))


def mix(
    documents: AnyPaths, output: AnyPath, *,
    mix_weights: MixWeights | None = None, valid: float = 0.02, valid_words: int = mix_stage.VALID_WORDS,
    seed: int = 1, workers: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Weight the sources and split training from validation.

    `valid` is the share of each source for validation, lowered where it gives more than some `valid_words`.
    """
    weights, engine = mix_weights or MixWeights(), Engine(workers)
    return mix_stage.mix(_paths(documents), Path(output), weights, valid, seed, engine, valid_words)


def train_tokenizer(
    text: AnyPaths, output: AnyPath, *,
    vocab_size: int = 40_000, model: str = "unigram", options: TextOptions | None = None, seed: int = 1,
    workers: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Train a tokenizer on documents or on the output of `mix`.

    `model` is unigram, bpe or wordpiece; `options` holds the text rules. Returns the manifest of the output.
    """
    options = options or TextOptions()
    return tokenizer_stage.train_tokenizer(
        _paths(text), Path(output), vocab_size=vocab_size, model=model, options=options, seed=seed,
        engine=Engine(workers),
    )  # fmt: skip


def normalize(text: str, tokenizer: AnyPath | None = None, options: TextOptions | None = None) -> list[Word]:
    """Return the words of a text after normalisation, with their places in the raw text.

    The rules are those of `tokenizer`, a folder of `train_tokenizer`, or else of `options`.
    """
    rules: Tokenizer = load_tokenizer(Path(tokenizer)) if tokenizer else rules_only(options or TextOptions())
    parts = PreTokenizedString(text)
    parts.normalize(rules.normalizer.normalize)
    rules.pre_tokenizer.pre_tokenize(parts)
    words = [Word(part.removeprefix(BOUNDARY), *place) for part, place, _ in parts.get_splits("original", "char")]
    return [word for word in words if word.text]


def binarize(tokenizer: AnyPath, mix: AnyPath, output: AnyPath, *, workers: int = 1) -> dict[str, Any]:
    """Encode the output of `mix` as a data-bin for fairseq. Returns its manifest."""
    splits, weights = binarize_stage.splits_of_mix(Path(mix))
    return binarize_stage.binarize(
        Path(tokenizer), splits, Path(output), Engine(workers), weights=weights, mix=Path(mix)
    )


# From a data-bin to a Hugging Face model


def pretrain(data_bin: AnyPath, save_dir: AnyPath, *, recipe: str | None = None, **options: object) -> Path:
    """Pretrain in a child process and print its output. Returns the path of the last checkpoint.

    `recipe` is a name in the folder recipes/pretrain, such as "tiny_mlm". `options` are those of `alibert train`, with
    underscores: `max_update=200`, `cpu=True`. A run that was stopped is resumed.
    """
    command = [sys.executable, "-m", "alibert", "train", str(data_bin), "--save-dir", str(save_dir)]
    if recipe:
        file = RECIPES / "pretrain" / f"{recipe}.sh"
        if not file.is_file():
            names = ", ".join(sorted(path.stem for path in file.parent.glob("*.sh")))
            raise InputError(f"recipe {recipe!r}: there is no such recipe; choose one of {names}.")
        command = ["bash", str(file)]
    _run([*command, *_words(options)], environment(DATA_BIN=str(data_bin), SAVE_DIR=str(save_dir)))
    return Path(save_dir) / "checkpoint_last.pt"


def _words(options: dict[str, object], repeat: bool = False) -> list[str]:
    """Return options as words of a command line; False and None give none. Several values are joined by commas, as
    fairseq reads them; with `repeat`, a list repeats its option."""
    words: list[str] = []
    for name, values in options.items():
        for value in values if repeat and isinstance(values, list) else [values]:
            if value is not None and value is not False:
                words.append("--" + name.replace("_", "-"))
                if value is not True:
                    words.append(",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
    return words


def _run(command: Sequence[str], variables: dict[str, str]) -> None:
    """Run a training. Its lines go through `print`, because a notebook does not show the output of a child process."""
    lines: list[str] = []
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as training:
        try:
            for line in training.stdout or ():
                print(line, end="", flush=True)
                lines = [*lines, line][-ENDING:]
        except BaseException:
            training.terminate()
            training.communicate()  # it saves a checkpoint, and needs a reader of its output until then
            raise
    if training.returncode:
        raise InputError(f"the training ended with exit code {training.returncode}; its last lines:\n{''.join(lines)}")


def export(
    checkpoint: AnyPath, tokenizer: AnyPath, output: AnyPath, *, licence: str = "other", average: bool = False,
    audit: AnyPath | None = None,
) -> Path:  # fmt: skip
    """Convert a checkpoint to a Hugging Face folder, if both compute the same logits. Returns the folder.

    `average` takes the moving average of the weights, which `--store-ema` keeps, in place of the last ones. `audit` is
    audit.json of `alibert audit`, for the model card.
    """
    from alibert_fairseq.hf import export as stage

    audited = Path(audit) if audit else None
    stage.export(Path(checkpoint), Path(tokenizer), Path(output), licence, average, audited)
    return Path(output)


def audit(checkpoints: AnyPath, output: AnyPath, **options: object) -> dict[str, Any]:
    """Measure what can be extracted from a model of a training, its --save-dir. Returns the figures of audit.json.

    `options` are those of `alibert audit`, with underscores: `reference="audit-reference"`, `documents=500`. Raises
    InputError where the reference is to be trained elsewhere first.
    """
    command = [sys.executable, "-m", "alibert_fairseq.audit.command", str(checkpoints), *_words({"output": output})]
    _run([*command, *_words(options)], environment())
    figures = Path(output, "audit.json")
    if not figures.is_file():
        raise InputError(f"{figures}: not there yet; train the reference as the output says, and call this again.")
    return json.loads(figures.read_text(encoding="utf-8"))


def load(
    folder: AnyPath,
    output: AnyPath,
    *,
    generator: AnyPath | None = None,
    tokenizer: AnyPath | None = None,
    add_tokens: AnyPath | None = None,
    new_head: bool = False,
    longest_word: int | None = None,
) -> dict[str, Any]:
    """Convert a Hugging Face folder to a checkpoint, to continue its pretraining. Returns the manifest.

    `tokenizer` replaces the published one; `add_tokens` is a file of words to add to it, one per line.
    `generator` is ELECTRA's or DeBERTa's. `new_head` takes random weights for a head that the folder lacks.
    `longest_word` is the number of characters of the longest word that a WordPiece splits.
    """
    from alibert_fairseq.hf import load as stage

    given, new, words = (Path(path) if path else None for path in (generator, tokenizer, add_tokens))
    return stage.load(Path(folder), Path(output), given, new, words, new_head, longest_word)


# Using a model


def fill_mask(model: AnyPath, texts: str | Sequence[str], top_k: int = 5) -> list[list[Guess]]:
    """Predict the one `<mask>` of each text with a Hugging Face folder (ELECTRA: its generator), best pieces first."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer, FillMaskPipeline

    tokenizer = AutoTokenizer.from_pretrained(model, trust_remote_code=False, local_files_only=True)
    network = AutoModelForMaskedLM.from_pretrained(model, trust_remote_code=False, local_files_only=True)
    texts = [texts] if isinstance(texts, str) else list(texts)
    for text in texts:
        if text.count(MASK) != 1:
            raise InputError(f"{text!r}: has {text.count(MASK)} times {MASK}; each text needs exactly one.")
    pipeline: Any = FillMaskPipeline(model=network, tokenizer=tokenizer)  # type: ignore[arg-type]
    predictions = [pipeline(text.replace(MASK, tokenizer.mask_token), top_k=top_k) for text in texts]
    return [[Guess(best["token_str"], best["score"], best["sequence"]) for best in guesses] for guesses in predictions]


def finetune(
    recipe: AnyPath, model: AnyPath, output: AnyPath, *, data: AnyPath | None = None, **options: object
) -> dict[str, Any]:
    """Fine-tune a Hugging Face folder on the task of a recipe and score it. Returns the metrics.

    `options` are those of `alibert finetune`, with underscores: `protocol="quickstart"`, `seeds=3`.
    """
    from downstream import finetune as command

    command.main([str(recipe), *_words({"model": model, "output": output, "data": data} | options, repeat=True)])
    return json.loads(Path(output, "metrics.json").read_text(encoding="utf-8"))


def tag(model: AnyPath, texts: str | Sequence[str]) -> list[list[Any]]:
    """Find the entities of each text with a fine-tuned model: (start, end, label), in characters of the text.

    `alibert.Tagger` loads the model once for several calls.
    """
    from downstream.tag import Tagger

    return Tagger(Path(model))([texts] if isinstance(texts, str) else list(texts))
