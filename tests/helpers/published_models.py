"""Hugging Face folders as others publish them, tiny and with random weights: what a hospital would continue from.

The tokenizers have the layouts of bert-base-multilingual (WordPiece, [PAD] 0, [UNK] 100, [CLS] 101, [SEP] 102,
[MASK] 103), camembert-base (Unigram, <s> 5, <pad> 1, </s> 6, <unk> 3, <mask> last), DrBERT (the same with a
sentencepiece model of type bpe: from_scratch/build_tokenizer.py of its authors), roberta-base (byte-level BPE, <s> 0,
<pad> 1, </s> 2, <unk> 3, <mask> last) and albert-base (Unigram, <pad> 0, <unk> 1, [CLS] 2, [SEP] 3, [MASK] 4), and the
class names that those folders have.
"""

import io
import json
from functools import lru_cache
from pathlib import Path

import sentencepiece
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentencepiece import sentencepiece_model_pb2
from text_helpers import sample_lines
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from alibert_fairseq.hf.families.deberta import DebertaV2Detector

PIECES = 400  # of the sample, beside the special tokens: enough for words of several pieces
SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def special(token: str, **options) -> AddedToken:
    """As published tokenizers hold their special tokens."""
    return AddedToken(token, special=True, normalized=False, **options)


@lru_cache
def sentencepiece_model(kind: str = "unigram") -> bytes:
    """The bytes of a .model of the sample, with sentencepiece's own <unk>, <s>, </s> first and nmt_nfkc's rules."""
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample_lines()), model_writer=written, model_type=kind, vocab_size=PIECES,
        num_threads=1, minloglevel=2,
    )  # fmt: skip
    return written.getvalue()


def _proto(kind: str = "unigram"):
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(sentencepiece_model(kind))
    return proto


def wordpiece() -> tuple[Tokenizer, dict]:
    """BERT's, cased: French models keep their accents."""
    free = [f"[unused{number}]" for number in range(99)]
    begin = ["[PAD]", *free, "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=False, lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=PIECES + len(begin), special_tokens=begin, show_progress=False)
    tokenizer.train_from_iterator(sample_lines(), trainer)
    trained = json.loads(tokenizer.to_str())
    names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    trained["added_tokens"] = [token for token in trained["added_tokens"] if token["content"] in names]
    tokenizer = Tokenizer.from_str(json.dumps(trained))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 101), ("[SEP]", 102)],
    )  # fmt: skip
    tokens = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]"}
    return tokenizer, tokens | {"mask_token": "[MASK]", "do_lower_case": False, "strip_accents": False}


def camembert() -> tuple[Tokenizer, dict]:
    """CamemBERT's, as transformers converts its sentencepiece model."""
    proto = _proto()
    return _with_camemberts_rules(models.Unigram(_camemberts_vocabulary(proto), unk_id=3), proto)


def drbert() -> tuple[Tokenizer, dict]:
    """DrBERT's, as transformers 4 converts it: merges are the pairs of pieces that are a piece, by its id."""
    proto = _proto("bpe")
    ids = {piece: number for number, (piece, _) in enumerate(_camemberts_vocabulary(proto))}
    halves = {piece: [(piece[:n], piece[n:]) for n in range(1, len(piece))] for piece in ids}
    merges = [pair for piece in ids for pair in halves[piece] if pair[0] in ids and pair[1] in ids]
    return _with_camemberts_rules(models.BPE(ids, merges, unk_token="<unk>", fuse_unk=True), proto)


def _camemberts_vocabulary(proto) -> list[tuple[str, float]]:
    begin = [("<s>NOTUSED", 0.0), ("<pad>", 0.0), ("</s>NOTUSED", 0.0), ("<unk>", 0.0), ("<unk>NOTUSED", -100.0)]
    return [*begin, *((piece.piece, piece.score) for piece in proto.pieces[1:]), ("<mask>", 0.0)]


