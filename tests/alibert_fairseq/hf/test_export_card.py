"""The metadata of an exported model's card, as the Hugging Face hub reads it."""

import json
from types import SimpleNamespace

import pytest
from huggingface_hub import ModelCard

from alibert_fairseq.hf.card import write_card
from alibert_fairseq.models.size import EncoderSize

SIZE = EncoderSize(2, 8, 16, 2, 8, 40, 32, 1, 1e-12)
CFG = {
    "checkpoint": {"finetune_from_model": None},
    "optimizer": {"_name": "lamb"},
    "optimization": {"lr": [0.001]},
    "task": {"tokens_per_sample": 32},
    "common": {"seed": 1},
    "criterion": {"_name": "alibert_mlm"},
}


def card(tmp_path, cls, converted_from=None, model_name="alibert", part="encoder", **changed) -> ModelCard:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"mask_token": "<mask>"}))
    checkpoint = SimpleNamespace(
        model_name=model_name, cfg=CFG | changed, size=lambda _: SIZE, converted_from=converted_from, updates=7,
        best_loss=2.5, average=False,
    )  # fmt: skip
    write_card(tmp_path, checkpoint, SimpleNamespace(cls=cls, name=part), 1e-6, "cc-by-4.0")
    return ModelCard.load(tmp_path / "README.md")


MASKED = {
    "pipeline_tag": "fill-mask",
    "mask_token": "<mask>",
    "widget": [{"text": "Le patient présente une <mask> à 38,5 °C."}],
}
ALWAYS = {"license": "cc-by-4.0", "library_name": "transformers"}
FRENCH = {"language": "fr", "tags": ["biomedical", "clinical", "french"]}


@pytest.mark.parametrize(
    ("cls", "origin", "part", "expected"),
    [
        ("RobertaForMaskedLM", None, "encoder", ALWAYS | FRENCH | MASKED),
        ("ElectraForPreTraining", None, "discriminator", ALWAYS | FRENCH),  # no mask to fill
        ("DebertaV2Detector", None, "discriminator", ALWAYS | FRENCH),
        ("DebertaV2ForMaskedLM", None, "generator", ALWAYS | FRENCH | MASKED),
        # of a converted model only its maker knows the language
        ("BertForMaskedLM", "some-bert", "encoder", ALWAYS | MASKED),
    ],
)
def test_the_metadata_are_those_of_the_model(cls, origin, part, expected, tmp_path):
    made = card(tmp_path, cls, origin, part=part)
    assert made.data.to_dict() == expected
    if not origin:
        objective = "masked language modelling" if part == "encoder" else f"replaced token detection (the {part})"
        assert f"with alibert_fairseq by {objective}.\n" in made.text


def test_a_detour_is_named(tmp_path):
    made = card(tmp_path, "RobertaForMaskedLM", task=CFG["task"] | {"causal_until": 0.9})
    assert "with alibert_fairseq by masked language modelling and causal modelling.\n" in made.text


@pytest.mark.parametrize("metric", ["loss", "accuracy_pct"])
def test_only_a_loss_is_called_the_best_loss(metric, tmp_path):
    made = card(tmp_path, "RobertaForMaskedLM", checkpoint=CFG["checkpoint"] | {"best_checkpoint_metric": metric})
    assert ("best validation loss" in made.text) == (metric == "loss")


@pytest.mark.parametrize(
    ("part", "weight", "kept", "objective", "loss", "fills"),
    [
        ("encoder", 1.0, 0.5, "replaced token detection and masked language modelling", " + encoder's words", True),
        ("encoder", 1.0, 0.0, "replaced token detection and masked language modelling", " + encoder's words", False),
        ("encoder", 0.0, 0.5, "replaced token detection; the head for words was not trained", "", False),
        ("generator", 0.0, 0.5, "replaced token detection (the generator)", "", True),
    ],
)
def test_modern_detection_fills_masks_only_where_it_has_learnt_to(part, weight, kept, objective, loss, fills, tmp_path):
    criterion = {"_name": "electra", "encoder_weight": weight}
    read = card(
        tmp_path, "ModernBertForMaskedLM", None, "electra_modern", part,
        criterion=criterion, model={"kept_mask_prob": kept},
    )  # fmt: skip
    assert read.data.to_dict() == ALWAYS | FRENCH | (MASKED if fills else {})
    assert f"with alibert_fairseq by {objective}.\n" in read.text
    assert f"(bits per masked token, generator + weighted discriminator{loss}) | 2.500 |" in read.text
    assert f"model = {'AutoModelForMaskedLM' if fills else 'AutoModel'}.from_pretrained" in read.text
