"""Checkpoint to Hugging Face: the same scores, or nothing at all."""

import os
import pickle
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import forked
import pytest
import torch
from commands import run
from fairseq import checkpoint_utils
from long_cases import long_except
from omegaconf import OmegaConf
from safetensors import SafetensorError
from test_pretraining import ENVIRONMENT, OBJECTIVES, command
from transformers import AutoModelForMaskedLM, AutoTokenizer, ElectraForPreTraining, pipeline

from alibert_common.errors import InputError
from alibert_fairseq.data.dictionary import load_dictionary
from alibert_fairseq.hf import export as export_module
from alibert_fairseq.hf import logit_check
from alibert_fairseq.hf.checkpoint import read_checkpoint
from alibert_fairseq.hf.families import names
from alibert_fairseq.hf.families.rows import Row
from alibert_fairseq.hf.logit_check import TOLERANCE, compare
from alibert_fairseq.models.albert import AlbertModel
from alibert_fairseq.models.bert import AliBertModel
from alibert_fairseq.models.electra import ElectraModel
from alibert_fairseq.models.electra_modern import ElectraModernModel
from preprocess.tokenizer.load import load_tokenizer

SOME = ["sop", "electra", "modern"]
TEXT = ["--tokenizer", "alibert_normalizer", "--bpe", "alibert_subwords"]


@pytest.fixture(scope="module")
def checkpoints(data_bin, repository, tmp_path_factory) -> dict[str, Path]:
    """A checkpoint of five updates for each objective, ELECTRA's with an embedding projection."""
    place = tmp_path_factory.mktemp("checkpoints")
    made = {}
    for objective in OBJECTIVES:
        narrow = ["--embedding-dim", "32"] if objective == "electra" else []
        more = ["--max-update", "5", *TEXT, *narrow]
        if objective == "modern":  # of three layers, two see 16 tokens
            more += ["--arch", "alibert_modern_tiny", "--encoder-layers", "3", "--local-attention", "16"]
            more += ["--store-ema", "--ema-decay", "0.5"]
        kind = "mlm" if objective == "modern" else objective
        short = command(kind, data_bin, place / objective, repository, *more)
        forked.run(*short, cwd=place, env=ENVIRONMENT)
        made[objective] = place / objective / "checkpoint_last.pt"
    return made


@pytest.fixture(scope="module")
def models(checkpoints, tokenizer_directory, tmp_path_factory) -> dict[str, Path]:
    """The exported folders, ELECTRA's by the command line."""
    place = tmp_path_factory.mktemp("models")
    for objective, checkpoint in checkpoints.items():
        if objective != "electra":
            export_module.export(checkpoint, tokenizer_directory, place / objective)
            continue
        run(
            sys.executable, "-m", "alibert_fairseq.hf.export", "--checkpoint", checkpoint,
            "--tokenizer", tokenizer_directory, "--output", place / objective, cwd=place, env=ENVIRONMENT,
        )  # fmt: skip
    return {objective: place / objective for objective in checkpoints}


