"""A published model becomes a checkpoint: the same tensors back, the same ids, the same loss at first, or nothing."""

import json
import math
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from commands import run
from fairseq import checkpoint_utils, tasks
from fairseq.data import data_utils
from forked import finish
from forked import run as run_forked
from long_cases import long_except
from model_helpers import sample_tokens
from omegaconf import OmegaConf
from published_models import DETECTORS, FAMILIES, class_of, write_model, write_tokenizer_config
from recipe_helpers import arguments_of
from safetensors.torch import load_file
from test_pretraining import ENVIRONMENT, losses
from text_helpers import CASED, sample_lines, some_lines, trained
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, pipeline

from alibert_common.errors import InputError
from alibert_fairseq.hf.export import export
from alibert_fairseq.hf.families import names
from alibert_fairseq.hf.load import load, main
from alibert_fairseq.hf.published.tokenizer import PublishedTokenizer
from alibert_fairseq.models.bert import AliBertModel, SegmentBertModel
from preprocess.binarize import binarize
from preprocess.databin.line_encoder import LineEncoder
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import read_layout

EVERY = [family for family in FAMILIES if family != "drbert"]  # which has a test of its own
OF_BOTH = ["camembert", "bert", "deberta_rtd", "electra", "albert", "modernbert", "deberta"]
PAIRS = {"bert": "nsp", "albert": "sop"}
OF_TWO_LAYERS = (
    "--encoder-layers 2 --encoder-embed-dim 32 --encoder-ffn-embed-dim 64 --encoder-attention-heads 2 "
    "--embedding-dim 32 --max-positions 64"
)
WORDS = "hépatomégalie\namoxicilline\ncardiologie\n"


@pytest.fixture(scope="module")
def loaded(published, tmp_path_factory) -> Path:
    """What becomes of them."""
    place = tmp_path_factory.mktemp("loaded")
    for family in EVERY:
        load(published / family, place / family)
    return place


def write_text(place: Path) -> dict[str, list[Path]]:
    """Some documents of the sample, to train and to validate on."""
    lines = sample_lines()[:240]
    documents = ["\n".join(lines[start : start + 8]) for start in range(0, len(lines), 8)]
    splits = {"train": documents[:24], "valid": documents[24:]}
    for split, some in splits.items():
        (place / f"{split}.txt").write_text("\n\n".join(some) + "\n", encoding="utf-8")
    return {split: [place / f"{split}.txt"] for split in splits}


@pytest.fixture(scope="module")
def data_bins(loaded, tmp_path_factory) -> Path:
    """The sample's data-bin for each of them, as --tokenizer of binarize."""
    place = tmp_path_factory.mktemp("data-bins")
    splits = write_text(place)
    for family in EVERY:
        binarize(loaded / family, splits, place / family)
    return place


def folders(family: str) -> list[str]:
    return [".", "generator"] if family in DETECTORS else ["."]


@pytest.mark.parametrize("family", EVERY)
def test_back_again_the_folder_has_the_same_tensors_and_ids(family, published, loaded, tmp_path):
    export(loaded / family / "checkpoint.pt", loaded / family, tmp_path / "model")
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert f"Converted with alibert_fairseq by hf.load and hf.export, from {family}; nothing was trained." in card
    assert "| updates | 0 |" in card and not re.search("learning rate|[Pp]retrained with|tags:|language:", card)
    for folder in folders(family):
        before, after = (place / folder for place in (published / family, tmp_path / "model"))
        theirs, ours = (load_file(place / "model.safetensors") for place in (before, after))
        assert theirs.keys() == ours.keys() and len(ours) > 20
        assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == []
        kinds = [json.loads((place / "config.json").read_text())["architectures"][0] for place in (before, after)]
        assert kinds[1] == kinds[0].replace("Camembert", "Roberta")
        old, new = AutoTokenizer.from_pretrained(before), AutoTokenizer.from_pretrained(after)
        for texts in (some_lines(), [("une fièvre", "à 38,5 °C"), ("Le", old.mask_token)]):
            assert dict(old(texts)) == dict(new(texts))
        assert new.model_max_length == 64 and new.mask_token_id == old.mask_token_id


