"""Model folders: what is loaded is really there, what is saved can be loaded, the rest is one sentence."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import write_electra, write_roberta
from tokenizers import Tokenizer, processors
from transformers import (
    AutoModel,
    AutoModelForTokenClassification,
    Data2VecTextConfig,
    ElectraConfig,
    LongformerConfig,
    ModernBertConfig,
    ModernBertForMaskedLM,
    MPNetConfig,
    RobertaConfig,
    T5Config,
    XLNetConfig,
)

from alibert_common.errors import InputError
from downstream.training.heads import a_label, a_label_per_token, a_number, a_span, labels
from downstream.training.models import (
    FORM_WEIGHTS,
    device_of,
    fingerprint,
    load_config,
    load_encoder,
    load_model,
    save_model,
)
from downstream.training.tokenizer import TOKENIZER_FILES, frame_of, load_tokenizer

HEAD = a_label_per_token(["O", "B-anatomy", "I-anatomy"])


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {"roberta": write_roberta(folder / "roberta"), "electra": write_electra(folder / "electra")}


@pytest.fixture(params=["roberta", "electra"])
def folder(request, originals, tmp_path):
    return shutil.copytree(originals[request.param], tmp_path / "model")


def test_the_encoder_is_the_pretrained_one_and_the_labels_have_their_names(folder):
    model = load_model(folder, HEAD, random_init=False)
    pretrained = AutoModel.from_pretrained(folder).state_dict()
    ours = model.base_model.state_dict()
    assert ours and all(torch.equal(tensor, pretrained[name]) for name, tensor in ours.items())
    assert model.config.id2label == {0: "O", 1: "B-anatomy", 2: "I-anatomy"}


def test_random_init_keeps_nothing_but_the_architecture(folder):
    torch.manual_seed(5)
    model = load_model(folder, HEAD, random_init=True)
    pretrained = load_model(folder, HEAD, random_init=False).state_dict()
    matrices = [name for name, tensor in model.state_dict().items() if tensor.ndim == 2 and tensor.is_floating_point()]
    assert matrices and not any(torch.equal(model.state_dict()[name], pretrained[name]) for name in matrices)


@pytest.mark.parametrize(
    "head, problem, names",
    [
        (a_label(["no", "yes"]), "single_label_classification", {0: "no", 1: "yes"}),
        (labels(["a", "b", "c"]), "multi_label_classification", {0: "a", 1: "b", 2: "c"}),
        (a_number(), "regression", {0: "score"}),
        (a_span(), None, None),
    ],
)
def test_the_configuration_says_what_the_head_is(folder, tmp_path, head, problem, names):
    model = load_model(folder, head, random_init=False)
    save_model(model, folder, tmp_path / "saved", {})
    config = head.auto.from_pretrained(tmp_path / "saved").config
    assert config.problem_type == problem and (names is None or config.id2label == names)
    assert config.label2id == {name: number for number, name in config.id2label.items()}


@pytest.mark.parametrize("random_init", [False, True])
def test_a_folder_in_half_precision_is_fine_tuned_in_single(folder, random_init):
    AutoModel.from_pretrained(folder).half().save_pretrained(folder)
    model = load_model(folder, HEAD, random_init)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_the_dropout_of_the_protocol_takes_the_place_of_the_models(folder):
    rates = {}
    for asked in (None, 0.25):
        model = load_model(folder, HEAD, False, dropout=asked)
        rates[asked] = {layer.p for layer in model.modules() if isinstance(layer, torch.nn.Dropout)}
    assert rates[0.25] == {0.25} and 0.25 not in rates[None]


def test_the_dropout_of_the_protocol_is_everywhere_in_a_modern_body(tmp_path):
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "intermediate_size": 8}
    ModernBertForMaskedLM(ModernBertConfig(**sizes, vocab_size=9, pad_token_id=1)).save_pretrained(tmp_path)
    model = load_model(tmp_path, HEAD, False, dropout=0.25)
    rates = [layer.p for layer in model.modules() if isinstance(layer, torch.nn.Dropout)]
    assert set(rates) == {0.25} and len(rates) == 6  # embeddings, two blocks of attention, two of the MLP, the head


def test_the_same_seed_gives_the_same_head(folder):
    heads = []
    for _ in range(2):
        torch.manual_seed(3)
        heads.append(load_model(folder, HEAD, random_init=False).classifier.weight)
    assert torch.equal(*heads)


def test_a_missing_encoder_weight_is_refused(folder):
    weights = load_file(folder / "model.safetensors")
    gone = next(name for name in weights if "attention.self.query.weight" in name)
    del weights[gone]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match="lacks 1 weights of the encoder .*query.weight"):
        load_model(folder, HEAD, random_init=False)


def test_truncated_weights_are_refused(folder):
    with open(folder / "model.safetensors", "r+b") as handle:
        handle.truncate(1000)
    with pytest.raises(InputError, match="no usable weights"):
        load_model(folder, HEAD, random_init=False)


class Hostile:
    """Whoever unpickles it writes a file."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (str(self.file), "w")


