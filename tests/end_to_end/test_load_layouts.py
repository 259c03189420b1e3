"""Folders as their publishers lay them out: odd names, missing parts, other classes, half precision, shards."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import sentencepiece
import torch
import transformers
from fairseq import checkpoint_utils
from long_cases import long_except
from published_configs import MODELS, SMALL, write_published
from published_models import changed_config, write_model, write_tokenizer_config
from published_tokenizers import made, sentencepiece_model, write_tokenizer
from safetensors.torch import load_file, save_file
from text_helpers import some_lines
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from alibert_common.errors import InputError
from alibert_fairseq.hf.export import export
from alibert_fairseq.hf.load import describe, load
from alibert_fairseq.hf.published.tokenizer import PublishedTokenizer
from preprocess.tokenizer.load import load_tokenizer


def test_a_folder_with_a_sentencepiece_model_alone(published, tmp_path):
    """What AutoTokenizer converts has the ids of the tokenizer.json that was published."""
    source = shutil.copytree(published / "camembert", tmp_path / "source")
    (source / "tokenizer.json").unlink()
    (source / "sentencepiece.bpe.model").write_bytes(sentencepiece_model())
    load(source, tmp_path / "out")
    tokenizer = load_tokenizer(tmp_path / "out")
    expected = AutoTokenizer.from_pretrained(published / "camembert")(some_lines(), add_special_tokens=False)[
        "input_ids"
    ]
    assert [encoding.ids for encoding in tokenizer.encode_batch(some_lines(), add_special_tokens=False)] == expected


def test_a_sentencepiece_bpe_whose_class_is_a_unigram(published, tmp_path):
    """DrBERT's. CamembertTokenizer of transformers 5 cannot hold it; the ids are those of sentencepiece, 4 behind."""
    source = shutil.copytree(published / "drbert", tmp_path / "source")
    load(source, tmp_path / "out")
    export(tmp_path / "out" / "checkpoint.pt", tmp_path / "out", tmp_path / "model")
    spoken = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model("bpe"))
    expected = [[5, *(number + 4 if number else 3 for number in spoken.encode(line)), 6] for line in some_lines()]
    assert AutoTokenizer.from_pretrained(tmp_path / "model")(some_lines())["input_ids"] == expected
    (source / "tokenizer.json").unlink()
    (source / "sentencepiece.bpe.model").write_bytes(sentencepiece_model("bpe"))
    if transformers.__version__.startswith("4."):
        load(source, tmp_path / "out")
    else:
        remedy = "sentencepiece and protobuf, make its tokenizer.json and tokenizer_config.json once: P="
        with pytest.raises(InputError, match=f"AutoTokenizer cannot read its tokenizer .*{remedy}"):
            load(source, tmp_path / "no")


