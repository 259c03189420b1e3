"""`python -m alibert_fairseq.hf.load`: a published Hugging Face model becomes a checkpoint whose training continues.

    python -m alibert_fairseq.hf.load camembert-base --output camembert

The output holds checkpoint.pt and the tokenizer's files with dict.txt, whose ids are AutoTokenizer's. `options` is the
line with which fairseq-train builds the model. The output is the --tokenizer of preprocess.binarize and hf.export.
The command

    fairseq-train data-bin --finetune-from-model camembert/checkpoint.pt $(cat camembert/options) ...

starts at the published model's loss. Nothing is written unless ids and logits agree.
"""

import shutil
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import transformers
from tokenizers import Tokenizer

from alibert_common.directories import directory_written_whole, refuse_foreign
from alibert_common.errors import InputError, exit_with_sentence, readable
from alibert_common.files import write_json
from alibert_common.input_log import InputLog
from alibert_fairseq.data.dictionary import load_dictionary
from alibert_fairseq.hf.card import LOADED
from alibert_fairseq.hf.logit_check import check_same_scores, compare, probes
from alibert_fairseq.hf.options import load_parser
from alibert_fairseq.hf.published.extend_vocab import MorePieces
from alibert_fairseq.hf.published.initial_checkpoint import (
    build,
    model_options,
    training_configuration,
    write_checkpoint,
)
from alibert_fairseq.hf.published.model import SEED, Published, read_published
from alibert_fairseq.hf.published.resize_embeddings import NewRows, extended, replaced, with_rows
from alibert_fairseq.hf.published.tokenizer import PublishedTokenizer
from alibert_fairseq.hf.published.weights import weight_files
from preprocess.databin.build import TOKENIZER_FILES
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import read_layout, symbols_of, write_symbols

LONG_WORD = 100  # characters, BERT's; longer words are unknown to its WordPiece
# What transformers reads of a folder, beside the weights.
READ = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.txt", "vocab.json", "merges.txt", "*.model",
)  # fmt: skip


def load(
    folder: Path, output: Path, generator: Path | None = None, tokenizer: Path | None = None,
    add_tokens: Path | None = None, new_head: bool = False, longest_word: int | None = None,
) -> dict:  # fmt: skip
    """Write the directory `output` and return its manifest.

    tokenizer: a tokenizer directory whose vocabulary replaces the published one. add_tokens: a file of words that
    become pieces of it. new_head: take random weights for a missing head. longest_word: characters of the longest
    word that a WordPiece splits. Raises InputError for what cannot be continued faithfully; then nothing is
    written.
    """
    _refuse(output, tokenizer, add_tokens, longest_word)
    published, source = read_published(folder, generator, new_head), PublishedTokenizer(folder, longest_word)
    _check_ids(published, source)
    for generator_part in published.parts[1:]:
        source.check_same(generator_part.folder)
    manifest: dict[str, Any] = {
        "command": "hf.load",
        "folder": folder.absolute().name,
        "versions": {name: version(name) for name in ("transformers", "tokenizers")},
        "inputs": _inputs(published, tokenizer, add_tokens),
        "left_out": sorted({name for model in published.parts for name in model.left_out}),
        "longest_word": None if tokenizer else source.longest_word,
        "new": sorted({name for model in published.parts for name in model.new}),
        "seed": SEED,
        "models": {model.part.cls: _plain(model.size()) for model in published.parts},
    }
    rows: NewRows | None
    with directory_written_whole(output, LOADED, shared=True) as aside:
        if tokenizer:
            rows, compared = _replace_vocabulary(source, tokenizer, aside)
        else:
            rows, compared = _write_vocabulary(published, source, add_tokens, aside)
        if rows:
            published = published._replace(parts=[with_rows(model, rows) for model in published.parts])
        manifest |= {"rows": rows.counts if rows else {}, "texts_compared": compared}
        manifest["options"] = " ".join(model_options(published))
        manifest["largest_difference_of_logits"] = _write_model(published, aside, output)
        (aside / "options").write_text(manifest["options"] + "\n", encoding="utf-8")
        write_json(aside / LOADED.file, manifest, shared=True)
    return manifest


def _refuse(output: Path, tokenizer: Path | None, add_tokens: Path | None, longest_word: int | None) -> None:
    """Raise InputError for options that cannot be, before anything is read."""
    refuse_foreign(output, LOADED)
    place = str(output.absolute())
    if "${" in place or place != readable(place):
        raise InputError(f"--output {readable(place)!r}: fairseq cannot keep this name in a checkpoint; give another.")
    if tokenizer and add_tokens:
        raise InputError("--tokenizer and --add-tokens: give one of them; the words are for the published tokenizer.")
    if tokenizer and longest_word is not None:
        raise InputError(f"--longest-word {longest_word}: is for the published tokenizer, which --tokenizer replaces.")


def _plain(size: dict) -> dict:
    """The fields of an EncoderSize as JSON holds them; those of rotary or relative positions where it has them."""
    positions = [size[name] for name in ("rotary", "relative") if size[name]]
    plain = {name: value for name, value in size.items() if name not in ("rotary", "relative")}
    return plain | {name: value for part in positions for name, value in asdict(part).items()}