def real_sequences(repository: Path, tokenizer_directory: Path, count: int = 50) -> list[list[int]]:
    """`count` lines of the sample, and the lengths 1 and 512 (the longest of these models)."""
    tokenizer = load_tokenizer(tokenizer_directory)
    files = sorted((repository / "recipes" / "sample" / "brat").rglob("*.txt"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    ids = [tokenizer.encode(line, add_special_tokens=False).ids for line in lines]
    longest = [piece for line in ids for piece in line][:510]
    return [[0, *line[:510], 2] for line in ids[::7][:count]] + [[0], [0, *longest, 2]]


@pytest.mark.parametrize(
    ("objective", "folder", "cls"),
    [
        ("mlm", ".", "RobertaForMaskedLM"),
        ("modern", ".", "ModernBertForMaskedLM"),
        ("nsp", ".", "BertForPreTraining"),
        ("sop", ".", "AlbertForPreTraining"),
        ("electra", ".", "ElectraForPreTraining"),
        ("electra", "generator", "ElectraForMaskedLM"),
        ("electra_modern", ".", "ModernBertForMaskedLM"),
        ("electra_modern", "generator", "ModernBertForMaskedLM"),
    ],
)
def test_fifty_real_sequences_have_the_same_logits(
    objective, folder, cls, models, checkpoints, tokenizer_directory, repository
):
    import transformers

    checkpoint = read_checkpoint(checkpoints[objective], load_dictionary(tokenizer_directory))
    theirs = getattr(transformers, cls).from_pretrained(models[objective] / folder)
    sequences = real_sequences(repository, tokenizer_directory)
    assert len(sequences) == 52 and {len(s) for s in sequences} >= {1, 512}
    part = checkpoint.parts()[folder == "generator"]
    ours = getattr(checkpoint.model, part.name)
    assert part.cls == cls and compare(ours, theirs, sequences, padding_id=1) <= TOLERANCE
    with torch.no_grad():
        list(theirs.parameters())[-1].add_(0.01)  # the last bias: no LayerNorm behind it undoes the change
    assert compare(ours, theirs, sequences[:3], padding_id=1) > TOLERANCE


def test_what_float32_cannot_tell_is_compared_in_float64(
    models, checkpoints, tokenizer_directory, repository, monkeypatch
):
    checkpoint = read_checkpoint(checkpoints["modern"], load_dictionary(tokenizer_directory))
    theirs = AutoModelForMaskedLM.from_pretrained(models["modern"])
    ours, sequences = checkpoint.model.encoder, real_sequences(repository, tokenizer_directory, count=9)
    before = {name: weight.clone() for name, weight in ours.state_dict().items()}
    types, difference = [], logit_check._difference

    def noted(mine, *others):
        types.append({weight.dtype for model in (mine, others[0]) for weight in model.state_dict().values()})
        return difference(mine, *others)

    monkeypatch.setattr(logit_check, "_difference", noted)
    monkeypatch.setattr(logit_check, "TOLERANCE", -1)  # as if the weights were large
    assert compare(ours, theirs, sequences, padding_id=1) < 1e-6
    noted(ours, theirs, sequences, 1)
    assert types == [{torch.float32}, {torch.float64}, {torch.float32}]
    assert all(torch.equal(ours.state_dict()[name], weight) for name, weight in before.items())


def test_the_average_of_the_weights_is_exported_where_the_run_kept_one(checkpoints, tokenizer_directory, tmp_path):
    export_module.export(checkpoints["modern"], tokenizer_directory, tmp_path / "model", average=True)
    state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoints["modern"]))
    written = AutoModelForMaskedLM.from_pretrained(tmp_path / "model").model.final_norm.weight
    name = "encoder.sentence_encoder.layer_norm.weight"
    assert torch.equal(written, state["extra_state"]["ema"][name]) and not torch.equal(written, state["model"][name])
    assert "| weights | moving average over the updates, decay 0.5 |" in (tmp_path / "model" / "README.md").read_text()
    with pytest.raises(InputError, match="holds no average of the weights; train with --store-ema"):
        export_module.export(checkpoints["mlm"], tokenizer_directory, tmp_path / "none", average=True)
    assert not (tmp_path / "none").exists()


def test_of_an_average_in_two_precisions_that_in_float32_is_exported(checkpoints, tokenizer_directory, tmp_path):
    """As a run in half precision with --ema-fp32 keeps it."""
    state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoints["modern"]))
    state["cfg"] = OmegaConf.to_container(state["cfg"], resolve=True, enum_to_str=True)  # as fairseq saves it
    average = state["extra_state"]["ema"]
    rounded = {name: value.bfloat16() for name, value in average.items()}
    state["extra_state"] |= {"ema": rounded, "ema_fp32_params": average}
    torch.save(state, tmp_path / "half.pt")
    found = read_checkpoint(tmp_path / "half.pt", load_dictionary(tokenizer_directory), average=True).model.state_dict()
    assert found.keys() == average.keys() and all(torch.equal(found[name], value) for name, value in average.items())


