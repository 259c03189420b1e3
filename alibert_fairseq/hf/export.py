"""`python -m alibert_fairseq.hf.export`: a checkpoint becomes a Hugging Face folder, if the logits agree.

AliBERT becomes a `RobertaForMaskedLM`, with a modern body a `ModernBertForMaskedLM`. BERT with segments becomes a
`BertForPreTraining`, ALBERT an `AlbertForPreTraining` (`...ForMaskedLM` without a sentence head). ELECTRA becomes an
`ElectraForPreTraining` (the discriminator, which is what one fine-tunes) with an `ElectraForMaskedLM` (the generator)
in the folder `generator` inside it. Its modern form becomes a `ModernBertForMaskedLM` with another one in that folder.
A DeBERTa body becomes a `DebertaV2ForMaskedLM`, with replaced token detection a `DebertaV2Model` with Microsoft's head.
"""

import shutil
from pathlib import Path

from safetensors import SafetensorError
from tokenizers import Tokenizer, processors

from alibert_common.directories import Marker, directory_written_whole
from alibert_common.errors import InputError, exit_with_sentence, reason
from alibert_common.files import read_json, sha256_of, write_json
from alibert_fairseq.data.dictionary import load_dictionary
from alibert_fairseq.hf.card import MADE_BY, TO_COMPLETE, write_card
from alibert_fairseq.hf.checkpoint import Checkpoint, read_checkpoint
from alibert_fairseq.hf.families.part import Part
from alibert_fairseq.hf.families.rows import to_hugging_face
from alibert_fairseq.hf.logit_check import check_same_ids, check_same_scores, compare, probes
from alibert_fairseq.hf.options import export_parser
from alibert_fairseq.tasks.tokenizer_identity import different_tokenizer, digests
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import read_layout

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
MARKER = Marker("README.md", MADE_BY, sometimes=("generator/*",))


def export(
    checkpoint_path: Path, tokenizer: Path, output: Path, licence: str = "other", average: bool = False,
    audit: Path | None = None,
) -> dict[str, float]:  # fmt: skip
    """Write the folder and return the largest difference of logits by exported class.

    average: the moving average of the weights that --store-ema kept, in place of the last ones.
    audit: audit.json of `alibert audit`, for the model card.
    Raises InputError, and writes nothing, when a key has no counterpart or logits differ by more than
    `logit_check.TOLERANCE`. It does so too when `AutoTokenizer` gives other ids than the tokenizer of the data-bin.
    """
    if audit and average:
        raise InputError("--audit: the audit tested the last weights, not their --average; leave one of them out.")
    load_tokenizer(tokenizer)  # compares its ids with dict.txt
    checkpoint = read_checkpoint(checkpoint_path, load_dictionary(tokenizer), average)
    if different := different_tokenizer(checkpoint.task_state, digests(str(tokenizer))):
        raise InputError(f"{tokenizer / different}: not the one of the training; give the tokenizer of its data-bin.")
    audited = _read_audit(audit, checkpoint_path) if audit else None
    _keep_completed_card(output)
    differences = {}
    with directory_written_whole(output, MARKER, shared=True) as aside:
        for part in checkpoint.parts():
            difference = _write_part(checkpoint, part, tokenizer, aside / part.folder)
            write_card(aside / part.folder, checkpoint, part, difference, licence, audited)
            differences[part.cls if part.cls not in differences else f"{part.cls} ({part.folder})"] = difference
    return differences


def _read_audit(file: Path, checkpoint: Path) -> dict:
    """What an audit has found. Raises InputError for one of another checkpoint."""
    figures = read_json(file)
    if figures.get("model", {}).get("sha256") != sha256_of(checkpoint):
        raise InputError(f"{file}: is no audit of {checkpoint}; give that of this checkpoint, or leave --audit out.")
    return figures


def _keep_completed_card(output: Path) -> None:
    """Refuse to replace a model card in which someone has filled in what only they know."""
    for card in (output / "README.md", output / "generator" / "README.md"):
        text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
        if MADE_BY in text and TO_COMPLETE not in text:
            raise InputError(f"{card}: was completed by hand and would be replaced; give another --output.")


def _write_part(checkpoint: Checkpoint, part: Part, tokenizer: Path, folder: Path) -> float:
    model = convert(checkpoint, part)
    try:
        model.save_pretrained(folder)
    except SafetensorError as error:  # its writer names no system error, a full disk's neither
        raise InputError(f"{folder}: {reason(error)}; free some space and run the command again.") from None
    size, dictionary = checkpoint.size(part), checkpoint.dictionary
    write_tokenizer(tokenizer, folder, length=size.max_positions, segments=size.segments)
    check_same_ids(folder, tokenizer, dictionary)
    sequences = probes(tokenizer, dictionary, size.max_positions)
    written = part.hugging_face_class.from_pretrained(folder, trust_remote_code=False)
    difference = compare(getattr(checkpoint.model, part.name), written, sequences, dictionary.pad())
    check_same_scores(part.cls, difference)
    return difference


def write_tokenizer(tokenizer: Path, folder: Path, length: int, segments: int) -> None:
    """Copy the tokenizer's files, with the length that the model reads, and the segments of a pair if it has any.

    Copied, not saved by transformers: its version 5 would rename the class. A published model's tokenizer keeps its own
    way with pairs.
    """
    for name in (TOKENIZER, TOKENIZER_CONFIG):
        shutil.copyfile(tokenizer / name, folder / name)
    config = read_json(folder / TOKENIZER_CONFIG)
    config["model_max_length"] = length
    if segments > 1 and not read_layout(tokenizer).published:
        config["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
        _give_pairs_segments(folder / TOKENIZER, config["bos_token"], config["eos_token"])
    write_json(folder / TOKENIZER_CONFIG, config, shared=True)


def _give_pairs_segments(file: Path, begin: str, end: str) -> None:
    """A pair as BERT was trained on it: `<s> A </s> B </s>`, B and its end in segment 1. RoBERTa's has two `</s>`."""
    tokenizer = Tokenizer.from_file(str(file))
    if 1 in tokenizer.encode("a", "b").type_ids:  # so it does already
        return
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} $B:1 {end}:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in (begin, end)],
    )
    tokenizer.save(str(file))


def convert(checkpoint: Checkpoint, part: Part):
    """The Hugging Face model of a part, with the checkpoint's weights, in eval mode."""
    weights = checkpoint.model.weights()
    ours = {key: value.float() for key, value in weights.items() if key.startswith(f"{part.name}.")}
    try:
        model = part.hugging_face_class(part.config(checkpoint.size(part), checkpoint.dictionary)).eval()
        rows = part.rows(part.parameters(checkpoint.model))
        model.load_state_dict(to_hugging_face(rows, ours, model.state_dict()))
    except ValueError as error:  # NamesError is one
        raise InputError(f"{checkpoint.path}: cannot be a {part.cls}: {error}; nothing was written.") from None
    return model


def main() -> None:
    """Command line."""
    arguments = export_parser().parse_args()
    differences = export(
        arguments.checkpoint, arguments.tokenizer, arguments.output, arguments.licence, arguments.average,
        arguments.audit,
    )  # fmt: skip
    for cls, difference in differences.items():
        print(f"{cls}: largest difference of logits {difference:.1e}")
    print(f"wrote {arguments.output}")


if __name__ == "__main__":
    exit_with_sentence(main)