def _check_ids(published: Published, source: PublishedTokenizer) -> None:
    """The model must have a row for every id, and the same padding as its tokenizer."""
    config, last = published.parts[0].model.config, max(source.backend.get_vocab().values())
    if last >= config.vocab_size:
        raise InputError(
            f"{source.folder}: its tokenizer gives ids up to {last}, its model has {config.vocab_size} words; they are "
            "not of each other."
        )
    if config.pad_token_id != source.ids["pad"]:
        if published.parts[0].part.counts_from_padding:
            token = source.backend.id_to_token(config.pad_token_id)
            remedy = f"its positions count from config.json's, so make {token!r} the tokenizer's pad_token in a copy"
        else:
            remedy = "correct pad_token_id in a copy of config.json"
        raise InputError(
            f"{source.folder}: its config.json pads with id {config.pad_token_id}, its tokenizer with "
            f"{source.tokens['pad']}, {source.ids['pad']}; {remedy}."
        )


def _inputs(published: Published, tokenizer: Path | None, add_tokens: Path | None) -> list[dict]:
    """Path, bytes and SHA-256 of the files that were read."""
    files = [add_tokens] if add_tokens else [tokenizer / name for name in TOKENIZER_FILES] if tokenizer else []
    for model in published.parts:
        files += [file for pattern in READ for file in sorted(model.folder.glob(pattern))] + weight_files(model.folder)
    log = InputLog()
    for file in filter(Path.is_file, files):
        with log.open(file) as handle:
            while handle.read(1 << 20):
                pass
    return log.manifest()


def _write_vocabulary(
    published: Published, source: PublishedTokenizer, add_tokens: Path | None, aside: Path
) -> tuple[NewRows | None, int]:
    """Write the published vocabulary, with more pieces if any are given; then the rows of the larger one.

    And how many texts were compared.
    """
    size, written, rows = published.parts[0].model.config.vocab_size, source.backend, None
    if add_tokens:
        more = MorePieces(source.backend, source.ids["unknown"], add_tokens)
        written, rows = more.tokenizer, extended(size, more.added, source.ids["pad"])
        rows.counts["words"] = len(more.words)
    source.write(aside, written, published.parts[0].size()["max_positions"])
    write_symbols(aside / "dict.txt", symbols_of(written, len(rows.sources) if rows else size))
    load_tokenizer(aside)  # compares its ids with dict.txt
    return rows, source.check_written(aside, written, source.folder)


def _replace_vocabulary(source: PublishedTokenizer, tokenizer: Path, aside: Path) -> tuple[NewRows, int]:
    if not (tokenizer / "dict.txt").is_file():
        raise InputError(f"{tokenizer}: no dict.txt in it; give a directory of preprocess.train_tokenizer.")
    new = load_tokenizer(tokenizer)
    for name in TOKENIZER_FILES:
        if (tokenizer / name).is_file():
            shutil.copyfile(tokenizer / name, aside / name)
    rows = replaced(source.backend, source.ids, new, read_layout(tokenizer))
    spelled = Tokenizer.from_str(new.to_str())  # which knows special tokens in text
    return rows, source.check_written(aside, spelled, tokenizer)


def _write_model(published: Published, aside: Path, output: Path) -> dict[str, float]:
    """Write checkpoint.pt, if it computes what the published model does; the largest difference of logits by class."""
    length, dictionary = published.parts[0].size()["max_positions"], load_dictionary(aside)
    cfg = training_configuration(published, model_options(published), output.absolute(), length)
    model, sequences = build(published, cfg, dictionary), probes(aside, dictionary, length)
    differences = {}
    for part, _, theirs, *_ in published.parts:
        differences[part.cls] = compare(getattr(model, part.name), theirs, sequences, dictionary.pad())
        check_same_scores(part.cls, differences[part.cls])
    write_checkpoint(model, cfg, aside, origin=published.parts[0].folder.absolute().name)
    return differences


def describe(manifest: dict) -> str:
    """What was read, what became of it, and how well it agrees."""
    lines = []
    for cls, size in manifest["models"].items():
        numbers = f"{size['layers']} layers of {size['width']}, {size['max_positions']} positions"
        difference = manifest["largest_difference_of_logits"][cls]
        lines.append(("read", f"{cls}, {numbers}, {size['vocabulary']:,} words; logits within {difference:.1e}"))
    if new := manifest["new"]:
        lines.append(("new", f"{', '.join(new)}: random weights of seed {manifest['seed']}"))
    if left_out := manifest["left_out"]:
        lines.append(("left out", f"{', '.join(left_out)}: of no part of this model"))
    if (longest := manifest["longest_word"]) and longest < LONG_WORD:
        lines.append(("unknown", f"words of more than {longest} characters; --longest-word {LONG_WORD} splits them"))
    if rows := manifest["rows"]:
        lines.append(("rows", ", ".join(f"{number:,} {kind}" for kind, number in rows.items())))
    lines.append(("compared", f"{manifest['texts_compared']:,} texts, which have AutoTokenizer's ids"))
    return "\n".join(f"{name:>8}  {text}" for name, text in lines)


def main() -> None:
    """Command line."""
    transformers.logging.set_verbosity_error()  # its reports of names and sizes are said here, in one line
    transformers.utils.logging.disable_progress_bar()
    given = load_parser().parse_args()
    replaced = ", in the place of an earlier output of load" if (given.output / LOADED.file).is_file() else ""
    print(describe(load(**vars(given))))
    print(f"{'output':>8}  {given.output}{replaced}")


if __name__ == "__main__":
    exit_with_sentence(main)