def test_a_corrupted_name_table_is_refused_and_nothing_is_written(
    checkpoints, tokenizer_directory, tmp_path, monkeypatch
):
    swapped = tuple(
        (
            mine,
            {"attention.self.query": "attention.self.key", "attention.self.key": "attention.self.query"}.get(
                other, other
            ),
            of_albert,
        )
        for mine, other, of_albert in names._LAYER
    )
    monkeypatch.setattr(names, "_LAYER", swapped)
    with pytest.raises(InputError, match="RobertaForMaskedLM: logits differ by up to .* more than 0.0001"):
        export_module.export(checkpoints["mlm"], tokenizer_directory, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_exchanged_queries_and_keys_of_a_modern_body_are_refused(
    checkpoints, tokenizer_directory, tmp_path, monkeypatch
):
    share = Row.share

    def exchanged(row, theirs):
        number, of = row.joined
        return share(replace(row, joined=((1, 0, 2)[number], 3)) if of == 3 else row, theirs)

    monkeypatch.setattr(Row, "share", exchanged)
    with pytest.raises(InputError, match="ModernBertForMaskedLM: logits differ by up to .* more than 0.0001"):
        export_module.export(checkpoints["modern"], tokenizer_directory, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("head", ["SequenceClassification", "TokenClassification", "QuestionAnswering"])
def test_heads_of_transformers_load_on_a_modern_body(head, models):
    """Only the head's last layer begins with random weights; the masked language model's decoder is not used."""
    import transformers

    model, notes = getattr(transformers, f"AutoModelFor{head}").from_pretrained(
        models["modern"], output_loading_info=True
    )
    assert set(notes["missing_keys"]) == {"classifier.weight", "classifier.bias"}
    assert set(notes["unexpected_keys"]) <= {"decoder.weight", "decoder.bias"}
    tokenizer = AutoTokenizer.from_pretrained(models["modern"])
    assert torch.isfinite(model(**tokenizer("le foie", return_tensors="pt"))[0]).all()


def test_a_row_too_few_is_refused(checkpoints, tokenizer_directory, tmp_path, monkeypatch):
    monkeypatch.setattr(names, "_LAYER", names._LAYER[:-1])
    with pytest.raises(InputError, match="no row for .*final_layer_norm"):
        export_module.export(checkpoints["mlm"], tokenizer_directory, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_what_users_expect(models):
    generators = [models[name] / "generator" for name in ("electra", "electra_modern")]
    for folder in (*models.values(), *generators):
        found = {path.name for path in folder.iterdir() if path.is_file()}
        assert found == {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md"}
        assert AutoTokenizer.from_pretrained(folder).model_max_length == 512
    assert isinstance(ElectraForPreTraining.from_pretrained(models["electra"]), torch.nn.Module)


@pytest.mark.parametrize("place, wrong", [(0, "/no/such"), (0, "./such"), (2, "/no/such"), (2, "./such")])
def test_the_hub_interface_names_a_path_that_is_not_there(checkpoints, data_bin, place, wrong):
    path = checkpoints["mlm"]
    arguments = [path.parent, path.name, str(data_bin)]
    arguments[place] = wrong
    with pytest.raises(FileNotFoundError, match="such: no such file or directory; give the path of"):
        AliBertModel.from_pretrained(*arguments)


HUB_MODELS = {"mlm": AliBertModel, "electra": ElectraModel, "sop": AlbertModel, "electra_modern": ElectraModernModel}


def test_hub_and_hugging_face_agree_on_a_sentence(models, checkpoints, data_bin):
    sentence = "Le patient présente une <mask> à 38,5 °C et des œdèmes ; pas d'ascite."
    for objective, model_class in HUB_MODELS.items():
        path = checkpoints[objective]
        hub = model_class.from_pretrained(str(path.parent), path.name, str(data_bin))
        folder = models[objective] if objective != "electra" else models[objective] / "generator"
        tokenizer = AutoTokenizer.from_pretrained(folder)
        plain = sentence.replace("<mask>", "fièvre")
        assert hub.encode(plain).tolist() == tokenizer(plain)["input_ids"]
        fill = pipeline("fill-mask", model=AutoModelForMaskedLM.from_pretrained(folder), tokenizer=tokenizer)
        ours, theirs = hub.fill_mask(sentence, topk=3), fill(sentence, top_k=3)
        assert [guess.score for guess in ours] == pytest.approx([guess["score"] for guess in theirs], abs=1e-5)
        assert ours[0].token == tokenizer.convert_ids_to_tokens(theirs[0]["token"])
        assert "patient présente une" in ours[0].text
        features = hub.extract_features(hub.encode(plain))
        assert features.shape == (1, len(hub.encode(plain)), 64)
        with pytest.raises(ValueError, match="the model reads at most"):
            hub.fill_mask("fièvre " * hub.model.max_positions() + "<mask>")


def test_the_tokenizer_gives_a_pair_the_segments_of_the_training(models):
    for objective, segments in (("mlm", {0}), ("electra", {0}), ("nsp", {0, 1}), ("sop", {0, 1})):
        tokenizer = AutoTokenizer.from_pretrained(models[objective])
        pair = tokenizer("Une toux.", "Pas de fièvre.", return_token_type_ids=True)
        ends = [place for place, token in enumerate(pair["input_ids"]) if token == 2]
        assert pair["input_ids"][0] == 0 and set(pair["token_type_ids"]) == segments
        if 1 in segments:  # <s> A </s> B </s>, as `data/segment_pairs.py` makes them
            assert len(ends) == 2 and pair["token_type_ids"] == [0] * (ends[0] + 1) + [1] * (ends[1] - ends[0])
            assert "token_type_ids" in tokenizer("Une toux.", "Pas de fièvre.")
        else:  # RoBERTa's </s></s>
            assert len(ends) == 3


def test_the_class_of_another_objective_is_refused(checkpoints, data_bin):
    for objective, wrong, right in (("mlm", ElectraModel, "AliBertModel"), ("electra", AliBertModel, "ElectraModel")):
        path = checkpoints[objective]
        with pytest.raises(ValueError, match=f"of {right}; use that class's from_pretrained"):
            wrong.from_pretrained(str(path.parent), path.name, str(data_bin))


def refused(*arguments) -> str:
    """The one sentence of a command that must fail."""
    status, said = forked.finish([sys.executable, "-m", *arguments], cwd=Path.cwd(), env=ENVIRONMENT)
    assert status != 0 and "Traceback" not in said, said
    sentence = said.strip().splitlines()[-1]
    assert sentence.startswith("error: ")
    return sentence


def test_bad_checkpoints_are_refused_in_one_sentence(checkpoints, tokenizer_directory, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    def export(path):
        with pytest.raises(InputError) as error:
            export_module.export(path, tokenizer_directory, tmp_path / "model")
        return str(error.value)

    foreign, truncated, other = (tmp_path / f"{name}.pt" for name in ("foreign", "truncated", "other"))
    torch.save({"model": Evil(), "cfg": {"model": {"_name": "alibert"}}}, foreign)
    assert "not a checkpoint" in export(foreign)
    foreign.write_bytes(pickle.dumps(Evil()))
    assert "not a checkpoint" in export(foreign)
    assert not (tmp_path / "executed").exists()
    truncated.write_bytes(checkpoints["mlm"].read_bytes()[:-5000])
    assert "not a checkpoint" in export(truncated)
    state = checkpoint_utils.load_checkpoint_to_cpu(str(checkpoints["mlm"]))
    state["cfg"] = OmegaConf.to_container(state["cfg"], resolve=True, enum_to_str=True)  # as fairseq saves it
    state["cfg"]["model"]["_name"] = "roberta"
    torch.save(state, other)
    assert "the model 'roberta'" in export(other)
    assert "no such checkpoint" in refused(
        "alibert_fairseq.hf.export", "--checkpoint", tmp_path / "none.pt", "--tokenizer", tokenizer_directory,
        "--output", tmp_path / "model",
    )  # fmt: skip
    assert not (tmp_path / "model").exists()


def test_a_model_trained_under_bf16_autocast_is_exported_in_float32(
    data_bin, repository, tokenizer_directory, tmp_path
):
    short = command("mlm", data_bin, tmp_path / "save", repository, "--max-update", "2", "--bf16-autocast", *TEXT)
    forked.run(*short, cwd=tmp_path, env=ENVIRONMENT)
    path = tmp_path / "save" / "checkpoint_last.pt"
    differences = export_module.export(path, tokenizer_directory, tmp_path / "model")
    assert differences["RobertaForMaskedLM"] <= TOLERANCE


def test_a_folder_of_another_maker_is_never_replaced(checkpoints, models, tokenizer_directory, tmp_path):
    shutil.copytree(models["mlm"], tmp_path / "camembert")
    (tmp_path / "camembert" / "README.md").write_text("# CamemBERT")
    with pytest.raises(InputError, match="holds other files"):
        export_module.export(checkpoints["mlm"], tokenizer_directory, tmp_path / "camembert")
    assert (tmp_path / "camembert" / "README.md").read_text() == "# CamemBERT"


def test_a_completed_model_card_is_never_replaced(checkpoints, models, tokenizer_directory, tmp_path):
    card = shutil.copytree(models["mlm"], tmp_path / "model") / "README.md"
    export_module.export(checkpoints["mlm"], tokenizer_directory, tmp_path / "model")  # untouched: replaced
    completed = card.read_text(encoding="utf-8").replace("To be completed by whoever publishes this folder", "Letters")
    card.write_text(completed, encoding="utf-8")
    with pytest.raises(InputError, match="README.md: was completed by hand"):
        export_module.export(checkpoints["mlm"], tokenizer_directory, tmp_path / "model")
    assert card.read_text(encoding="utf-8") == completed


def test_a_full_disk_is_one_sentence(checkpoints, tokenizer_directory, tmp_path, monkeypatch):
    def full(*_, **__):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("transformers.PreTrainedModel.save_pretrained", full)
    with pytest.raises(InputError, match="No space left on device .*; free some space"):
        export_module.export(checkpoints["mlm"], tokenizer_directory, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_another_tokenizer_of_the_same_size_is_refused(checkpoints, tokenizer_directory, tmp_path):
    other = shutil.copytree(tokenizer_directory, tmp_path / "tokenizer")
    text = (other / "tokenizer.json").read_text(encoding="utf-8")
    (other / "tokenizer.json").write_text(text + "\n", encoding="utf-8")  # the same ids, but other bytes
    with pytest.raises(InputError, match="tokenizer.json: not the one of the training"):
        export_module.export(checkpoints["mlm"], other, tmp_path / "model")


def test_another_tokenizer_is_refused(checkpoints, tokenizer_directory, tmp_path):
    other = tmp_path / "tokenizer"
    run(
        sys.executable, "-m", "preprocess.train_tokenizer", tokenizer_directory.parent / "mixed",
        "--output", other, "--vocab-size", "500", cwd=tmp_path,
    )  # fmt: skip
    sentence = refused(
        "alibert_fairseq.hf.export",
        "--checkpoint",
        checkpoints["mlm"],
        "--tokenizer",
        other,
        "--output",
        tmp_path / "m",
    )
    assert "word embeddings" in sentence


@pytest.mark.skipif(
    not os.environ.get("ALIBERT_TRANSFORMERS_4"), reason="no folder with transformers 4 (recipes/test.sh)"
)
@pytest.mark.parametrize("objectives", long_except([SOME, list(OBJECTIVES)], SOME), ids=["some", "all"])
def test_export_works_with_the_other_major_of_transformers(objectives, checkpoints, tokenizer_directory, tmp_path):
    environment = ENVIRONMENT | {"PYTHONPATH": os.environ["ALIBERT_TRANSFORMERS_4"]}
    program = """
import sys, transformers
from pathlib import Path
from alibert_fairseq.hf.export import export
assert transformers.__version__.startswith("4.")
for checkpoint in map(Path, sys.argv[2:]):
    export(checkpoint, Path(sys.argv[1]), Path(checkpoint.parent.name))
"""
    sources = [checkpoints[objective] for objective in objectives]
    run(sys.executable, "-c", program, tokenizer_directory, *sources, cwd=tmp_path, env=environment)
    for objective in objectives:
        assert AutoTokenizer.from_pretrained(tmp_path / objective).mask_token == "<mask>"