def test_a_damaged_bin_is_refused_and_what_it_hides_is_not_run(folder, tmp_path):
    (folder / "model.safetensors").unlink()
    file, hidden = folder / "pytorch_model.bin", tmp_path / "hidden"
    torch.save({"weight": torch.zeros(9)}, file)
    damaged = [file.read_bytes()[:size] for size in (0, 100, 900)] + [b"text, no weights"]
    torch.save({"weight": Hostile(hidden)}, file)
    for content in [*damaged, file.read_bytes()]:
        file.write_bytes(content)
        with pytest.raises(InputError, match=r"model: no usable weights \(.*\); export the folder again\.$") as error:
            load_model(folder, HEAD, random_init=False)
        assert not any(end in str(error.value) for end in (". ", "\n"))  # torch's advice is to run it
    assert not hidden.exists()


def test_what_is_no_weights_of_the_model_does_not_count_as_such(folder):
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    torch.save({}, folder / "training_args.bin")
    with pytest.raises(InputError, match=r"no weights in it \(model\.safetensors\)"):
        load_model(folder, HEAD, random_init=False)


def test_weights_in_a_bin_are_read(folder):
    before = load_model(folder, HEAD, random_init=False).base_model.state_dict()
    torch.save(AutoModel.from_pretrained(folder).state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    after = load_model(folder, HEAD, random_init=False).base_model.state_dict()
    assert all(torch.equal(weights, after[name]) for name, weights in before.items())


@pytest.mark.parametrize(
    "file, load, complaint",
    [
        ("config.json", load_config, "no config.json in it"),
        ("tokenizer.json", load_tokenizer, "no tokenizer in it"),
        ("model.safetensors", lambda folder: load_model(folder, HEAD, False), "no weights in it"),
    ],
)
def test_a_missing_file_is_named(folder, file, load, complaint):
    (folder / file).unlink()
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(InputError, match=complaint):
        load(folder)


@pytest.mark.parametrize("content", ["{", '{"model_type": "none such"}'])
def test_a_bad_configuration_is_refused(folder, content):
    (folder / "config.json").write_text(content)
    with pytest.raises(InputError, match="config.json") as error:
        load_config(folder)
    assert "\n" not in str(error.value)


def test_a_damaged_tokenizer_is_refused(folder):
    (folder / "tokenizer.json").write_text('{"version": ')
    with pytest.raises(InputError, match="tokenizer.json: not usable"):
        load_tokenizer(folder)


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"tokenizer_config.json": '{"tokenizer_class": "PreTrainedTokenizerFast"}'}, "its tokenizer cannot be loaded"),
        ({"vocab.json": '{"le": 0}'}, "its tokenizer cannot be loaded"),
        ({"vocab.txt": "le\nfoie\n"}, "its tokenizer (knows no pieces of text|cannot be loaded)"),  # transformers 5, 4
    ],
)
def test_a_tokenizer_that_lacks_files_is_refused(originals, tmp_path, files, complaint):
    folder = shutil.copytree(originals["roberta"], tmp_path / "model")
    for name in TOKENIZER_FILES:
        (folder / name).unlink(missing_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content)
    with pytest.raises(InputError, match=rf"^{folder}: ({complaint}).*; add the tokenizer.json that belongs to the"):
        load_tokenizer(folder)