def _with_camemberts_rules(model: models.Model, proto) -> tuple[Tokenizer, dict]:
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")]
    )
    tokenizer.decoder = decoders.Metaspace("▁", "always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 5), ("</s>", 6)]
    )
    others = ["<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"]
    tokenizer.add_special_tokens([special(token) for token in ("<pad>", "<unk>", "<s>", "</s>", *others)])
    tokenizer.add_special_tokens([special("<mask>", lstrip=True)])
    tokens = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "unk_token": "<unk>"}
    return tokenizer, tokens | {"pad_token": "<pad>", "mask_token": "<mask>", "additional_special_tokens": others}


def byte_level() -> tuple[Tokenizer, dict]:
    """RoBERTa's."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES + 260, special_tokens=specials, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(sample_lines(), trainer)
    trained = json.loads(tokenizer.to_str())
    trained["model"]["vocab"]["<mask>"] = len(trained["model"]["vocab"])
    tokenizer = Tokenizer.from_str(json.dumps(trained))
    tokenizer.add_special_tokens([special("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    tokens = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "unk_token": "<unk>"}
    return tokenizer, tokens | {"pad_token": "<pad>", "mask_token": "<mask>", "add_prefix_space": False}


def albert() -> tuple[Tokenizer, dict]:
    """ALBERT's, which takes capitals and accents away."""
    proto = _proto()
    vocabulary = [(token, 0.0) for token in ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")]
    vocabulary += [(piece.piece, piece.score) for piece in proto.pieces[3:]]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=1))
    steps = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD()]
    steps += [normalizers.StripAccents(), normalizers.Lowercase()]
    steps += [normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)]
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")]
    )
    tokenizer.decoder = decoders.Metaspace("▁", "always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )  # fmt: skip
    tokenizer.add_special_tokens([special(token) for token in ("<pad>", "<unk>", "[CLS]", "[SEP]")])
    tokenizer.add_special_tokens([special("[MASK]", lstrip=True)])
    tokens = {"bos_token": "[CLS]", "cls_token": "[CLS]", "eos_token": "[SEP]", "sep_token": "[SEP]"}
    tokens |= {"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "[MASK]"}
    return tokenizer, tokens | {"do_lower_case": True, "keep_accents": False, "remove_space": True}


TOKENIZERS = {
    "wordpiece": (wordpiece, "BertTokenizer"),
    "camembert": (camembert, "CamembertTokenizer"),
    "drbert": (drbert, "CamembertTokenizer"),
    "byte-level": (byte_level, "RobertaTokenizer"),
    "albert": (albert, "AlbertTokenizer"),
}


@lru_cache
def made(kind: str) -> tuple[str, dict]:
    """tokenizer.json and the tokens of tokenizer_config.json."""
    tokenizer, tokens = TOKENIZERS[kind][0]()
    return tokenizer.to_str(), tokens


def write_tokenizer(folder: Path, kind: str, **config) -> Tokenizer:
    """Write the two files of a published tokenizer."""
    text, tokens = made(kind)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    settings = {"tokenizer_class": TOKENIZERS[kind][1], "model_max_length": 512} | tokens | config
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return Tokenizer.from_str(text)


FAMILIES = {
    "camembert": ("CamembertForMaskedLM", "camembert"),
    "drbert": ("CamembertForMaskedLM", "drbert"),
    "roberta": ("RobertaForMaskedLM", "byte-level"),
    "bert": ("BertForPreTraining", "wordpiece"),
    "bert_words": ("BertForMaskedLM", "wordpiece"),
    "albert": ("AlbertForPreTraining", "albert"),
    "albert_words": ("AlbertForMaskedLM", "albert"),
    "modernbert": ("ModernBertForMaskedLM", "byte-level"),
    "deberta": ("DebertaV2ForMaskedLM", "wordpiece"),
    "deberta_xlarge": ("DebertaV2ForMaskedLM", "camembert"),
    "deberta_rtd": ("DebertaV2Detector", "wordpiece"),
    "electra": ("ElectraForPreTraining", "wordpiece"),
    "electra_own": ("ElectraForPreTraining", "wordpiece"),
}


DEBERTA = {
    "relative_attention": True, "position_buckets": 16, "max_relative_positions": -1, "pos_att_type": ["p2c", "c2p"],
    "share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False, "layer_norm_eps": 1e-7,
    "type_vocab_size": 0,
}  # fmt: skip
# deberta-v2-xlarge's: projections of its own for positions, and a convolution.
XLARGE = {"share_att_key": False, "conv_kernel_size": 3, "conv_act": "gelu"}
DETECTORS = ("electra", "electra_own", "deberta_rtd")  # with a generator


def config_of(cls: str, tokenizer: Tokenizer, tokens: dict, **changed):
    """The configuration of a tiny model of 64 positions."""
    numbers = {name: tokenizer.token_to_id(tokens[f"{name}_token"]) for name in ("pad", "mask")}
    begin, end = (tokenizer.token_to_id(tokens[f"{name}_token"]) for name in ("cls", "sep"))
    settings = SHAPE | {
        "vocab_size": tokenizer.get_vocab_size(), "pad_token_id": numbers["pad"], "bos_token_id": begin,
        "eos_token_id": end, "max_position_embeddings": 64,
    }  # fmt: skip
    if cls.startswith(("Roberta", "Camembert")):
        settings |= {"type_vocab_size": 1, "max_position_embeddings": 66, "layer_norm_eps": 1e-5}
    if cls.startswith("Albert"):
        settings |= {"embedding_size": 16, "hidden_act": "gelu_new"}
    if cls.startswith("Electra"):
        settings |= {"embedding_size": 16}
    if cls.startswith("ModernBert"):  # three layers, of which two are local, and sequences longer than their window
        settings |= {"num_hidden_layers": 3, "local_attention": 16, "cls_token_id": begin, "sep_token_id": end}
    if cls.startswith("DebertaV2"):  # DeBERTaV3's
        settings |= DEBERTA
    return class_of(cls).config_class(**settings | changed)


def class_of(name: str) -> type[transformers.PreTrainedModel]:
    """A class of transformers, or the one that it lacks."""
    return DebertaV2Detector if name == "DebertaV2Detector" else getattr(transformers, name)


def random_model(cls: str, config, seed: int = 1):
    """A model whose every parameter is random: what is zero or one at the start of a training shows no mistake."""
    torch.manual_seed(seed)
    model = class_of(cls)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def write_model(folder: Path, family: str, **changed) -> Path:
    """A whole folder; ELECTRA's has its generator inside, with the same embedding layer but for `electra_own`."""
    cls, kind = FAMILIES[family]
    tokenizer = write_tokenizer(folder, kind)
    changed = (XLARGE if family == "deberta_xlarge" else {}) | changed
    model = random_model(cls, config_of(cls, tokenizer, made(kind)[1], **changed))
    if cls.startswith(("Roberta", "Camembert")) and "type_vocab_size" not in changed:
        model.base_model.embeddings.token_type_embeddings.weight.data.zero_()  # the published ones'
    if family in DETECTORS:
        _write_generator(folder / "generator", model, family)
    model.save_pretrained(folder)
    return folder


def _write_generator(folder: Path, discriminator, family: str) -> None:
    shared, cls = family == "electra", "DebertaV2ForMaskedLM" if family == "deberta_rtd" else "ElectraForMaskedLM"
    tokenizer = write_tokenizer(folder, "wordpiece")
    size = {"hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 40, "num_hidden_layers": 1}
    size |= {"electra": {}, "electra_own": {"embedding_size": 24}, "deberta_rtd": {"embedding_size": 32}}[family]
    config = config_of(cls, tokenizer, made("wordpiece")[1], **size)
    generator = random_model(cls, config, seed=2)
    if shared:
        generator.electra.embeddings.load_state_dict(discriminator.electra.embeddings.state_dict())
    generator.save_pretrained(folder)


def changed_config(folder: Path, **settings) -> Path:
    """A folder whose configuration says otherwise."""
    config = json.loads((folder / "config.json").read_text()) | settings
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def untied(folder: Path) -> None:
    """Only the file tells of it: transformers 4 ties the two while it reads them."""
    weights = load_file(folder / "model.safetensors")
    table = next(value for name, value in weights.items() if name.endswith("word_embeddings.weight"))
    weights["lm_head.decoder.weight"] = table + 1
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def write_tokenizer_config(folder: Path, **settings) -> None:
    """Change the tokenizer's configuration."""
    config = json.loads((folder / "tokenizer_config.json").read_text()) | settings
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