@pytest.mark.skipif(transformers.__version__.startswith("4."), reason="version 4 converts the model with its rules")
def test_a_class_that_forgets_the_rules_of_its_sentencepiece_model_is_refused(tmp_path):
    """DebertaV2Tokenizer of transformers 5, of a folder as mdeberta-v3-base: µ and no-break spaces would be unknown."""
    source = write_model(tmp_path / "source", "deberta")
    (source / "tokenizer.json").unlink()
    tokens = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
    special = {f"{name}_id": number for number, name in enumerate(tokens)}
    special |= {f"{name}_piece": token for name, token in tokens.items()}
    (source / "spm.model").write_bytes(sentencepiece_model("unigram", **special))
    (source / "tokenizer_config.json").write_text('{"do_lower_case": false, "vocab_type": "spm"}')
    sentence = (
        "AutoTokenizer, by its class DebertaV2Tokenizer, and spm.model differ, for .* make its tokenizer.json and"
    )
    with pytest.raises(InputError, match=sentence):
        load(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_word_piece_under_the_class_of_a_bpe(tmp_path):
    """RobertaTokenizer of transformers 5 would make a BPE without merges of it: letters."""
    source = write_model(tmp_path / "source", "roberta", vocab_size=504, pad_token_id=0, max_position_embeddings=65)
    write_tokenizer(source, "wordpiece", tokenizer_class="RobertaTokenizer", bos_token="[CLS]", eos_token="[SEP]")
    load(source, tmp_path / "out")
    ids = AutoTokenizer.from_pretrained(tmp_path / "out")(some_lines())["input_ids"]
    assert ids == [encoding.ids for encoding in Tokenizer.from_str(made("wordpiece")[0]).encode_batch(some_lines())]


def test_a_lower_casing_word_piece(published, tmp_path):
    """bert-base-uncased's rules."""
    source = shutil.copytree(published / "bert", tmp_path / "source")
    rules = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    rules["normalizer"] |= {"lowercase": True, "strip_accents": None}
    (source / "tokenizer.json").write_text(json.dumps(rules), encoding="utf-8")
    write_tokenizer_config(source, do_lower_case=True, strip_accents=None)
    load(source, tmp_path / "out")
    read = AutoTokenizer.from_pretrained(tmp_path / "out")
    shouted, plain = read(["UNE FIÈVRE ÉLEVÉE", "une fievre elevee"])["input_ids"]
    assert shouted == plain and 100 not in plain
    (tmp_path / "words.txt").write_text("Hépatomégalie\n", encoding="utf-8")
    load(source, tmp_path / "more", add_tokens=tmp_path / "words.txt")
    read = AutoTokenizer.from_pretrained(tmp_path / "more")
    assert read.tokenize("une HÉPATOMÉGALIE")[-1] == "hepatomegalie"


def test_what_has_no_place_is_named_and_left_out(published, tmp_path):
    """camembert-base has a pooler in its file that CamembertForMaskedLM does not use."""
    source = shutil.copytree(published / "camembert", tmp_path / "source")
    model = transformers.RobertaModel(transformers.RobertaConfig.from_pretrained(source), add_pooling_layer=True)
    words = transformers.RobertaForMaskedLM.from_pretrained(source)
    model.load_state_dict(words.roberta.state_dict(), strict=False)
    state = words.state_dict() | {f"roberta.{name}": value for name, value in model.state_dict().items()}
    save_file({name: value.clone() for name, value in state.items()}, source / "model.safetensors", {"format": "pt"})
    manifest = load(source, tmp_path / "out")
    assert manifest["left_out"] == ["roberta.pooler.dense.bias", "roberta.pooler.dense.weight"]


def test_half_precision_weights_in_parts_become_float32(published, tmp_path):
    source = shutil.copytree(published / "bert", tmp_path / "source")
    model = transformers.BertForPreTraining.from_pretrained(source).half()
    (source / "model.safetensors").unlink()
    model.save_pretrained(source, max_shard_size="50KB")
    for other in ("training_args.bin", "pytorch_model.bin", "README.txt"):
        (source / other).write_bytes(b"not read")
    manifest = load(source, tmp_path / "out")
    state = checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "out" / "checkpoint.pt"))["model"]
    assert {value.dtype for value in state.values()} == {torch.float32}
    parts = {path.name for path in source.glob("model-*.safetensors")}
    others = {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors.index.json"}
    assert len(parts) > 1 and {Path(file["path"]).name for file in manifest["inputs"]} == parts | others


def back(place: Path, folder: str = "model") -> dict[str, torch.Tensor]:
    """The tensors of the folder that becomes of a checkpoint."""
    export(place / "checkpoint.pt", place, place / folder)
    return load_file(place / folder / "model.safetensors")


def renamed(folder: Path, changes: dict[str, str], **more: torch.Tensor) -> dict[str, torch.Tensor]:
    """Write the weights with parts of their names changed, and more of them; those that were there."""
    weights = load_file(folder / "model.safetensors")
    new = {}
    for name, value in weights.items():
        for old, other in changes.items():
            name = name.replace(old, other)
        new[name] = value
    save_file(new | more, folder / "model.safetensors", {"format": "pt"})
    return weights


MICROSOFTS = {
    "cls.predictions.transform.dense": "lm_predictions.lm_head.dense",
    "cls.predictions.transform.LayerNorm": "lm_predictions.lm_head.LayerNorm",
    "cls.predictions.bias": "lm_predictions.lm_head.bias",
}


def test_microsofts_deberta(published, tmp_path):
    """microsoft/deberta-v3-base: its own names of the head, both heads, unread positions, few settings, half."""
    source = shutil.copytree(published / "deberta", tmp_path / "source")
    config = json.loads((source / "config.json").read_text())
    for name in ("architectures", "legacy", "tie_word_embeddings", "pooler_hidden_size", "bos_token_id"):
        config.pop(name, None)
    (source / "config.json").write_text(json.dumps(config | {"pos_att_type": "p2c|c2p"}))
    extra = {"deberta.embeddings.position_embeddings.weight": torch.ones(64, 32)}
    extra |= {f"mask_predictions.{name}": torch.ones(32) for name in ("LayerNorm.weight", "dense.bias")}
    before = renamed(source, MICROSOFTS, **extra)
    half = {name: value.half() for name, value in load_file(source / "model.safetensors").items()}
    save_file(half, source / "model.safetensors", {"format": "pt"})
    manifest = load(source, tmp_path / "out")
    assert {*extra} <= set(manifest["left_out"])
    after = back(tmp_path / "out")
    assert before.keys() == after.keys()
    assert [name for name in after if not torch.equal(after[name], before[name].half().float())] == []


@pytest.mark.parametrize("says_so", [False, True])
def test_microsofts_generator(says_so, published, tmp_path):
    """A generator under Microsoft's names, which its configuration may also say."""
    generator = write_model(tmp_path / "generator", "deberta", num_hidden_layers=1)
    shutil.copy(published / "deberta_rtd" / "tokenizer.json", generator)  # the same ids in every process
    first = load(published / "deberta_rtd", tmp_path / "first", generator=generator)
    renamed(generator, MICROSOFTS)
    if says_so:
        changed_config(generator, legacy=False)
    second = load(published / "deberta_rtd", tmp_path / "second", generator=generator)
    assert first["options"] == second["options"] and "--generator-layers 1" in first["options"]
    places = (tmp_path / place / "checkpoint.pt" for place in ("first", "second"))
    before, after = (checkpoint_utils.load_checkpoint_to_cpu(str(place))["model"] for place in places)
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)