@pytest.mark.parametrize("family", EVERY)
def test_the_data_bin_has_autotokenizers_ids(family, published, data_bins):
    tokenizer = AutoTokenizer.from_pretrained(published / family)
    items = data_utils.load_indexed_dataset(str(data_bins / family / "train"), None)
    text = (data_bins / "train.txt").read_text(encoding="utf-8").split("\n")[:-1]
    expected = [tokenizer(line)["input_ids"][1:] if line else [tokenizer.sep_token_id] for line in text]
    assert [item.tolist() for item in items] == expected
    assert sum(len(item) == 1 for item in items) == 23  # between 24 documents


def begun(family: str, loaded: Path, data_bin: Path):
    """The task, the model and the criterion that fairseq-train has before its first update, without dropout."""
    state = checkpoint_utils.load_checkpoint_to_cpu(str(loaded / family / "checkpoint.pt"))
    cfg = OmegaConf.create(state["cfg"])
    cfg.task.data, cfg.task.tokens_per_sample, cfg.task.seed = str(data_bin), 64, 7
    task = tasks.setup_task(cfg.task)
    model = task.build_model(cfg.model)
    model.load_state_dict(state["model"], strict=True, model_cfg=cfg.model)
    return task, model.eval(), task.build_criterion(cfg.criterion)


def batches(task, split="valid", size=8):
    task.load_dataset(split)
    data = task.dataset(split)
    order = data.ordered_indices()
    return [data.collater([data[i] for i in order[n : n + size]]) for n in range(0, len(order), size)]


def hugging_face_loss(models, sample, pad) -> float:
    """The loss in nats, times the drawn tokens, that their models have on our batch."""
    inputs, target = sample["net_input"], sample["target"]
    drawn = target.ne(pad)
    real = inputs.get("original", inputs["src_tokens"]).ne(pad)
    segments = {"token_type_ids": inputs["segments"]} if "segments" in inputs else {}
    output = models[-1](input_ids=inputs["src_tokens"], attention_mask=real.long(), **segments)
    scores = (output.prediction_logits if "prediction_logits" in output else output.logits)[drawn]
    loss = F.cross_entropy(scores, target[drawn], reduction="sum").item()
    if "sentence_target" in sample:
        logits = output.seq_relationship_logits if "seq_relationship_logits" in output else output.sop_logits
        labels = sample["sentence_target"]  # of a batch of long lines none has one: they have no second segment
        pairs = F.cross_entropy(logits, labels, reduction="sum").item() / max(1, int(labels.ne(-100).sum()))
        return loss + int(drawn.sum()) * pairs
    if len(models) == 1:
        return loss
    fake = inputs["original"].clone()
    fake[drawn] = sample_tokens(scores, inputs["uniforms"][drawn], 1.0)
    judged = models[0](input_ids=fake, attention_mask=real.long()).logits[real]
    labels = fake.ne(inputs["original"])[real].float()
    return loss + 50 * F.binary_cross_entropy_with_logits(judged, labels).item() * int(drawn.sum())


def their_models(published: Path, family: str) -> list:
    """ELECTRA's discriminator and generator, or the one model."""
    generator = "DebertaV2ForMaskedLM" if family == "deberta_rtd" else "ElectraForMaskedLM"
    kinds = [FAMILIES[family][0]] + ([generator] if family in DETECTORS else [])
    places = [published / family / folder for folder in folders(family)]
    return [class_of(kind).from_pretrained(place).eval() for kind, place in zip(kinds, places, strict=True)]


@pytest.mark.parametrize("family", EVERY)
def test_training_begins_at_the_published_models_loss(family, published, loaded, data_bins):
    """In float64: with the rounding of float32, a generator may draw another token here than there."""
    task, model, criterion = begun(family, loaded, data_bins / family)
    model.double()
    theirs = [one.double() for one in their_models(published, family)]
    special = AutoTokenizer.from_pretrained(published / family).all_special_ids
    replaced = []
    with torch.no_grad():
        samples = batches(task)
        assert family not in PAIRS or any(sample["sentence_target"].ne(-100).any() for sample in samples)
        for sample in samples:
            ours, drawn, _ = criterion(model, sample)
            expected = hugging_face_loss(theirs, sample, task.source_dictionary.pad())
            assert ours.item() / drawn == pytest.approx(expected / drawn, abs=1e-5 * (50 if len(theirs) > 1 else 1))
            source, target = sample["net_input"]["src_tokens"], sample["target"]
            drawn_places = target.ne(task.source_dictionary.pad())
            assert not np.isin(target[drawn_places], special).any()
            changed = source[drawn_places & source.ne(target)]
            replaced += changed[changed.ne(task.mask_id)].tolist()
            assert (changed == task.mask_id).float().mean() > 0.6
    assert not np.isin(replaced, special).any() and (replaced or family in DETECTORS)


