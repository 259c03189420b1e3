"""What cannot be continued faithfully is refused in one sentence, nothing is executed, and nothing is written."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from fairseq import checkpoint_utils
from published_models import changed_config, untied, write_tokenizer_config
from published_tokenizers import made
from safetensors.torch import load_file, save_file

from alibert_common.errors import InputError
from alibert_fairseq.hf.load import load
from preprocess.tokenizer.load import load_tokenizer


def without_head(folder: Path) -> None:
    transformers.BertModel.from_pretrained(folder).save_pretrained(folder)


class Evil:
    """What a stranger's pickle may do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def evil_pickle(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save({"weight": Evil(str(folder / "executed"))}, folder / "pytorch_model.bin")


def missing_shard(folder: Path) -> None:
    transformers.BertForPreTraining.from_pretrained(folder).save_pretrained(folder, max_shard_size="50KB")
    (folder / "model.safetensors").unlink()
    sorted(folder.glob("model-*.safetensors"))[1].unlink()


def index_of(file: str | None):
    """An index in the place of the weights."""

    def change(folder: Path) -> None:
        weights = {"cls.predictions.bias": file} if file else []
        (folder / "model.safetensors").rename(folder / "weights.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))

    return change


def foreign_tokenizer(folder: Path) -> None:
    text, _ = made("byte-level")
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    write_tokenizer_config(folder, tokenizer_class="PreTrainedTokenizerFast", **made("byte-level")[1])


def no_mask(folder: Path) -> None:
    write_tokenizer_config(folder, tokenizer_class="PreTrainedTokenizerFast", mask_token=None)


def other_rules(folder: Path) -> None:
    """A tokenizer.json with rules that the class does not have, as AliBERT's: version 5 drops them."""
    rules = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    rules["normalizer"]["lowercase"] = True
    (folder / "tokenizer.json").write_text(json.dumps(rules), encoding="utf-8")


def in_rules(change):
    """A tokenizer.json that is otherwise, and read as it stands."""

    def changed(folder: Path) -> None:
        rules = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        change(rules)
        (folder / "tokenizer.json").write_text(json.dumps(rules), encoding="utf-8")
        write_tokenizer_config(folder, tokenizer_class="PreTrainedTokenizerFast")

    return changed


def a_point_that_is_special(rules: dict) -> None:
    flags = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    rules["added_tokens"].append({"id": rules["model"]["vocab"]["."], "content": "."} | flags)


def more_rows(folder: Path) -> None:
    """An output table beside the input's, for other words."""
    weights = load_file(folder / "model.safetensors")
    table = weights["roberta.embeddings.word_embeddings.weight"]
    weights["lm_head.decoder.weight"] = torch.cat([table, table[:3]])
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def in_weights(**values: float):
    """Tensors of one value; `__` stands for a point."""

    def changed(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        for name, value in values.items():
            name = name.replace("__", ".")
            weights[name] = torch.full_like(weights.get(name, weights["lm_head.bias"]), value)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    return changed


def no_tokenizer(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()


def remove_generator(folder: Path) -> None:
    shutil.rmtree(folder / "generator")


REFUSALS = {
    "another architecture": ("bert", lambda f: changed_config(f, model_type="flaubert"), "'flaubert'; only RoBERTa"),
    "code of its own": ("bert", lambda f: changed_config(f, auto_map={"AutoModel": "x.Y"}), "needs code of its own"),
    "a missing shard": ("bert", missing_shard, "listed in model.safetensors.index.json and not there; copy it too"),
    "no relative positions": ("deberta", lambda f: changed_config(f, relative_attention=False), "is false; ours has"),
    "wider heads": ("deberta", lambda f: changed_config(f, attention_head_size=24), "its heads are 24 wide"),
    "positions that ask each other": (
        "deberta",
        lambda f: changed_config(f, pos_att_type=["c2p", "p2p"]),
        "pos_att_type is c2p|p2p; ours is c2p, p2c or both",
    ),
    "distances of no kind": ("deberta", lambda f: changed_config(f, pos_att_type=[]), "pos_att_type is empty; ours is"),
    "distances that share a row at once": (
        "deberta",
        lambda f: changed_config(f, max_relative_positions=9),
        "which is too near for 16 position buckets; give 10 or more as the largest relative position",
    ),
    "another convolution": (
        "deberta_xlarge",
        lambda f: changed_config(f, conv_act="relu"),
        "the activation of the convolution is relu, not tanh or gelu",
    ),
    "weights under another name": (
        "bert",
        lambda f: changed_config(f, transformers_weights="adapter_model.bin"),
        "its weights are in adapter_model.bin (transformers_weights); remove that line",
    ),
    "an index of pickles": ("bert", index_of("x.bin"), "x.bin, and only safetensors of its folder are read"),
    "an index of another folder": (
        "bert",
        index_of("../x.safetensors"),
        "../x.safetensors, and only safetensors of its",
    ),
    "an index of another place": ("bert", index_of("/x.safetensors"), "lists /x.safetensors, and only safetensors of"),
    "an index of nothing": ("bert", index_of(None), "index.json: lists no weights; copy it from the published model"),
    "no configuration": ("bert", lambda f: (f / "config.json").unlink(), "config.json: no such file"),
    "a damaged configuration": ("bert", lambda f: (f / "config.json").write_text("{"), "not a model's configuration"),
    "an unknown activation": ("bert", lambda f: changed_config(f, hidden_act="relu"), "the activation is 'relu'"),
    "relative positions": (
        "bert",
        lambda f: changed_config(f, position_embedding_type="relative_key"),
        "positions are 'relative_key'",
    ),
    "wide embeddings": (
        "albert",
        lambda f: changed_config(f, embedding_size=32),
        "embedding_size and hidden_size are both 32",
    ),
    "several inner groups": ("albert", lambda f: changed_config(f, inner_group_num=2), "inner_group_num is 2"),
    "no head": ("bert", without_head, "no whole BertForMaskedLM: cls.predictions"),
    "untied words": ("camembert", untied, "its tables of input and output words differ"),
    "biases that differ": (
        "roberta",
        in_weights(lm_head__bias=1.0, lm_head__decoder__bias=2.0),
        "lm_head.bias and lm_head.decoder.bias differ, and its config.json says they are one; write the right one",
    ),
    "weights that are no numbers": (
        "roberta",
        in_weights(lm_head__bias=float("nan")),
        "bias holds NaN or infinity; copy the published weights again",
    ),
    "a head with another GELU": (
        "roberta",
        lambda f: changed_config(f, hidden_act="gelu_new"),
        "hidden_act gelu_new: transformers computes the head of RobertaForMaskedLM with gelu",
    ),
    "a generator's head with another GELU": (
        "electra",
        lambda f: changed_config(f / "generator", hidden_act="gelu_pytorch_tanh"),
        "hidden_act gelu_pytorch_tanh: transformers computes the head of ElectraForMaskedLM with gelu",
    ),
    "a decoder": ("bert", lambda f: changed_config(f, is_decoder=True), "is_decoder is true; ours reads in both"),
    "a dropout that is no number": (
        "bert",
        lambda f: changed_config(f, hidden_dropout_prob=float("nan")),
        "the dropout of an encoder must be 0 or more and below 1, not nan",
    ),
    "a dropout of all": (
        "bert",
        lambda f: changed_config(f, attention_probs_dropout_prob=1.0),
        "the dropout of attention of an encoder must be 0 or more and below 1, not 1.0",
    ),
    "buckets in words": (
        "deberta",
        lambda f: changed_config(f, position_buckets="many"),
        "position_buckets is 'many', not a whole number",
    ),
    "scaled rotary positions": (
        "modernbert",
        lambda f: changed_config(f, rope_scaling={"type": "linear", "factor": 2.0}),
        "its rotary positions are scaled",
    ),
    "more rows than words": (
        "roberta",
        more_rows,
        "lm_head.decoder.weight has 664 rows and config.json 661 words",
    ),
    "a negative padding": ("bert", lambda f: changed_config(f, pad_token_id=-1), "pad_token_id is -1; write the id"),
    "a special token that is a word": (
        "bert",
        in_rules(a_point_that_is_special),
        "ids that preprocess.binarize does not, for it flags '.' as special; correct tokenizer.json in a copy",
    ),
    "a Unigram model without an unknown": (
        "camembert",
        in_rules(lambda rules: rules["model"].update(unk_id=None)),
        "cannot read a text (",
    ),
    "no padding": ("roberta", lambda f: changed_config(f, pad_token_id=None), "pad_token_id is null"),
    "a list of types": ("bert", lambda f: changed_config(f, model_type=["bert"]), "of the type \"['bert']\"; only"),
    "a pickle that runs code": ("bert", evil_pickle, "pytorch_model.bin: a pickle, which is never opened"),
    "no weights": ("bert", lambda f: (f / "model.safetensors").unlink(), "its weights cannot be read"),
    "weights of another size": (
        "bert",
        lambda f: changed_config(f, hidden_size=64),
        "has not the shape (64,) of config.json; give the config.json that was published with the weights",
    ),
    "weights that are not whole": (
        "bert",
        lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-9]),
        "model.safetensors: not whole (",
    ),
    "a pointer in the place of weights": (
        "bert",
        lambda f: (f / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\nsize 1\n"),
        "copy it again. A file of some hundred bytes is a pointer of Git LFS.",
    ),
    "more layers than weights": (
        "bert",
        lambda f: changed_config(f, num_hidden_layers=5),
        "missing; copy config.json and the weights again from one published folder, or give another model.",
    ),
    "no types of tokens": ("roberta", lambda f: changed_config(f, type_vocab_size=0), "type_vocab_size is 0; write 1"),
    "merges that no prefix fits": (
        "roberta",
        in_rules(lambda rules: rules["model"].update(continuing_subword_prefix="##")),
        "; copy the published tokenizer's files again",
    ),
    "a mask without letters": ("bert", lambda f: write_tokenizer_config(f, mask_token=""), "no mask_token, which"),
    "no positions": (
        "modernbert",
        lambda f: changed_config(f, max_position_embeddings=0),
        "the number of positions of an encoder must be 1 or more, not 0",
    ),
    "a negative epsilon": (
        "modernbert",
        lambda f: changed_config(f, norm_eps=-1e-5),
        "the epsilon of the LayerNorms of an encoder must be 0 or more",
    ),
    "heads of another width": ("modernbert", lambda f: changed_config(f, head_dim=8), "its heads are 8 wide"),
    "padding that is a word's end": (
        "bert",
        lambda f: write_tokenizer_config(f, pad_token="[SEP]"),
        "[SEP] is both sep_token and pad_token; give each a token of its own",
    ),
    "an unknown token that is not there": (
        "bert",
        lambda f: write_tokenizer_config(f, tokenizer_class="PreTrainedTokenizerFast", unk_token="<new>"),
        "its tokenizer gives ids up to 504, its model has 504 words",
    ),
    "a length that is none": (
        "bert",
        lambda f: write_tokenizer_config(f, model_max_length="abc"),
        "its tokenizer cannot read a text",
    ),
    "a tokenizer of more words": ("bert", foreign_tokenizer, "its tokenizer gives ids up to 660, its model has 504"),
    "another padding": (
        "bert",
        lambda f: changed_config(f, pad_token_id=7),
        "pads with id 7, its tokenizer with [PAD], 0; correct pad_token_id in a copy of config.json",
    ),
    "another padding, behind which positions begin": (
        "camembert",
        lambda f: changed_config(f, pad_token_id=0),
        "its positions count from config.json's, so make '<s>NOTUSED' the tokenizer's pad_token in a copy",
    ),
    "a tokenizer that needs code": (
        "bert",
        lambda f: write_tokenizer_config(f, auto_map={"AutoTokenizer": ["code.Words", None]}),
        "tokenizer_config.json: the tokenizer needs code of its own (auto_map), which is never run",
    ),
    "a list in the place of the tokenizer's settings": (
        "bert",
        lambda f: (f / "tokenizer_config.json").write_text("[]"),
        "tokenizer_config.json: not a tokenizer's configuration (no JSON object); copy the published file again",
    ),
    "no tokenizer": (
        "bert",
        no_tokenizer,
        "AutoTokenizer cannot read" if transformers.__version__.startswith("4.") else "holds no tokenizer",
    ),
    "no mask": ("bert", no_mask, "its tokenizer has no mask_token"),
    "no generator": (
        "electra",
        remove_generator,
        "no config.json there, and replaced token detection needs",
    ),
    "a generator of other words": (
        "electra",
        lambda f: changed_config(f / "generator", max_position_embeddings=32),
        "electra.embeddings.position_embeddings.weight has not the shape (32, 16) of config.json",
    ),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_what_cannot_be_continued_is_refused_and_nothing_is_written(what, published, tmp_path):
    family, change, complaint = REFUSALS[what]
    folder = shutil.copytree(published / family, tmp_path / "in" / "source")
    change(folder)
    with pytest.raises(InputError, match=re.escape(complaint)) as refused:
        load(folder, tmp_path / "out" / "model")
    assert str(refused.value).count("\n") == 0 and not any((tmp_path / "out").rglob("*"))
    assert not (folder / "executed").exists()


@pytest.mark.skipif(transformers.__version__.startswith("4."), reason="version 4 reads tokenizer.json as it stands")
def test_a_class_that_contradicts_the_tokenizer_json_is_refused(published, tmp_path):
    folder = shutil.copytree(published / "bert", tmp_path / "source")
    other_rules(folder)
    with pytest.raises(InputError, match="AutoTokenizer, by its class BertTokenizer, and tokenizer.json differ"):
        load(folder, tmp_path / "out")
    write_tokenizer_config(folder, tokenizer_class="PreTrainedTokenizerFast")  # the remedy that the sentence names
    load(folder, tmp_path / "out")
    assert load_tokenizer(tmp_path / "out").encode("LE", add_special_tokens=False).tokens == ["le"]


@pytest.mark.skipif(transformers.__version__.startswith("4."), reason="version 4 reads tokenizer.json as it stands")
def test_a_class_that_splits_longer_words_is_refused(published, tmp_path):
    """transformers 5 forgets a limit of tokenizer.json: words of 61 to 100 letters would be known to it alone."""
    folder = shutil.copytree(published / "bert", tmp_path / "source")
    in_rules(lambda rules: rules["model"].update(max_input_chars_per_word=60))(folder)
    write_tokenizer_config(folder, tokenizer_class="BertTokenizer")
    with pytest.raises(InputError, match="in the longest word that they split: 100 and 60; if its tokenizer.json is"):
        load(folder, tmp_path / "out")
    assert load(folder, tmp_path / "out", longest_word=90)["longest_word"] == 90


@pytest.mark.parametrize("name", ["${x}", "a\udcff"])
def test_an_output_that_a_checkpoint_cannot_name_is_refused(name, published, tmp_path, monkeypatch):
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    for output in (tmp_path / name / "out", Path("out")):
        with pytest.raises(InputError, match="fairseq cannot keep this name in a checkpoint; give another"):
            load(published / "bert", output)
    assert not any((tmp_path / name).iterdir())


@pytest.mark.parametrize("unused", ["lm_head.bias", "lm_head.decoder.bias"])
def test_a_bias_of_zeros_beside_another_one_is_left_out(unused, published, tmp_path):
    """Older classes of transformers had two biases, of which one was never trained."""
    folder = shutil.copytree(published / "roberta", tmp_path / "source")
    used = ({"lm_head.bias", "lm_head.decoder.bias"} - {unused}).pop()
    in_weights(**{used.replace(".", "__"): 0.5, unused.replace(".", "__"): 0.0})(folder)
    assert load(folder, tmp_path / "out")["left_out"] == [unused]
    state = checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "out" / "checkpoint.pt"))["model"]
    assert state["encoder.lm_head.bias"].eq(0.5).all()


@pytest.mark.parametrize(
    "setting",
    [
        {"chunk_size_feed_forward": 7},
        {"return_dict": False},
        {"output_attentions": True},
        {"attn_implementation": "kernels-community/flash-attn2"},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_settings_of_how_transformers_computes_are_not_followed(setting, published, tmp_path):
    """They would end in a traceback, or fetch code."""
    folder = shutil.copytree(published / "bert", tmp_path / "source")
    changed_config(folder, **setting)
    load(folder, tmp_path / "out")


def test_a_generator_elsewhere_and_one_that_does_not_fit(published, tmp_path):
    folder = shutil.copytree(published / "electra", tmp_path / "source")
    generator = shutil.move(folder / "generator", tmp_path / "generator")
    for _ in range(2):  # its own older output is replaced
        load(folder, tmp_path / "out", generator=Path(generator))
    same = checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "out" / "checkpoint.pt"))["model"]
    assert any(name.startswith("generator.") for name in same)
    with pytest.raises(InputError, match="no whole ElectraForMaskedLM: generator_"):
        load(folder, tmp_path / "no", generator=folder)
    with pytest.raises(InputError, match="of the type 'bert', no generator for electra"):
        load(folder, tmp_path / "no", generator=published / "bert")
    with pytest.raises(InputError, match="absent: no config.json there"):  # before the heads of an MLM are missed
        load(published / "deberta", tmp_path / "no", generator=tmp_path / "absent")
    with pytest.raises(InputError, match="only ELECTRA and DeBERTa have a generator"):
        load(published / "bert", tmp_path / "no", generator=Path(generator))


@pytest.mark.parametrize("file", ["tokenizer.json", "vocab.txt"])
def test_a_generator_with_another_tokenizer_is_refused(file, published, tmp_path):
    """The same number of tokens, two of them in each other's place."""
    folder = shutil.copytree(published / "electra", tmp_path / "source")
    rules = json.loads((folder / "generator" / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = rules["model"]["vocab"]
    vocabulary["le"], vocabulary["la"] = vocabulary["la"], vocabulary["le"]
    (folder / "generator" / "tokenizer.json").unlink()
    text = json.dumps(rules) if file == "tokenizer.json" else "\n".join(sorted(vocabulary, key=vocabulary.get))
    (folder / "generator" / file).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="not the generator of .*: its tokenizer gives"):
        load(folder, tmp_path / "out")