def test_a_new_head_for_a_folder_of_microsofts_names(published, tmp_path):
    source = shutil.copytree(published / "deberta", tmp_path / "source")
    changed_config(source, legacy=False)
    headless(source)
    assert len(load(source, tmp_path / "out", new_head=True)["new"]) >= 5


def test_what_fine_tuning_reads_of_a_configuration(published, tmp_path):
    """The pooling of a ModernBERT stays; the dropout of classifiers is named, and left out."""
    source = shutil.copytree(published / "modernbert", tmp_path / "source")
    changed_config(source, classifier_pooling="mean", classifier_dropout=0.2)
    manifest = load(source, tmp_path / "out")
    assert manifest["left_out"] == ["classifier_dropout 0.2 of config.json"]
    back(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "model" / "config.json").read_text())["classifier_pooling"] == "mean"


def headless(folder: Path) -> dict[str, torch.Tensor]:
    """The encoder alone, without a prefix, as AutoModel saves it; its tensors."""
    weights = load_file(folder / "model.safetensors")
    body = {name.removeprefix("deberta."): value for name, value in weights.items() if name.startswith("deberta.")}
    save_file(body, folder / "model.safetensors", {"format": "pt"})
    return body


def test_an_encoder_without_a_head(published, tmp_path):
    """almanach/camembertav2-base. A new head has the same weights each time."""
    source = shutil.copytree(published / "deberta", tmp_path / "source")
    body = headless(source)
    remedy = "no whole DebertaV2ForMaskedLM: .* missing; .* or --new-head, whose head begins with random weights"
    with pytest.raises(InputError, match=remedy):
        load(source, tmp_path / "out")
    first, manifest = (load(source, tmp_path / place, new_head=True) for place in ("first", "second"))
    assert (
        first["new"] == manifest["new"] and len(manifest["new"]) >= 5 and "random weights of seed 1" in describe(first)
    )
    after = back(tmp_path / "second")
    for name, value in body.items():
        assert torch.equal(after[f"deberta.{name}"], value)
    again = back(tmp_path / "first")
    assert all(torch.equal(after[name], again[name]) for name in after)


def test_a_discriminator_without_a_head_beside_a_generator(published, tmp_path):
    """almanach/camembertav2-base with the generator of its checkpoints: the detector begins anew."""
    source = shutil.copytree(published / "deberta_rtd", tmp_path / "source")
    headless(source)
    with pytest.raises(InputError, match="no whole DebertaV2Detector: mask_predictions"):
        load(source, tmp_path / "out")
    manifest = load(source, tmp_path / "out", new_head=True)
    assert {name.split(".")[0] for name in manifest["new"]} == {"mask_predictions"}
    assert "--arch electra_deberta_base" in manifest["options"]