def test_the_options_are_the_whole_model(loaded):
    """Every number is said, so no default of an --arch decides one."""
    size, _, _ = OF_TWO_LAYERS.partition(" --embedding-dim")
    usual = OF_TWO_LAYERS
    gelu = "--activation-fn gelu --layer-norm-eps 1e-12 --dropout 0.1 --attention-dropout 0.1"
    roberta = f"--arch alibert_base {usual} --segments 0 {gelu.replace('1e-12', '1e-05')}"
    bert = f"--arch segment_bert_base {usual} --segments 2 {gelu}"
    albert = (
        f"--arch albert_base {size} --embedding-dim 16 --max-positions 64 --segments 2 --layer-groups 1 "
        "--activation-fn gelu_tanh --layer-norm-eps 1e-12 --dropout 0.0 --attention-dropout 0.0"
    )
    electra = (
        f"--arch electra_base {size} --embedding-dim 16 --max-positions 64 --segments 2 {gelu} --generator-layers 1"
    )
    electra += " --generator-embed-dim 24 --generator-ffn-embed-dim 40 --generator-attention-heads 3"
    layers = usual.replace("--encoder-layers 2", "--encoder-layers 3")
    deberta = roberta.replace("alibert_base", "alibert_deberta_base").replace("1e-05", "1e-07")
    deberta += " --position-buckets 16 --max-relative-positions 64 --convolution-width 0 --convolution-groups 1"
    deberta += " --convolution-activation tanh --position-attention c2p|p2c"
    xlarge = deberta.replace("width 0", "width 3").replace("tanh", "gelu") + " --own-position-projections"
    of_two = deberta.replace("alibert_", "electra_") + " --generator-layers 1 --generator-embed-dim 24"
    of_two += " --generator-ffn-embed-dim 40 --generator-attention-heads 3 --embedding-sharing none"
    of_two += " --generator-embedding-dim 32"
    modern = f"--arch alibert_modern_base {layers} --activation-fn gelu --layer-norm-eps 1e-05 --dropout 0.0"
    modern += " --attention-dropout 0.0 --local-attention 16 --global-attention-every 3 --global-rope-theta 160000.0"
    assert {family: (loaded / family / "options").read_text() for family in EVERY} == {
        "modernbert": f"{modern} --local-rope-theta 10000.0 --activation-dropout 0.0 --classifier-pooling cls\n",
        "deberta": f"{deberta}\n",
        "deberta_xlarge": f"{xlarge}\n",
        "deberta_rtd": f"{of_two}\n",
        "camembert": f"{roberta}\n",
        "roberta": f"{roberta}\n",
        "bert": f"{bert}\n",
        "bert_words": f"{bert}\n",
        "albert": f"{albert}\n",
        "albert_words": f"{albert}\n",
        "electra": f"{electra} --embedding-sharing all\n",
        "electra_own": f"{electra} --embedding-sharing none --generator-embedding-dim 24\n",
    }