def test_a_folder_that_is_not_there_is_said_to_be_none(tmp_path):
    with pytest.raises(InputError, match="^camembert-base: no such folder. .* `hf download ORGANISATION/NAME"):
        load_config(Path("camembert-base"))


def test_a_saved_model_predicts_the_same_and_cannot_be_fine_tuned_by_mistake(folder, tmp_path):
    model = load_model(folder, HEAD, random_init=False).eval()
    save_model(model, folder, tmp_path / "saved", {"seed": 1})
    again = AutoModelForTokenClassification.from_pretrained(tmp_path / "saved").eval()
    ids = torch.tensor([[0, 5, 6, 2]])
    assert torch.equal(model(ids).logits, again(ids).logits)
    name = "tokenizer_config.json"  # for what becomes of tokenizer.json see the forms for pairs
    assert (tmp_path / "saved" / name).read_bytes() == (folder / name).read_bytes()
    assert json.loads((tmp_path / "saved" / "finetuning.json").read_text()) == {"seed": 1}
    with pytest.raises(InputError, match="was fine-tuned already"):
        load_config(tmp_path / "saved")
    encoder = load_encoder(folder, random_init=False)
    for form, file in FORM_WEIGHTS.items():
        save_model(encoder, folder, tmp_path / form, {"seed": 1}, {file: {"known": torch.zeros(1)}})
        with pytest.raises(InputError, match="was fine-tuned already"):
            load_config(tmp_path / form)


def full_disk(*_):
    raise OSError(28, "No space left")


def test_a_save_that_fails_leaves_the_old_model(folder, tmp_path, monkeypatch):
    model = load_model(folder, HEAD, random_init=False)
    save_model(model, folder, tmp_path / "saved", {"seed": 1})
    monkeypatch.setattr("downstream.training.models.write_json", full_disk)
    with pytest.raises(OSError):
        save_model(model, folder, tmp_path / "saved", {"seed": 2})
    assert json.loads((tmp_path / "saved" / "finetuning.json").read_text()) == {"seed": 1}
    assert [path.name for path in tmp_path.iterdir() if "partial" in path.name] == []


def test_limits_and_specials(folder):
    frame = frame_of(load_tokenizer(folder), load_config(folder))
    assert frame[:4] == ([0], [2], 1, 32)
    assert (frame.room(32), frame.room(20), frame.room(500)) == (30, 18, 30)


