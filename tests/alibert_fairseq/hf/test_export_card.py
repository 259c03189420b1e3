"""The metadata of an exported model's card, as the Hugging Face hub reads it."""

import json
from types import SimpleNamespace

import pytest
from huggingface_hub import ModelCard

from alibert_fairseq.hf.card import write_card
from alibert_fairseq.models.encoder import EncoderSize

SIZE = EncoderSize(2, 8, 16, 2, 8, 40, 32, 1, 1e-12)
CFG = {
    "checkpoint": {"finetune_from_model": None},
    "optimizer": {"_name": "lamb"},
    "optimization": {"lr": [0.001]},
    "task": {"tokens_per_sample": 32},
    "common": {"seed": 1},
    "criterion": {"_name": "alibert_mlm"},
}


def metadata(tmp_path, cls, converted_from=None):
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"mask_token": "<mask>"}))
    checkpoint = SimpleNamespace(
        model_name="alibert", cfg=CFG, size=lambda _: SIZE, converted_from=converted_from, updates=7, best_loss=2.5,
        average=False,
    )  # fmt: skip
    write_card(tmp_path, checkpoint, SimpleNamespace(cls=cls), 1e-6, "cc-by-4.0")
    return ModelCard.load(tmp_path / "README.md").data.to_dict()


MASKED = {
    "pipeline_tag": "fill-mask",
    "mask_token": "<mask>",
    "widget": [{"text": "Le patient présente une <mask> à 38,5 °C."}],
}
ALWAYS = {"license": "cc-by-4.0", "library_name": "transformers"}
FRENCH = {"language": "fr", "tags": ["biomedical", "clinical", "french"]}


@pytest.mark.parametrize(
    ("cls", "origin", "expected"),
    [
        ("RobertaForMaskedLM", None, ALWAYS | FRENCH | MASKED),
        ("ElectraForPreTraining", None, ALWAYS | FRENCH),  # no mask to fill
        ("BertForMaskedLM", "some-bert", ALWAYS | MASKED),  # of a converted model only its maker knows the language
    ],
)
def test_the_metadata_are_those_of_the_model(cls, origin, expected, tmp_path):
    assert metadata(tmp_path, cls, origin) == expected
