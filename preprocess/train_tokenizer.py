"""Train a tokenizer on documents: normalizer, pre-tokenizer, subword model and ids in one `tokenizer.json`.

    python -m preprocess.train_tokenizer mixed --output tokenizer --vocab-size 40000

The output holds tokenizer.json, tokenizer_config.json (read by AutoTokenizer), dict.txt (read by fairseq, the same ids)
and manifest.json (what it was made from, and how good it is).
"""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from tokenizers import Tokenizer

from alibert_common.cli import OptionParser, at_least, program
from alibert_common.errors import InputError, exit_with_sentence
from alibert_common.executors.base import ALONE, Engine, add_engine_options, engine_of
from alibert_common.files import read_json, write_json, write_text
from alibert_common.output_dir import resumable_directory
from alibert_common.provenance import MANIFEST, Stage, identity
from preprocess.mixing.reader import is_mix, read_corpora, with_weights
from preprocess.mixing.weights import DEFAULT_WEIGHTS, MixWeights, add_weight_options, mix_weights_of
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.normalizer import ALIBERT, MODES, PUNCTUATIONS, TextOptions
from preprocess.tokenizer.piece_text import Convention, spelled_texts, twice
from preprocess.tokenizer.quality import Pieces, count_pieces
from preprocess.tokenizer.trainers import TRAINERS, Words, train, train_plain
from preprocess.tokenizer.training_sample import Sample, draw_lines
from preprocess.tokenizer.vocabulary import MASK, SPECIALS, build_tokenizer
from preprocess.tokenizer.word_counts import WordCounts, count_sample

VERSION = 3  # of its output: see alibert_common.provenance.Stage; 2 draws other lines where not all are taken,
# 3 trains Unigram from fewer and longer parts of many words
STAGE = Stage("train_tokenizer", VERSION, ("numpy", "sacremoses", "sentencepiece", "tokenizers"))
# What AutoTokenizer reads. Only this class keeps the rules of tokenizer.json on transformers 4 and 5 alike.
TRANSFORMERS_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_max_length": 512,  # AliBERT, section 5: 512 input tokens
    "clean_up_tokenization_spaces": False,
    "model_input_names": ["input_ids", "attention_mask"],
    "bos_token": "<s>",
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": MASK,
}
SAMPLE_LINES = 1_000_000  # a quarter of them cost 0.4 % more tokens on other text: docs/reference/commands.md


def train_tokenizer(
    paths: list[Path], output: Path, *, mix_weights: MixWeights = DEFAULT_WEIGHTS, model: str = "unigram",
    vocab_size: int = 40_000, options: TextOptions = ALIBERT, sample: int = SAMPLE_LINES, seed: int = 1,
    count_duplicates: bool = False, min_patients: int = 0, engine: Engine = ALONE,
) -> dict:  # fmt: skip
    """Write the tokenizer directory `output`, unless it is there, made of the same; return its manifest.

    `engine` draws the lines and counts their words; this process trains. With `min_patients`, it trains on the words
    that so many patients have in the sample.

    Raises InputError for unreadable input, for a vocabulary the text cannot fill, and for an `output` that holds
    foreign files; then nothing is written.
    """
    _refuse_combinations(paths, mix_weights, model, options, min_patients)
    corpora = with_weights(read_corpora(paths), mix_weights)
    settings = {
        "model": model,
        "vocab_size": vocab_size,
        "text": asdict(options),
        "weights": {corpus.name: corpus.weight for corpus in corpora},
    } | ({"min_patients": min_patients} if min_patients else {})
    drawing = {"limit": sample, "seed": seed}
    key = {
        "settings": settings | {"sample": drawing, "count_duplicates": count_duplicates},
        "inputs": identity(paths),
    }
    with resumable_directory(output, STAGE, key) as work:
        if work is not None:
            drawn = draw_lines(corpora, sample, seed, engine, work.scratch / "drawn", patients=min_patients > 0)
            work.manifest = settings | {
                "inputs": drawn.inputs,
                "read": asdict(drawn.read),
                "cuts_of_long_lines": asdict(drawn.cuts),
                "sample": {"lines": drawn.size} | drawing,
            }
            counts = count_sample(drawn, options, engine, work.scratch / "jobs", min_patients)
            common = counts
            if min_patients:
                common = _of_patients(counts, min_patients, paths[0])
                work.manifest["patients"] = _described(drawn, counts, common)
            work.manifest |= _train(work.directory, drawn, common, model, vocab_size, options, count_duplicates)
            if min_patients:  # the words that were left out are to be encoded too
                pieces = count_pieces(load_tokenizer(work.directory), counts.words)
                work.manifest["quality"] = pieces.describe(counts.white_space_words)
    return read_json(output / MANIFEST)


def _refuse_combinations(
    paths: list[Path], mix_weights: MixWeights, model: str, options: TextOptions, min_patients: int
) -> None:
    """Raise InputError for options that do not go together."""
    if model == "wordpiece" and options.punctuation == "after":
        raise InputError("--punctuation after says which marks start a word, which wordpiece cannot; leave it out.")
    if mix_weights != DEFAULT_WEIGHTS and not is_mix(paths):
        raise InputError(
            f"{paths[0]}: not a directory of preprocess.mix, so there are no corpora to weigh; mix them first, or "
            "leave the weights out."
        )
    if min_patients and options.punctuation == "after":
        raise InputError(
            "--min-patients: with --punctuation after, the subwords do not show where a word ends; leave one out."
        )