def test_a_difference_of_tables_alone_is_refused(published, tmp_path):
    """Some of Microsoft's discriminators hold what is added to the generator's table, under another name."""
    source = shutil.copytree(published / "deberta", tmp_path / "source")
    renamed(source, {"word_embeddings.weight": "word_embeddings._weight"})
    with pytest.raises(InputError, match="missing; copy config.json and .* or give another model.$"):
        load(source, tmp_path / "out", new_head=True)


@pytest.mark.parametrize("family", ["camembert", "modernbert", "deberta"])
def test_two_tables_of_words(family, published, tmp_path):
    """Where the configuration says that they are two, they stay two. transformers 5 then has a bias without a use."""
    source = shutil.copytree(published / family, tmp_path / "source")
    changed_config(source, tie_word_embeddings=False)
    model = getattr(transformers, json.loads((source / "config.json").read_text())["architectures"][0])
    theirs = model.from_pretrained(source)
    torch.manual_seed(3)
    output = theirs.get_output_embeddings()
    output.weight = torch.nn.Parameter(torch.randn_like(theirs.get_input_embeddings().weight))
    torch.nn.init.normal_(output.bias)
    theirs.save_pretrained(source)
    before = load_file(source / "model.safetensors")
    manifest = load(source, tmp_path / "out")
    after = back(tmp_path / "out")
    assert "--untied-output-words" in manifest["options"]
    assert [name for name in before if not torch.equal(before[name], after[name])] == manifest["left_out"]
    used = [name for name in before if name.endswith(("decoder.bias", "predictions.bias", "lm_head.bias"))]
    assert manifest["left_out"] == ([] if len(used) == 1 else [name for name in used if "decoder" not in name])
    assert (tmp_path / "out" / "model" / "config.json").read_text().count('"tie_word_embeddings": false') == 1


@pytest.mark.parametrize("name", ["almanach/camembertv2-base", "doctolib-lab/doctobert-fr-base"])
def test_more_words_for_tokenizers_since_2024(name, tmp_path):
    """A WordPiece behind elisions, and a BPE with bytes that is handed whole lines."""
    source = write_published(tmp_path / "source", name, **SMALL, vocab_size=700)
    (tmp_path / "words.txt").write_text("hépatomégalie\nœdématié\n", encoding="utf-8")
    before = PublishedTokenizer(source).backend
    load(source, tmp_path / "out", add_tokens=tmp_path / "words.txt")
    after = load_tokenizer(tmp_path / "out")
    lines = some_lines()
    known = [line for line in lines if not re.search("hépatomégalie|œdématié|[[]MASK[]]", line)]
    assert [one.ids for one in before.encode_batch(known)] == [one.ids for one in after.encode_batch(known)]
    tokens = after.encode("une hépatomégalie et œdématié 漢", add_special_tokens=False).tokens
    assert {"une", "hépatomégalie", "œdématié"} <= {token.lstrip("▁") for token in tokens}


def test_words_of_more_than_sixteen_characters(tmp_path):
    """They are unknown to CamemBERTv2's WordPiece, and split where it is asked for."""
    source = write_published(tmp_path / "source", "almanach/camembertv2-base", **SMALL, vocab_size=500)
    text, counts = "une gastroentérologie", []
    for place, longest in (("as published", None), ("split", 100)):
        manifest = load(source, tmp_path / place, longest_word=longest)
        export(tmp_path / place / "checkpoint.pt", tmp_path / place, tmp_path / place / "model")
        ids = AutoTokenizer.from_pretrained(tmp_path / place / "model")(text)["input_ids"]
        assert ids[1:-1] == load_tokenizer(tmp_path / place).encode(text, add_special_tokens=False).ids
        counts.append(ids.count(3))
        said = "words of more than 16 characters; --longest-word 100 splits them"
        assert (said in describe(manifest)) == (longest is None)
    assert counts == [1, 0]
    write_published(tmp_path / "bpe", "doctolib-lab/doctobert-fr-base", **SMALL, vocab_size=700)
    with pytest.raises(
        InputError, match="--longest-word 100: is for a WordPiece, and .* has a BPE model; leave it out"
    ):
        load(tmp_path / "bpe", tmp_path / "no", longest_word=100)
    with pytest.raises(InputError, match="--longest-word 100: is for the published tokenizer, which --tokenizer"):
        load(source, tmp_path / "no", tokenizer=tmp_path / "split", longest_word=100)
    with pytest.raises(InputError, match="--tokenizer and --add-tokens: give one of them"):
        load(source, tmp_path / "no", tokenizer=tmp_path / "split", add_tokens=tmp_path / "words.txt")