def train(family: str, loaded: Path, data_bin: Path, save: Path, repository: Path, *more: str) -> str:
    """The log of fairseq-train with the options that were written."""
    objective = "electra" if family in DETECTORS else "segment_pairs" if family in PAIRS else "alibert_mlm"
    pairs = ["--sentence-objective", PAIRS[family]] if family in PAIRS else []
    command = shutil.which("fairseq-train", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return run_forked(
        command, data_bin, "--user-dir", repository / "alibert_fairseq", "--finetune-from-model",
        loaded / "checkpoint.pt", *(loaded / "options").read_text().split(), "--task", objective, *pairs, "--criterion",
        objective, "--tokens-per-sample", "64", "--batch-size", "8", "--optimizer", "alibert_adam", "--dropout", "0",
        "--attention-dropout", "0", "--save-dir", save, "--num-workers", "0", "--log-format", "simple",
        "--log-interval", "1", "--seed", "7", "--no-epoch-checkpoints", *more, cwd=save.parent, env=ENVIRONMENT,
    )  # fmt: skip


def test_a_continued_run_starts_there_learns_and_resumes(published, loaded, data_bins, repository, tmp_path):
    family = "camembert"  # the other losses are compared in this process above, and other families train below

    def go_on(*more):
        return train(family, loaded / family, data_bins / family, tmp_path / "save", repository, *more)

    log = go_on("--lr", "1e-12", "--max-update", "1")  # too little to change a digit of the loss
    assert f"loading pretrained model from {loaded / family / 'checkpoint.pt'}" in log
    valid = float(re.search(r"valid on 'valid' subset \| loss ([\d.]+)", log)[1])
    task, *_ = begun(family, loaded, data_bins / family)
    theirs, total, drawn = their_models(published, family), 0.0, 0
    with torch.no_grad():
        for sample in batches(task):
            total += hugging_face_loss(theirs, sample, task.source_dictionary.pad())
            drawn += int(sample["target"].ne(task.source_dictionary.pad()).sum())
    assert valid == pytest.approx(total / drawn / math.log(2), abs=6e-4)  # the log has three digits
    resumed = go_on("--lr", "1e-2", "--max-update", "31", "--disable-validation")
    curve = losses(resumed)
    assert "Loaded checkpoint" in resumed and "checkpoint_last.pt" in resumed and len(curve) == 30
    assert sum(curve[-5:]) < 0.95 * sum(curve[:5])


def test_the_difference_of_two_tables_is_learned(loaded, data_bins, repository, tmp_path):
    """DeBERTaV3's way: the published discriminator's table becomes the generator's and a difference."""
    family, way = "deberta_rtd", ["--embedding-sharing", "gradient_disentangled"]
    save, options = tmp_path / "save", ["--lr", "1e-3", "--max-update", "2", "--disable-validation"]
    train(family, loaded / family, data_bins / family, save, repository, *way, *options)
    before, after = (
        checkpoint_utils.load_checkpoint_to_cpu(str(place))["model"]
        for place in (loaded / family / "checkpoint.pt", save / "checkpoint_last.pt")
    )
    table = "{}.sentence_encoder.embed_tokens.{}"
    whole = after[table.format("generator", "weight")] + after[table.format("discriminator", "difference")]
    moved = (whole - before[table.format("discriminator", "weight")]).abs().max()
    assert table.format("discriminator", "weight") not in after and 0 < moved < 2e-2


VARIANTS = {
    "detour": ("modernbert", {"VARIANT": "detour"}, "causal_loss="),
    "detection": ("modernbert", {"VARIANT": "detection"}, "discriminator_loss_nats="),
    "detour of a DeBERTa": ("deberta", {"VARIANT": "detour"}, "causal_loss="),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_variants_of_the_recipe(variant, loaded, data_bins, repository, tmp_path):
    family, chosen, logged = VARIANTS[variant]
    places = {"FROM": loaded / family, "DATA_BIN": data_bins / family, "SAVE_DIR": tmp_path / "save"}
    recipe, options = repository / "recipes" / "pretrain" / "continue.sh", ["--cpu", "--log-interval", "1"]
    options += ["--tokens-per-sample", "64", "--batch-size", "8", "--update-freq", "1", "--num-workers", "0"]
    given = chosen | {name: str(place) for name, place in places.items()}
    length = ["--warmup-updates", "1", "--total-num-update", "12", "--max-update", "12"]
    log = run_forked(
        "fairseq-train", *arguments_of(recipe, tmp_path, *options, *length, **given), cwd=tmp_path, env=ENVIRONMENT
    )
    updates = [line for line in log.splitlines() if "| train_inner |" in line]
    found = [logged in line and f"{logged}None" not in line for line in updates]
    assert found == [True] * 12 if variant == "detection" else found == [True] * 11 + [False]
    export(tmp_path / "save" / "checkpoint_last.pt", loaded / family, tmp_path / "model")
    if variant == "detection":
        card = (tmp_path / "model" / "generator" / "README.md").read_text(encoding="utf-8")
        assert "replaced token detection (the generator, whose weights did not change)" in card


@pytest.mark.parametrize("family", ["bert", "electra"])
def test_the_recipe_goes_on_from_it(family, loaded, data_bins, repository, tmp_path):
    places = {"FROM": loaded / family, "DATA_BIN": data_bins / family, "SAVE_DIR": tmp_path / "save"}
    smaller = ["--tokens-per-sample", "64", "--batch-size", "8", "--update-freq", "1", "--num-workers", "0"]
    smaller = ["--toy"] if family == "electra" else smaller
    options = ["--cpu", *smaller, "--max-update", "2", "--log-interval", "1"]
    recipe = repository / "recipes" / "pretrain" / "continue.sh"
    arguments = arguments_of(recipe, tmp_path, *options, **{name: str(place) for name, place in places.items()})
    log = run_forked("fairseq-train", *arguments, cwd=tmp_path, env=ENVIRONMENT)
    assert f"loading pretrained model from {loaded / family / 'checkpoint.pt'}" in log and len(losses(log)) == 2
    assert ("generator_loss_nats" in log) == (family == "electra")
    assert ("sentence head is left out" in log) == (family == "bert")
    cfg = checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "save" / "checkpoint_last.pt"))["cfg"]
    ours, updates = (5e-4, 30) if family == "electra" else (5e-5, 50000)  # of --toy, and of the recipe
    assert cfg["optimization"]["lr"] == [ours] and cfg["lr_scheduler"]["total_num_update"] == updates


