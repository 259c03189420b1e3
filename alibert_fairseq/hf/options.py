"""The options of `export` and `load`. Nothing slow is imported here, so that `--help` is quick."""

import argparse
from pathlib import Path

from alibert_common.cli import program

SUPPORTED = "RoBERTa (CamemBERT and XLM-RoBERTa too), BERT, ALBERT, ELECTRA, ModernBERT and DeBERTa-v2 (V3 too)"
EXPORT = "Convert a checkpoint of this plugin to a Hugging Face folder, if both compute the same logits."
LOAD = """Convert a Hugging Face folder to a checkpoint and its tokenizer, to continue its pretraining.

    alibert load camembert-base --output start

The output holds checkpoint.pt, tokenizer.json, dict.txt and `options`, the sizes of the model for `alibert train`."""


def export_parser() -> argparse.ArgumentParser:
    """The options of `export`."""
    parser = argparse.ArgumentParser(program("python -m alibert_fairseq.hf.export"), description=EXPORT)
    add = parser.add_argument
    add("--checkpoint", type=Path, required=True, help="a checkpoint that you trained yourself: it is a pickle")
    add("--tokenizer", type=Path, required=True, help="the tokenizer of the data-bin")
    add("--output", type=Path, required=True, help="the Hugging Face folder to write")
    add("--average", action="store_true", help="average of the weights in a run with --store-ema (default: the last)")
    add("--audit", type=Path, help="audit.json of this checkpoint, for a section of the model card (default: none)")
    add("--licence", default="other", help="licence identifier for the model card (default other)")
    return parser


def load_parser() -> argparse.ArgumentParser:
    """The options of `load`."""
    name, raw = program("python -m alibert_fairseq.hf.load"), argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(name, description=LOAD, formatter_class=raw)
    parser.add_argument("folder", type=Path, help=f"Hugging Face folder: {SUPPORTED}")
    parser.add_argument("--output", type=Path, required=True, help="the directory to write")
    parser.add_argument("--generator", type=Path, help="generator of ELECTRA or DeBERTa (default FOLDER/generator)")
    parser.add_argument(
        "--new-head", action="store_true", help="random weights for a head that the folder lacks (default: refused)"
    )
    parser.add_argument(
        "--longest-word", type=int, metavar="CHARACTERS",
        help="characters of the longest word that a WordPiece splits (default: the published tokenizer's)",
    )  # fmt: skip
    add = parser.add_mutually_exclusive_group().add_argument
    add("--tokenizer", type=Path, help="a tokenizer of this project in place of the published one (default none)")
    add("--add-tokens", type=Path, metavar="FILE", help="words to add to the published ones (default none)")
    return parser