def test_the_side_that_is_cut_and_filled_stays(published, tmp_path):
    source = shutil.copytree(published / "bert", tmp_path / "source")
    write_tokenizer_config(source, padding_side="left", truncation_side="left")
    load(source, tmp_path / "out")
    export(tmp_path / "out" / "checkpoint.pt", tmp_path / "out", tmp_path / "model")
    before, after = map(AutoTokenizer.from_pretrained, (source, tmp_path / "model"))
    for how in ({"padding": True}, {"truncation": True, "max_length": 5}):
        assert after(some_lines()[:9], **how)["input_ids"] == before(some_lines()[:9], **how)["input_ids"]


def test_longer_words_change_nothing_else(published, tmp_path):
    """BERT's tokenizer gives segments, and goes on to give them."""
    configurations = []
    for place, longest in (("as published", None), ("split", 200)):
        load(published / "bert", tmp_path / place, longest_word=longest)
        configurations.append((tmp_path / place / "tokenizer_config.json").read_text())
    assert configurations[0] == configurations[1] and "token_type_ids" in configurations[0]
    load(published / "electra", tmp_path / "electra", longest_word=8)  # its generator has the published limit


@pytest.mark.parametrize("shards", [False, True])
def test_the_remedy_for_a_pickle(shards, published, tmp_path, monkeypatch):
    """The command that the sentence names writes the safetensors."""
    source = shutil.copytree(published / "bert", tmp_path / "l'hôpital $1")
    state = load_file(source / "model.safetensors")
    (source / "model.safetensors").unlink()
    if shards:
        names, files = sorted(state), ("pytorch_model-1-of-2.bin", "pytorch_model-2-of-2.bin")
        for file, some in zip(files, (names[:9], names[9:]), strict=True):
            torch.save({name: state[name] for name in some}, source / file)
        index = {"weight_map": {name: files[n >= 9] for n, name in enumerate(names)}}
        (source / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    else:
        torch.save(state, source / "pytorch_model.bin")
    with pytest.raises(InputError, match="pytorch_model.bin.*: a pickle, which is never opened; .* write") as refused:
        load(source, tmp_path / "out")
    place, _, _, command, _ = shlex.split(str(refused.value).partition(" once: ")[2].replace('".', '" .'))
    monkeypatch.chdir(tmp_path)  # from any folder
    monkeypatch.setenv("P", place.removeprefix("P="))
    exec(command, {})
    load(source, tmp_path / "out")
    assert all(torch.equal(value, state[name]) for name, value in back(tmp_path / "out").items())


# Their tokenizers and bodies are also those of other models here, or of a family in published_models.py.
LIKE_OTHERS = (
    "almanach/camembert-base", "almanach/camembert-bio-base", "Dr-BERT/DrBERT-7GB", "almanach/moderncamembert-base",
    "almanach/ModernCamemBERT-bio-large",
)  # fmt: skip


@pytest.mark.parametrize("name", long_except(MODELS, *(name for name in MODELS if name not in LIKE_OTHERS)))
def test_the_layouts_of_french_models(name, tmp_path):
    """Each with its kind of tokenizer, its special ids and its numbers, but three layers of 32."""
    source = write_published(tmp_path / "source", name, **SMALL)
    size = PublishedTokenizer(source).backend.get_vocab_size()
    write_published(source, name, **SMALL, vocab_size=size + 3)
    manifest = load(source, tmp_path / "out", new_head=MODELS[name].headless)
    before, after = load_file(source / "model.safetensors"), back(tmp_path / "out")
    prefix = "deberta." if MODELS[name].headless else ""
    assert [one for one, value in before.items() if not torch.equal(value, after[f"{prefix}{one}"])] == []
    assert max(manifest["largest_difference_of_logits"].values()) < 1e-5
    own = Tokenizer.from_file(str(source / "tokenizer.json"))
    read = AutoTokenizer.from_pretrained(tmp_path / "out" / "model")
    lines = [*some_lines(), "l’œdème d'une gastroentérologie, 漢字 😀 № ½ µg  <s> [SEP] #"]
    assert read(lines)["input_ids"] == [encoding.ids for encoding in own.encode_batch(lines)]