def _of_patients(counts: WordCounts, least: int, place: Path) -> WordCounts:
    """The words that so many patients have. Raises InputError where there is none."""
    words = counts.of_patients(least)
    if not words:
        raise InputError(f"{place}: no word is common to {least} patients; lower --min-patients, or give more text.")
    return counts._replace(words=words)


def _described(drawn: Sample, counts: WordCounts, common: WordCounts) -> dict:
    """What --min-patients left out: words, and the characters that no vocabulary would have lost without it."""
    before, after = (set(Words(words.words).alphabet) for words in (counts, common))
    return {
        "documents_as_patients": drawn.patients.unknown,
        "words": len(counts.words),
        "common_words": len(common.words),
        "lost_characters": len(before - after),
        "lost": "".join(sorted(before - after)),
    }


def _train(
    directory: Path, drawn: Sample, counts: WordCounts, model: str, size: int, options: TextOptions,
    count_duplicates: bool,
) -> dict:  # fmt: skip
    """Train, write all files but the manifest, and return what it says of how good the tokenizer is."""
    print(f"training {model} on the {len(counts.words):,} words of {drawn.size:,} lines", file=sys.stderr)
    words = Words(counts.words, marks_start_words=options.punctuation == "both")
    subwords = train(model, words, size)
    duplicates = {}
    if count_duplicates and model != "wordpiece":
        duplicates = {"duplicates": _count_duplicates(model, subwords.pieces, drawn, options.cased)}
    pieces = _write_tokenizer(directory, build_tokenizer(options, subwords), words)
    return duplicates | {"quality": pieces.describe(counts.white_space_words)}


def _write_tokenizer(directory: Path, tokenizer: Tokenizer, words: Words) -> Pieces:
    """Write all but the manifest, and read it back, which checks it; the counts of the pieces, as in dict.txt."""
    write_text(directory / "tokenizer.json", tokenizer.to_str(pretty=True))
    pieces = count_pieces(load_tokenizer(directory), words.counts)
    ids = range(len(SPECIALS), tokenizer.get_vocab_size() - 1)
    dictionary = [f"{tokenizer.id_to_token(number)} {pieces.counts[number]}\n" for number in ids]
    write_text(directory / "dict.txt", "".join(dictionary))
    load_tokenizer(directory)
    write_json(directory / "tokenizer_config.json", TRANSFORMERS_CONFIG)
    return pieces


def _count_duplicates(model: str, pieces: list[str], drawn: Sample, cased: bool) -> dict:
    """AliBERT's argument for its rules (section 3.3): words in the vocabulary twice, against the same text without."""
    print("training a tokenizer without text rules to count its duplicates", file=sys.stderr)
    ours = {"in_vocabulary": twice(spelled_texts(pieces, Convention()), "boundary")}
    try:
        plain = train_plain(model, drawn.lines(), len(pieces), cased)
    except RuntimeError:
        print("none can be trained, as the text has more characters than pieces: not counted", file=sys.stderr)
        return ours
    theirs = twice(spelled_texts(plain, Convention()), "boundary")
    return ours | {"in_vocabulary_without_rules": theirs, "pieces_without_rules": len(plain)}


def command_line() -> OptionParser:
    """The options of the command."""
    parser = OptionParser(program("python -m preprocess.train_tokenizer"), description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("text", nargs="+", type=Path, help="output of mix, whose training documents are read, or files")
    add("--output", required=True, type=Path, help="folder to write")
    add("--model", choices=TRAINERS, default="unigram", help="subword model (default: unigram, as AliBERT)")
    size = "number of subwords, special tokens not counted (default: 40000, as AliBERT)"
    add("--vocab-size", type=int, default=40_000, help=size)
    add("--mode", choices=MODES, default=ALIBERT.mode, help="text rules (default: paper, AliBERT's section 3.3)")
    both_or_after = "spaces around punctuation (default: both sides, AliBERT's section 3.3; after: its Figure 1)"
    add("--punctuation", choices=PUNCTUATIONS, default=ALIBERT.punctuation, help=both_or_after)
    add("--cased", action="store_true", help="keep capitals (default: lower case)")
    lines = f"largest number of lines, drawn at random, to train on (default: {SAMPLE_LINES:,})"
    add("--sample-lines", type=at_least(1), default=SAMPLE_LINES, help=lines)
    add("--seed", type=at_least(0), default=1, help="random seed of the lines (default: 1)")
    add_weight_options(parser, default="those of the mix")
    twice = "count of words that are in the vocabulary twice, a second training (default: no)"
    add("--duplicates", action=argparse.BooleanOptionalAction, default=False, help=twice)
    patients = "number of patients who must have a word to train on it (default: no count)"
    add("--min-patients", type=at_least(2), default=0, metavar="K", help=patients)
    add_engine_options(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    options = TextOptions(arguments.mode, arguments.punctuation, arguments.cased)
    manifest = train_tokenizer(
        arguments.text, arguments.output, model=arguments.model, vocab_size=arguments.vocab_size, options=options,
        mix_weights=mix_weights_of(arguments), sample=arguments.sample_lines, seed=arguments.seed,
        count_duplicates=arguments.duplicates, min_patients=arguments.min_patients, engine=engine_of(arguments),
    )  # fmt: skip
    for part in ("read", "patients", "quality", "duplicates"):
        if part in manifest:
            values = {name: value for name, value in manifest[part].items() if not isinstance(value, str)}
            print(f"{part:>10}  " + ", ".join(f"{value:,} {name}" for name, value in values.items()))
    print(f"{'output':>10}  {arguments.output}")


if __name__ == "__main__":
    exit_with_sentence(lambda: run(command_line().parse_args()))
