"""`python -m alibert_fairseq.hf.export`: a checkpoint becomes a Hugging Face folder, if the logits agree.

AliBERT becomes a `RobertaForMaskedLM`. ELECTRA becomes an `ElectraForPreTraining` (the discriminator, which is what
one fine-tunes) with an `ElectraForMaskedLM` (the generator) in the folder `generator` inside it.
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError
from transformers import ElectraConfig, ElectraForMaskedLM, ElectraForPreTraining, RobertaConfig, RobertaForMaskedLM

from alibert_fairseq.hf import names
from alibert_fairseq.hf.card import MADE_BY, TO_COMPLETE, write_card
from alibert_fairseq.hf.checkpoint import Checkpoint, read_checkpoint, read_dictionary
from alibert_fairseq.hf.parity import check_same_ids, check_same_scores, compare
from alibert_fairseq.tasks.pretraining import different_tokenizer, digests
from preprocess.files import InputError, Marker, directory_written_whole, exit_with_sentence
from preprocess.tokenizer import load_tokenizer

MARKER = Marker("README.md", MADE_BY)
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")


def export(checkpoint_path: Path, tokenizer: Path, output: Path, licence: str = "other") -> dict[str, float]:
    """Write the folder and return the largest difference of logits by exported class.

    Nothing is written when a key has no counterpart, when logits differ by more than `parity.TOLERANCE`, or when
    `AutoTokenizer` gives other ids than the tokenizer of the data-bin.
    """
    load_tokenizer(tokenizer)  # compares its ids with dict.txt
    checkpoint = read_checkpoint(checkpoint_path, read_dictionary(tokenizer / "dict.txt"))
    if different := different_tokenizer(checkpoint.task_state, digests(str(tokenizer))):
        raise InputError(f"{tokenizer / different}: not the one of the training; give the tokenizer of its data-bin.")
    _keep_completed_card(output)
    differences = {}
    with directory_written_whole(output, MARKER) as aside:
        for folder, convert in _parts(checkpoint):
            differences[convert.__name__] = _write_part(checkpoint, convert, tokenizer, aside / folder)
            write_card(aside / folder, checkpoint, convert.__name__, differences[convert.__name__], licence)
    return differences


def _keep_completed_card(output: Path) -> None:
    """Refuse to replace a model card in which someone has filled in what only they know."""
    for card in (output / "README.md", output / "generator" / "README.md"):
        text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
        if MADE_BY in text and TO_COMPLETE not in text:
            raise InputError(f"{card}: was completed by hand and would be replaced; give another --output.")


def _parts(checkpoint: Checkpoint):
    if checkpoint.objective == "alibert":
        return [(".", RobertaForMaskedLM)]
    return [(".", ElectraForPreTraining), ("generator", ElectraForMaskedLM)]


def _write_part(checkpoint: Checkpoint, cls, tokenizer: Path, folder: Path) -> float:
    model = convert(checkpoint, cls)
    try:
        model.save_pretrained(folder)
    except SafetensorError as error:  # its writer names no system error, a full disk's neither
        reason = str(error).splitlines()[0]
        raise InputError(f"{folder}: {reason}; free some space and run the command again.") from None
    for name in TOKENIZER_FILES:  # copied, not saved by transformers: version 5 would rename the class
        shutil.copyfile(tokenizer / name, folder / name)
    _limit_length(folder / "tokenizer_config.json", checkpoint.model_cfg.max_positions)
    check_same_ids(folder, tokenizer)
    difference = compare(checkpoint.model, cls.from_pretrained(folder), tokenizer)
    check_same_scores(cls.__name__, difference)
    return difference


def _limit_length(path: Path, length: int) -> None:
    config = json.loads(path.read_text(encoding="utf-8"))
    config["model_max_length"] = length
    path.write_text(json.dumps(config, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def convert(checkpoint: Checkpoint, cls):
    """The Hugging Face model of class `cls` with the checkpoint's weights, in eval mode."""
    model = cls(_config(checkpoint, cls)).eval()
    ours = checkpoint.model.state_dict()
    if cls is RobertaForMaskedLM:
        rows = names.roberta_rows(checkpoint.model_cfg.encoder_layers)
    else:
        part = "generator" if cls is ElectraForMaskedLM else "discriminator"
        ours = {key: value for key, value in ours.items() if key.startswith(f"{part}.")}
        size = checkpoint.part_for(cls.__name__).sentence_encoder.size
        table = names.generator_rows if part == "generator" else names.discriminator_rows
        rows = table(size.layers, projected=size.width != size.embedding_dim)
    try:
        model.load_state_dict(names.to_hugging_face(rows, ours, model.state_dict()))
    except names.NamesError as error:
        raise InputError(f"the table of names does not fit {cls.__name__}: {error}; nothing was written.") from None
    return model


def _config(checkpoint: Checkpoint, cls):
    size = checkpoint.part_for(cls.__name__).sentence_encoder.size
    shared = {
        "vocab_size": size.vocabulary,
        "hidden_size": size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "intermediate_size": size.ffn_width,
        "hidden_act": "gelu",
        "hidden_dropout_prob": size.dropout,
        "attention_probs_dropout_prob": size.attention_dropout,
        "type_vocab_size": 1,
        "layer_norm_eps": size.layer_norm_eps,
        "initializer_range": 0.02,
        "pad_token_id": size.padding_id,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "tie_word_embeddings": True,
    }
    if cls is RobertaForMaskedLM:
        return RobertaConfig(max_position_embeddings=size.max_positions + names.FIRST_POSITION, **shared)
    return ElectraConfig(max_position_embeddings=size.max_positions, embedding_size=size.embedding_dim, **shared)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m alibert_fairseq.hf.export", description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True, help="one that you trained: it is a pickle")
    parser.add_argument("--tokenizer", type=Path, required=True, help="output directory of preprocess.train_tokenizer")
    parser.add_argument("--output", type=Path, required=True, help="the Hugging Face folder to write")
    parser.add_argument(
        "--licence", default="other", help="licence id for the model card; yours to choose, hence no better default"
    )
    arguments = parser.parse_args()
    torch.manual_seed(0)
    for cls, difference in export(
        arguments.checkpoint, arguments.tokenizer, arguments.output, arguments.licence
    ).items():
        print(f"{cls}: largest difference of logits {difference:.1e}")
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    exit_with_sentence(main)
