"""The gate of the export: same ids and same scores on both sides, or nothing is written."""

import torch
from transformers import AutoTokenizer

from preprocess.files import InputError
from preprocess.tokenizer import load_tokenizer

TOLERANCE = 1e-4  # largest difference of logits in float32; ours and theirs add in another order, which gives 1e-6

SENTENCES = (
    "Le patient présente une fièvre à 38,5 °C et une toux sèche depuis trois jours.",
    "La prise de greffe a été réalisée au niveau de la face interne de la cuisse.",
    "Traitement : amoxicilline 1 g x 3/j, paracétamol 500 mg si besoin (max. 4 g/j).",
    "L’échographie abdominale retrouve une hépatomégalie ; pas d’ascite.",
    "HbA1c 7,4 %, créatinine 92 µmol/L, TA 120/80 mmHg.",
    "Aujourd'hui, l'œdème des membres inférieurs a régressé.",
    "Contre-indications : hypersensibilité connue à l'un des constituants.",
    "Conclusion : lymphome malin non hodgkinien de haut grade.",
)


def check_same_ids(folder, tokenizer_directory) -> None:
    """AutoTokenizer on the exported folder must give the ids the data-bin was made with."""
    theirs, ours = AutoTokenizer.from_pretrained(folder), load_tokenizer(tokenizer_directory)
    for sentence in SENTENCES:
        got = theirs(sentence)["input_ids"]
        expected = [0, *ours.encode(sentence, add_special_tokens=False).ids, 2]
        if got != expected:
            raise InputError(
                f"{tokenizer_directory}: AutoTokenizer gives {got[:8]}... where training had {expected[:8]}... for "
                f"{sentence!r}; nothing was written."
            )


def check_same_scores(name: str, difference: float) -> None:
    """Refuse a conversion whose logits differ; NaN differs."""
    if not difference <= TOLERANCE:
        raise InputError(
            f"{name}: logits differ by up to {difference:.3g} between the checkpoint and its conversion, more than "
            f"{TOLERANCE:g}; nothing was written."
        )


def probes(tokenizer_directory, max_positions: int) -> list[list[int]]:
    """Token ids to compare on: sentences, and the lengths 1, 2 and the longest."""
    tokenizer = load_tokenizer(tokenizer_directory)
    sentences = [[0, *tokenizer.encode(sentence, add_special_tokens=False).ids, 2] for sentence in SENTENCES]
    longest = [0, *(piece for sentence in sentences for piece in sentence[1:-1])]
    longest = (longest * (max_positions // len(longest) + 1))[: max_positions - 1] + [2]
    return [sequence[:max_positions] for sequence in sentences] + [[0], [0, 2], longest]


@torch.no_grad()
def compare(ours, theirs, tokenizer_directory, sequences=None) -> float:
    """Largest difference of logits at real tokens, over one padded batch and each sequence alone."""
    sequences = sequences or probes(tokenizer_directory, ours.max_positions())
    theirs = theirs.eval()
    part = type(theirs).__name__
    largest = 0.0
    for batch in [sequences, *([sequence] for sequence in sequences)]:
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in batch], True, padding_value=1)
        real = ids.ne(1)
        got = theirs(input_ids=ids, attention_mask=real.long()).logits[real].float()
        difference = (_scores(ours, part, ids)[real].float() - got).abs().max().item()
        largest = max(largest, difference) if difference == difference else float("nan")
        if largest != largest:
            break
    return largest


def _scores(model, part: str, ids):
    if part == "RobertaForMaskedLM":
        return model(ids)
    if part == "ElectraForMaskedLM":
        return model.generator.lm_head(model.generator.sentence_encoder(ids))
    return model.discriminator.head(model.discriminator.sentence_encoder(ids))
