"""The gate of the export: same ids and same scores on both sides, or nothing is written."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from transformers import AutoTokenizer

from alibert_common.errors import InputError
from alibert_fairseq.models.embedding_sharing import ShiftedEmbedding
from preprocess.tokenizer.load import load_tokenizer

TOLERANCE = 1e-4  # largest difference of logits; ours and theirs add in another order, which gives 1e-6 in float32

LONGEST = 1024  # tokens of the longest probe: scores of 8,192 tokens would need 20 GB

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
SENTENCE_SCORES = {"BertForPreTraining": "seq_relationship_logits", "AlbertForPreTraining": "sop_logits"}


def check_same_ids(folder, tokenizer_directory, dictionary) -> None:
    """AutoTokenizer on the exported folder must give the ids the data-bin was made with."""
    theirs = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    for sentence, expected in zip(SENTENCES, _sentence_ids(tokenizer_directory, dictionary), strict=True):
        if (got := theirs(sentence)["input_ids"]) != expected:
            raise InputError(
                f"{tokenizer_directory}: AutoTokenizer gives {got[:8]}... where training had {expected[:8]}... for "
                f"{sentence!r}; nothing was written."
            )


def _sentence_ids(tokenizer_directory, dictionary) -> list[list[int]]:
    """The ids of SENTENCES, begin and end included."""
    tokenizer = load_tokenizer(tokenizer_directory)
    ids = [tokenizer.encode(sentence, add_special_tokens=False).ids for sentence in SENTENCES]
    return [[dictionary.bos(), *inside, dictionary.eos()] for inside in ids]


def check_same_scores(name: str, difference: float) -> None:
    """Refuse a conversion whose logits differ; NaN differs."""
    if not difference <= TOLERANCE:
        raise InputError(
            f"{name}: logits differ by up to {difference:.3g} between the checkpoint and its conversion, more than "
            f"{TOLERANCE:g}; nothing was written."
        )


def probes(tokenizer_directory, dictionary, max_positions: int) -> list[list[int]]:
    """Token ids to compare on: sentences, and the lengths 1, 2 and the longest."""
    bos, eos = dictionary.bos(), dictionary.eos()
    sentences = _sentence_ids(tokenizer_directory, dictionary)
    longest = [bos, *(piece for sentence in sentences for piece in sentence[1:-1])]
    length = min(max_positions, LONGEST)
    longest = (longest * (length // len(longest) + 1))[: length - 1] + [eos]
    return [sequence[:max_positions] for sequence in (*sentences, [bos], [bos, eos], longest)]


def compare(ours, theirs, sequences: list[list[int]], padding_id: int) -> float:
    """Largest difference of logits at real tokens, and of sentence scores, over one padded batch and each alone.

    ours: a part of a model of this plugin, in float32: its encoder and the heads of that. Where weights are large,
    float32 is too coarse to tell a mistake from rounding. Both then compute in float64, and are float32 again after it.
    """
    difference = _difference(ours, theirs, sequences, padding_id)
    if TOLERANCE < difference < float("inf"):
        with in_float64(ours, theirs):
            difference = _difference(ours, theirs, sequences, padding_id)
    return difference


@contextmanager
def in_float64(*models: nn.Module) -> Iterator[None]:
    """The same weights in float64, and in float32 again after it. A table with a difference is its sum in float32."""
    shifted = [module for model in models for module in model.modules() if isinstance(module, ShiftedEmbedding)]
    before = [module.difference.data for module in shifted]
    for module in shifted:
        base = module.base.weight.detach()
        module.difference.data = (base + module.difference.data).double() - base
    for model in models:
        model.double()
    try:
        yield
    finally:
        for model in models:
            model.float()
        for module, difference in zip(shifted, before, strict=True):
            module.difference.data = difference


@torch.no_grad()
def _difference(ours, theirs, sequences: list[list[int]], padding_id: int) -> float:
    """Where the model has two segments, the second begins in the middle of each sequence."""
    theirs, sentence = theirs.eval(), SENTENCE_SCORES.get(type(theirs).__name__)
    types = getattr(theirs.config, "type_vocab_size", 0)
    largest = 0.0
    for batch in [sequences, *([sequence] for sequence in sequences)]:
        ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in batch], True, padding_value=padding_id)
        real = torch.zeros_like(ids, dtype=torch.bool)
        segments = torch.zeros_like(ids)
        for row, sequence in enumerate(batch):
            real[row, : len(sequence)] = True
            segments[row, len(sequence) // 2 : len(sequence)] = int(types > 1)
        more = {"token_type_ids": segments} if types else {}
        output = theirs(input_ids=ids, attention_mask=real.long(), return_dict=True, **more)
        expected = [output.prediction_logits[real], output[sentence]] if sentence else [output.logits[real]]
        for got, wanted in zip(_ours(ours, ids, real, segments), expected, strict=True):
            largest = max(largest, (got.double() - wanted.double()).abs().max().nan_to_num(float("inf")).item())
    return largest


def _ours(part, ids: Tensor, real: Tensor, segments: Tensor) -> list[Tensor]:
    features = part.sentence_encoder.of_rows(ids, real, segments)
    scores = (part.lm_head if hasattr(part, "lm_head") else part.head)(features)[real]
    return [scores, part.sentence_head(features[:, 0])] if hasattr(part, "sentence_head") else [scores]