def pairs_of(folder, post_processor=None, **config):
    """The frame of a folder whose tokenizer has this post-processor."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    if post_processor:
        tokenizer.post_processor = processors.TemplateProcessing(
            *post_processor, special_tokens=[("<s>", 0), ("</s>", 2)]
        )
        tokenizer.save(str(folder / "tokenizer.json"))
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(content | config))
    return frame_of(load_tokenizer(folder), load_config(folder))


ROBERTAS_PAIR = ("<s> $A </s>", "<s> $A </s> </s> $B </s>")
BERTS_PAIR = ("<s> $A </s>", "<s>:0 $A:0 </s>:0 $B:1 </s>:1")


def test_pairs_as_robertas(folder):
    frame = pairs_of(folder, ROBERTAS_PAIR)
    assert frame.pair == ([0], [2, 2], [2]) and not frame.types
    assert frame.around([7, 8], [9]) == ([0, 7, 8, 2, 2, 9, 2], None)
    assert frame.around([7, 8]) == ([0, 7, 8, 2], None)
    assert (frame.room(20, pair=True), frame.room(99, pair=True)) == (16, 28)


def test_pairs_as_berts_with_token_types(folder):
    frame = pairs_of(folder, BERTS_PAIR, type_vocab_size=2)
    assert frame.pair == ([0], [2], [2]) and frame.types
    assert frame.around([7, 8], [9]) == ([0, 7, 8, 2, 9, 2], [0, 0, 0, 0, 1, 1])
    assert frame.around([7, 8]) == ([0, 7, 8, 2], None)
    assert frame.room(20, pair=True) == 17


def test_a_model_that_knows_one_token_type_gets_none(folder):
    assert not pairs_of(folder, BERTS_PAIR, type_vocab_size=1).types


@pytest.mark.parametrize("post_processor", [ROBERTAS_PAIR, BERTS_PAIR])
def test_pairs_are_framed_as_the_tokenizer_frames_them(folder, post_processor):
    frame = pairs_of(folder, post_processor, type_vocab_size=2)
    tokenizer = load_tokenizer(folder)
    texts = "le foie", "douleur du rein"
    bare = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    ids, types = frame.around(*bare)
    whole = tokenizer(*texts, return_token_type_ids=True)
    assert ids == whole["input_ids"] and (types or [0] * len(ids)) == whole["token_type_ids"]
    assert frame.around(bare[0])[0] == tokenizer(texts[0])["input_ids"]


def test_a_tokenizer_without_a_form_for_pairs_gets_one(folder):
    tokenizer = load_tokenizer(folder)
    assert not {0, 2} & set(tokenizer("le", "foie")["input_ids"])  # bare: nothing for a classifier to stand on
    frame = pairs_of(folder)
    assert frame.pair == ([0], [2], [2]) and frame.around([7], [9]) == ([0, 7, 2, 9, 2], None)


def test_the_models_limit_counts_when_the_tokenizer_names_none(folder):
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    del settings["model_max_length"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    assert frame_of(load_tokenizer(folder), load_config(folder)).longest == 32


SMALL = {
    "vocab_size": 99, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
    "max_position_embeddings": 34, "pad_token_id": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "config, longest",
    [
        (ElectraConfig(**SMALL), 34),
        (RobertaConfig(**SMALL), 32),
        (RobertaConfig(**SMALL | {"pad_token_id": 3}), 30),
        (MPNetConfig(**SMALL), 32),
        (Data2VecTextConfig(**SMALL), 32),
        (LongformerConfig(**SMALL, attention_window=4), 32),
    ],
)
def test_the_longest_sequence_is_the_longest_that_the_model_reads(folder, config, longest):
    tokenizer = load_tokenizer(folder)
    tokenizer.model_max_length = 10**9  # as transformers has it where the folder names none
    assert frame_of(tokenizer, config).longest == longest
    model = AutoModel.from_config(config).eval()
    model(torch.full((1, longest), 5))
    with pytest.raises((IndexError, RuntimeError)):
        model(torch.full((1, longest + 1), 5))


@pytest.mark.parametrize("config", [XLNetConfig(), T5Config()])
def test_a_model_without_a_number_of_positions_is_refused(tmp_path, config):
    config.save_pretrained(tmp_path)
    with pytest.raises(InputError, match=rf"config\.json: {config.model_type} has no largest number of positions"):
        load_config(tmp_path)


def test_a_tokenizer_without_a_padding_token_is_refused(folder):
    file = folder / "tokenizer_config.json"
    settings = json.loads(file.read_text())
    del settings["pad_token"]
    file.write_text(json.dumps(settings))
    with pytest.raises(InputError, match=r"model: its tokenizer has no padding token; name its pad_token in"):
        load_tokenizer(folder)


FORMLESS = {
    "alone": processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]),
    "one of several": processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]),
    ]),
    "of one type": processors.TemplateProcessing("<s> $A </s>", "$A $B", special_tokens=[("<s>", 0), ("</s>", 2)]),
}  # fmt: skip


@pytest.mark.parametrize("types", [1, 2])
@pytest.mark.parametrize("name", FORMLESS)
def test_the_saved_tokenizer_frames_pairs_as_the_scoring_did(folder, tmp_path, name, types):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = FORMLESS[name]
    tokenizer.save(str(folder / "tokenizer.json"))
    source = load_tokenizer(folder)
    model = load_model(folder, a_label(["no", "yes"]), random_init=False)
    model.config.type_vocab_size = types
    frame = frame_of(source, model.config)
    assert frame.types == (types == 2 and name != "of one type")
    save_model(model, folder, tmp_path / "saved", {})
    saved = load_tokenizer(tmp_path / "saved")
    texts = "le foie", "douleur du rein"
    ids, kinds = frame.around(*(source(text, add_special_tokens=False)["input_ids"] for text in texts))
    whole = saved(*texts, return_token_type_ids=True)
    assert whole["input_ids"] == ids and ids.count(2) == 2
    assert whole["token_type_ids"] == (kinds or [0] * len(ids))
    assert saved(texts[0], return_offsets_mapping=True) == source(texts[0], return_offsets_mapping=True)
    assert frame_of(saved, model.config) == frame


@pytest.mark.parametrize("post_processor", [ROBERTAS_PAIR, BERTS_PAIR])
def test_a_form_for_pairs_stays_as_it_is(folder, tmp_path, post_processor):
    pairs_of(folder, post_processor)
    save_model(load_model(folder, HEAD, random_init=False), folder, tmp_path / "saved", {})
    assert (tmp_path / "saved" / "tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()


def test_a_modernbert_keeps_the_names_that_transformers_4_reads(folder, tmp_path):
    """Version 5 writes its rotary bases under a new name alone, and version 4 would take 160000 and 10000."""
    bases = {"global_rope_theta": 80000.0, "local_rope_theta": 5000.0}
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = ModernBertConfig(vocab_size=len(load_tokenizer(folder)), pad_token_id=1, **size, **bases)
    ModernBertForMaskedLM(config).save_pretrained(folder)
    written = json.loads((folder / "config.json").read_text()) | bases | {"global_attn_every_n_layers": 3}
    (folder / "config.json").write_text(json.dumps(written))  # as hf.export has it
    save_model(load_model(folder, HEAD, random_init=False), folder, tmp_path / "saved", {})
    saved = json.loads((tmp_path / "saved" / "config.json").read_text())
    assert {name: saved[name] for name in (*bases, "global_attn_every_n_layers")} == bases | {
        "global_attn_every_n_layers": 3
    }


def test_the_fingerprint_follows_the_tokenizer_and_nothing_that_is_not_read(folder):
    seen = {fingerprint(folder)}
    for name in ("training_args.bin", "README.md", "finetuning.json"):
        (folder / name).write_text("x")
        assert fingerprint(folder) in seen
    for name in ("config.json", *TOKENIZER_FILES):
        with open(folder / name, "a") as handle:
            handle.write(" ")
        assert fingerprint(folder) not in seen
        seen.add(fingerprint(folder))


def test_the_fingerprint_follows_the_weights(folder):
    before = fingerprint(folder)
    assert fingerprint(folder) == before
    weights = load_file(folder / "model.safetensors")
    next(iter(weights.values())).view(-1)[0] += 1
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    assert fingerprint(folder) != before


def test_a_gpu_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device_of("auto").type == "cpu"
    with pytest.raises(InputError, match="sees no GPU"):
        device_of("cuda")


def test_code_in_the_folder_is_neither_run_nor_asked_for(folder, monkeypatch):
    """transformers asks on the terminal whether to run it, unless it is told not to."""
    monkeypatch.setattr("builtins.input", lambda *question: "y")
    config = json.loads((folder / "config.json").read_text())
    names = {"AutoConfig": "evil.Config", "AutoModelForTokenClassification": "evil.Model"}
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "evil", "auto_map": names}))
    (folder / "evil.py").write_text("raise SystemExit('run')")
    with pytest.raises(InputError, match=r"config.json: .*; export the folder again"):
        load_config(folder)


@pytest.mark.parametrize("name, value", [("num_hidden_layers", -1), ("hidden_size", 0)])
def test_sizes_below_one_are_refused(folder, name, value):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {name: value}))
    with pytest.raises(InputError, match=f"config.json: {name} is {value}, it starts at 1; export"):
        load_config(folder)


def test_weights_that_are_no_numbers_are_refused(folder):
    weights = load_file(folder / "model.safetensors")
    name = next(name for name in sorted(weights) if "layer.0" in name)
    weights[name][0] = float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"its weights are no finite numbers \(first: .*layer.0.*\); export another"):
        load_model(folder, HEAD, random_init=False)