def test_the_checkpoint_fits_no_other_tokenizers_data(loaded, data_bins, tmp_path):
    """ELECTRA's and BERT's vocabularies are as large, and here one file of theirs differs in a byte."""
    other = shutil.copytree(data_bins / "bert", tmp_path / "data-bin")
    state = checkpoint_utils.load_checkpoint_to_cpu(str(loaded / "bert" / "checkpoint.pt"))["task_state"]
    begun("bert", loaded, other)[0].load_state_dict(state)
    text = (other / "tokenizer.json").read_text(encoding="utf-8")
    (other / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="its tokenizer.json is not the one of the checkpoint's training"):
        begun("bert", loaded, other)[0].load_state_dict(state)


def data_bin_ids(directory: Path, text: str) -> list[int]:
    layout = read_layout(directory)
    ids, _ = LineEncoder(load_tokenizer(directory), layout).encode([text])
    return [layout.begin, *ids.tolist()]


@pytest.mark.parametrize(("family", "model_class"), [("camembert", AliBertModel), ("bert", SegmentBertModel)])
def test_the_hub_interface_reads_it(family, model_class, published, loaded):
    hub = model_class.from_pretrained(str(loaded / family), "checkpoint.pt", str(loaded / family))
    tokenizer = AutoTokenizer.from_pretrained(published / family)
    model = AutoModelForMaskedLM.from_pretrained(published / family)
    sentence = f"Le patient présente une {tokenizer.mask_token} à 38,5 °C, d'où l'hospitalisation."
    plain = sentence.replace(tokenizer.mask_token, "fièvre")
    assert hub.encode(plain).tolist() == tokenizer(plain)["input_ids"]
    ours, theirs = hub.fill_mask(sentence, topk=3), pipeline("fill-mask", model, tokenizer=tokenizer)(sentence, top_k=3)
    assert [guess.score for guess in ours] == pytest.approx([guess["score"] for guess in theirs], abs=1e-5)
    assert [guess.token for guess in ours] == [tokenizer.convert_ids_to_tokens(guess["token"]) for guess in theirs]
    for text in (
        f"le </s> [SEP] patient {tokenizer.mask_token}",
        "le <pad>[PAD] <unk> l'hôpital",
    ):  # text, as in a corpus
        assert hub.encode(text).tolist() == data_bin_ids(loaded / family, text)
    assert "présente une" in ours[0].text and "hospitalisation" in hub.decode(hub.encode(plain))
    with pytest.raises(ValueError, match=re.escape(f"exactly one {tokenizer.mask_token}, not 0")):
        hub.fill_mask(plain)


# ---- the vocabulary on the way


def embedding(folder: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """The word table and the output's bias of an exported folder."""
    weights = load_file(folder / "model.safetensors")
    table = next(value for name, value in weights.items() if name.endswith("word_embeddings.weight"))
    bias = next(
        value for name, value in weights.items() if re.search(r"(predictions|lm_head|generator_lm_head).bias", name)
    )
    return table, bias


def exported(place: Path, target: Path) -> Path:
    export(place / "checkpoint.pt", place, target)
    return target / "generator" if (target / "generator").is_dir() else target


@pytest.mark.parametrize(
    "family", long_except(["camembert", "roberta", "bert", "albert", "electra"], "bert", "electra")
)
def test_more_words_get_the_mean_of_their_pieces(family, published, loaded, repository, tmp_path):
    (tmp_path / "words.txt").write_text(WORDS, encoding="utf-8")
    manifest = load(published / family, tmp_path / "more", add_tokens=tmp_path / "words.txt")
    model = exported(tmp_path / "more", tmp_path / "model")
    before = AutoTokenizer.from_pretrained(published / family)
    after = AutoTokenizer.from_pretrained(model)
    (old, old_bias), (new, new_bias) = embedding(exported(loaded / family, tmp_path / "same")), embedding(model)
    assert torch.equal(new[: len(old)], old) and torch.equal(new_bias[: len(old)], old_bias)
    assert len(new) == len(after) == len(old) + manifest["rows"]["new pieces"] and manifest["rows"]["words"] == 3
    assert after.mask_token_id == before.mask_token_id
    for word in WORDS.split():
        text = f"une {word}"
        number = after(text)["input_ids"][-2]
        pieces = before(text)["input_ids"][len(before("une")["input_ids"]) - 1 : -1]
        assert number >= len(old) and len(pieces) > 1
        assert torch.allclose(new[number], old[pieces].mean(0), atol=1e-7)
        assert torch.allclose(new_bias[number], old_bias[pieces].mean(), atol=1e-7)
    assert AutoModel.from_pretrained(model).get_input_embeddings().num_embeddings == len(new)


@pytest.mark.parametrize("family", long_except(["camembert", "bert", "electra", "albert"], "camembert", "electra"))
def test_another_vocabulary_keeps_what_it_shares(family, published, loaded, tmp_path):
    manifest = load(published / family, tmp_path / "other", tokenizer=trained(CASED))
    model = exported(tmp_path / "other", tmp_path / "model")
    (old, old_bias), (new, new_bias) = embedding(exported(loaded / family, tmp_path / "same")), embedding(model)
    before, after = AutoTokenizer.from_pretrained(published / family), AutoTokenizer.from_pretrained(model)
    assert len(new) == len(after) == load_tokenizer(trained(CASED)).get_vocab_size() != len(old)
    for role in ("cls", "pad", "sep", "unk", "mask"):
        mine, theirs = (getattr(tokenizer, f"{role}_token_id") for tokenizer in (after, before))
        assert torch.equal(new[mine], old[theirs]) and torch.equal(new_bias[mine], old_bias[theirs])
    shared = 0
    for piece, number in after.get_vocab().items():
        theirs = before(piece[1:])["input_ids"][1:-1] if piece.startswith("▁") and len(piece) > 2 else []
        if len(theirs) == 1 and theirs[0] != before.unk_token_id:
            assert torch.equal(new[number], old[theirs[0]]), piece
            shared += 1
    assert shared > 40 and manifest["rows"]["by role"] == 5
    sizes = [size["vocabulary"] for size in manifest["models"].values()]
    assert set(sizes) == {len(old)} and manifest["texts_compared"] > len(new) - 10  # of what was read, and written
    number = after.get_vocab()["▁traitement"]
    pieces = before("traitement")["input_ids"][1:-1]
    assert torch.allclose(new[number], old[pieces].mean(0), atol=1e-7)
    assert AutoModel.from_pretrained(model).get_input_embeddings().num_embeddings == len(new)


@pytest.mark.parametrize("change", ["more", "other"])
def test_training_runs_on_a_changed_vocabulary(change, published, repository, tmp_path):
    family = "bert"  # whose special tokens stand in the middle, and whose positions do not count from the padding
    (tmp_path / "words.txt").write_text(WORDS, encoding="utf-8")
    given = {"add_tokens": tmp_path / "words.txt"} if change == "more" else {"tokenizer": trained(CASED)}
    load(published / family, tmp_path / "loaded", **given)
    binarize(tmp_path / "loaded", write_text(tmp_path), tmp_path / "data-bin")
    options = ["--lr", "1e-2", "--max-update", "60", "--disable-validation"]
    log = train(family, tmp_path / "loaded", tmp_path / "data-bin", tmp_path / "save", repository, *options)
    curve = losses(log)
    # The trainer of WordPiece settles ties anew each time: seen 0.89 to 0.91.
    assert len(curve) == 60 and sum(curve[-10:]) < 0.95 * sum(curve[:10])
    export(tmp_path / "save" / "checkpoint_last.pt", tmp_path / "loaded", tmp_path / "model")
    before, after = (load_file(place / "model.safetensors") for place in (published / family, tmp_path / "model"))
    heads = [name for name in before if "pooler" in name or "seq_relationship" in name]
    assert len(heads) == 4 and not any(torch.equal(before[name], after[name]) for name in heads)  # trained, not lost
    assert not torch.equal(
        before["cls.predictions.transform.dense.weight"], after["cls.predictions.transform.dense.weight"]
    )
    card = (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    assert "| continued from | bert |" in card and "| updates | 60 |" in card
    assert "Pretrained with alibert_fairseq by masked language modelling" in card and "Converted" not in card


# ---- what is read, and what is refused


@pytest.mark.parametrize("types", [1, 2])
def test_token_types_of_roberta_are_kept(types, tmp_path):
    """AliBERT's own config.json has type_vocab_size 2. A single row counts too unless it is zero, as RoBERTa's."""
    folder = write_model(tmp_path / "source", "roberta", type_vocab_size=types)
    load(folder, tmp_path / "out")
    assert f"--arch alibert_base {OF_TWO_LAYERS} --segments {types}" in (tmp_path / "out" / "options").read_text()
    export(tmp_path / "out" / "checkpoint.pt", tmp_path / "out", tmp_path / "model")
    before, after = (load_file(place / "model.safetensors") for place in (folder, tmp_path / "model"))
    assert before["roberta.embeddings.token_type_embeddings.weight"].any(1).all()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
    pair = [dict(AutoTokenizer.from_pretrained(place)("a", "b")) for place in (folder, tmp_path / "model")]
    assert pair[0] == pair[1]


def test_spare_rows_are_fillers_and_the_first_that_new_words_take(tmp_path):
    """A table rounded up, as BERT's and ModernBERT's are: more rows than the tokenizer has tokens."""
    folder = write_model(tmp_path / "source", "bert", vocab_size=512)
    load(folder, tmp_path / "out")
    table = (tmp_path / "out" / "dict.txt").read_text(encoding="utf-8").splitlines()
    assert len(table) == 512 and table[504:] == [f"<unused{number}> 0" for number in range(8)]
    binarize(tmp_path / "out", write_text(tmp_path), tmp_path / "data-bin")
    task, *_ = begun("out", tmp_path, tmp_path / "data-bin")
    assert len(task.source_dictionary) == 512 and max(task.random_ids) <= 504
    (tmp_path / "words.txt").write_text(WORDS, encoding="utf-8")
    load(folder, tmp_path / "more", add_tokens=tmp_path / "words.txt")
    again = (tmp_path / "more" / "dict.txt").read_text(encoding="utf-8").splitlines()
    assert len(again) == 512 and again[504:507] == [f"{word} 0" for word in WORDS.split()]
    old, new = (embedding(exported(tmp_path / place, tmp_path / f"{place}-model"))[0] for place in ("out", "more"))
    kept = [*range(504), *range(507, 512)]
    assert torch.equal(old[kept], new[kept]) and not torch.equal(old[504:507], new[504:507])


def test_weights_under_wrong_names_are_seen_by_their_logits(published, tmp_path, monkeypatch):
    exchanged = {"attention.self.query": "attention.self.key", "attention.self.key": "attention.self.query"}
    wrong = tuple((mine, exchanged.get(theirs, theirs), albert) for mine, theirs, albert in names._LAYER)
    monkeypatch.setattr(names, "_LAYER", wrong)
    with pytest.raises(InputError, match="RobertaForMaskedLM: logits differ by up to"):
        load(published / "camembert", tmp_path / "out" / "model")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_tokenizer_that_is_written_otherwise_is_refused(published, tmp_path, monkeypatch):
    """The gate on what is written: here the file loses its rules, as it would under the name of another class."""
    write = PublishedTokenizer.write

    def without_rules(self, directory, tokenizer, length):
        write(self, directory, tokenizer, length)
        rules = json.loads((directory / "tokenizer.json").read_text(encoding="utf-8")) | {"normalizer": None}
        (directory / "tokenizer.json").write_text(json.dumps(rules), encoding="utf-8")

    monkeypatch.setattr(PublishedTokenizer, "write", without_rules)
    (tmp_path / "words.txt").write_text(WORDS, encoding="utf-8")
    for words in (None, tmp_path / "words.txt"):
        with pytest.raises(InputError, match="from what would be written, AutoTokenizer gives"):
            load(published / "albert", tmp_path / "out" / "model", add_tokens=words)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_replacement_that_autotokenizer_reads_otherwise_is_refused(published, tmp_path):
    other = shutil.copytree(trained(CASED), tmp_path / "tokenizer")
    write_tokenizer_config(other, additional_special_tokens=["traitement"])
    with pytest.raises(InputError, match="from what would be written, AutoTokenizer gives"):
        load(published / "bert", tmp_path / "out", tokenizer=other)


def test_the_command_says_what_it_read_and_refuses_in_one_sentence(published, tmp_path, monkeypatch, capsys):
    arguments = [str(published / "electra"), "--output"]
    monkeypatch.setattr(sys, "argv", ["load", *arguments, str(tmp_path / "out")])
    main()
    said = capsys.readouterr().out
    assert "ElectraForPreTraining, 2 layers of 32" in said and "ElectraForMaskedLM, 1 layers of 24" in said
    assert "in the place of an earlier output" not in said
    main()
    assert f"{tmp_path / 'out'}, in the place of an earlier output of load" in capsys.readouterr().out
    found = {path.name for path in (tmp_path / "out").iterdir()}
    files = {"checkpoint.pt", "tokenizer.json", "tokenizer_config.json", "dict.txt", "options", "manifest.json"}
    assert found == files
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    command = [sys.executable, "-m", "alibert_fairseq.hf.load", *arguments, tmp_path / "mine"]
    status, said = finish(command, cwd=tmp_path, env=ENVIRONMENT)
    assert status == 2 and "Traceback" not in said
    assert said.strip().splitlines()[-1].startswith("error: ") and "holds other files" in said
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "mine"


def test_a_full_disk_is_one_sentence_and_nothing_is_left(published, tmp_path, monkeypatch):
    def full(*_):
        raise RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(InputError, match=r"checkpoint.pt: not written \(PytorchStreamWriter .*\); free some space"):
        load(published / "bert", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_remedy_for_a_folder_given_to_binarize(published, tmp_path):
    splits = write_text(tmp_path)
    with pytest.raises(InputError, match="of preprocess.train_tokenizer or of alibert_fairseq.hf.load"):
        binarize(published / "camembert", splits, tmp_path / "data-bin")
    with pytest.raises(InputError, match="or read a published model with `python -m alibert_fairseq.hf.load`"):
        load_tokenizer(published / "camembert")


@pytest.mark.skipif(
    not os.environ.get("ALIBERT_TRANSFORMERS_4"), reason="no folder with transformers 4 (recipes/test.sh)"
)
@pytest.mark.parametrize("families", long_except([OF_BOTH[:3], OF_BOTH], OF_BOTH[:3]), ids=["three", "all"])
def test_loading_works_with_the_other_major_of_transformers(families, published, loaded, repository, tmp_path):
    """One process for several: importing transformers takes longest."""
    paths = [os.environ["ALIBERT_TRANSFORMERS_4"], repository, repository / "tests" / "helpers"]
    environment = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    (tmp_path / "words.txt").write_text(WORDS, encoding="utf-8")
    places = [published, loaded, tmp_path, *families]
    run(sys.executable, "-m", "other_transformers", *places, cwd=repository, env=environment)
    load(published / "drbert", tmp_path / "of-5" / "drbert")
    load(tmp_path / "published", tmp_path / "remedied")  # its tokenizer.json was made by version 4
    assert (tmp_path / "remedied" / "dict.txt").read_bytes() == (tmp_path / "drbert" / "dict.txt").read_bytes()
    for family, ours in [*((family, loaded) for family in families), ("drbert", tmp_path / "of-5")]:
        for name in ("dict.txt", "options"):
            assert (tmp_path / family / name).read_bytes() == (ours / family / name).read_bytes()
        here, there = (
            checkpoint_utils.load_checkpoint_to_cpu(str(place / family / "checkpoint.pt"))["model"]
            for place in (ours, tmp_path)
        )
        assert here.keys() == there.keys() and all(torch.equal(here[name], there[name]) for name in here)
        texts = [load_tokenizer(place / family).encode_batch(some_lines()) for place in (ours, tmp_path)]
        assert [one.ids for one in texts[0]] == [one.ids for one in texts[1]]
    for family in families[:2]:
        ids = AutoTokenizer.from_pretrained(tmp_path / "more" / family)("une amoxicilline")["input_ids"]
        assert len(ids) == len(AutoTokenizer.from_pretrained(published / family)("une")["input_ids"]) + 1
