"""Tokenizers with the layouts of published ones, trained on the sample.

bert-base-multilingual (WordPiece, [PAD] 0, [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103), camembert-base (Unigram, <s>
5, <pad> 1, </s> 6, <unk> 3, <mask> last), DrBERT (the same with a sentencepiece model of type bpe:
from_scratch/build_tokenizer.py of its authors), roberta-base (byte-level BPE, <s> 0, <pad> 1, </s> 2, <unk> 3, <mask>
last), albert-base (Unigram, <pad> 0, <unk> 1, [CLS] 2, [SEP] 3, [MASK] 4), and those of French models since 2024. The
class names are those that the folders have.
"""

import io
import json
from functools import lru_cache
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from text_helpers import sample_lines
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

PIECES = 400  # of the sample, beside the special tokens: enough for words of several pieces


def special(token: str, **options) -> AddedToken:
    """As published tokenizers hold their special tokens."""
    return AddedToken(token, special=True, normalized=False, **options)


@lru_cache
def sentencepiece_model(kind: str = "unigram", **special) -> bytes:
    """The bytes of a .model of the sample, with nmt_nfkc's rules, and sentencepiece's own <unk>, <s>, </s> first.

    special: other special tokens, as options of sentencepiece.
    """
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sample_lines()), model_writer=written, model_type=kind, vocab_size=PIECES,
        num_threads=1, minloglevel=2, **special,
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


# The elisions, signs and characters that CamemBERTv2 splits off; its own list of signs is longer.
CAMEMBERTV2 = (
    r"[ ]{1,4}", "^ $",
    r"(?i:\b[cmnjstdl]|qu|puisqu|lorsqu|quelqu|presqu|quoiqu|jusqu)['´’]|['´’](?i:[sdmt]|ll|ve|re)\b|\p{P}{1,4}|[^\p{L}\p{N}\p{Z}]",
)  # fmt: skip
SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")


def camembertv2() -> tuple[Tokenizer, dict]:
    """CamemBERTv2's and CamemBERTav2's (WissamAntoun/CamemBERTa): WordPiece over words of at most 16 characters."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=16))
    rules = [("\\p{Z}", " "), ("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]|\\p{Cf}", "")]
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(Regex(old), new) for old, new in rules])
    kinds = ("isolated", "removed", "isolated")
    splits = [pre_tokenizers.Split(Regex(rule), kind) for rule, kind in zip(CAMEMBERTV2, kinds, strict=True)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(splits)
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=PIECES, special_tokens=[*SPECIALS, "\t", " "], show_progress=False)
    tokenizer.train_from_iterator(sample_lines(), trainer)
    trained = json.loads(tokenizer.to_str())
    trained["added_tokens"] = [token for token in trained["added_tokens"] if token["content"] in SPECIALS]
    tokenizer = Tokenizer.from_str(json.dumps(trained))
    tokenizer.post_processor = processors.RobertaProcessing(("[SEP]", 2), ("[CLS]", 1), add_prefix_space=True)
    tokens = _of_bert() | {"add_prefix_space": True, "errors": "replace", "trim_offsets": True}
    return tokenizer, tokens | {"clean_up_tokenization_spaces": True, "model_max_length": int(1e30)}


def _of_bert() -> dict:
    tokens = {"bos_token": "[CLS]", "cls_token": "[CLS]", "eos_token": "[SEP]", "sep_token": "[SEP]"}
    return tokens | {"unk_token": "[UNK]", "pad_token": "[PAD]", "mask_token": "[MASK]"}


def doctobert() -> tuple[Tokenizer, dict]:
    """DoctoBERT's: a sentencepiece BPE with bytes for unknown characters; its special tokens lead."""
    return _with_bytes(("[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"), first=True)


def doctomodernbert() -> tuple[Tokenizer, dict]:
    """DoctoModernBERT's: the same, with its special tokens behind the others, in another order than ModernBERT's."""
    return _with_bytes(("[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"), first=False)


def _with_bytes(specials: tuple[str, ...], first: bool) -> tuple[Tokenizer, dict]:
    proto = _proto("bpe")
    bytes_ = [f"<0x{number:02X}>" for number in range(256)]
    pieces = [*bytes_, *(piece.piece for piece in proto.pieces[3:])]
    ids = {piece: number for number, piece in enumerate([*specials, *pieces] if first else ["<unk>", *pieces])}
    halves = {piece: [(piece[:n], piece[n:]) for n in range(1, len(piece))] for piece in pieces[256:]}
    merges = [pair for piece in halves for pair in halves[piece] if pair[0] in ids and pair[1] in ids]
    unknown = "[UNK]" if first else "<unk>"
    tokenizer = Tokenizer(models.BPE(ids, merges, unk_token=unknown, fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", "first", split=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    tokenizer.add_special_tokens([special(token, lstrip=token == "[MASK]") for token in specials])
    plain = ["#", "##", "|||PATIENT_NAME|||", "|||AGE|||"]
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in plain])
    tokenizer.add_special_tokens([special("<|endoftext|>"), special("<|padding|>")])
    tokenizer.add_tokens([AddedToken(f"[unused{number}]", normalized=False) for number in range(3)])
    begin, end = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", begin), ("[SEP]", end)]
    )
    others = ["<|endoftext|>", "<|padding|>"]
    return tokenizer, _of_bert() | {"max_len": 512, "additional_special_tokens": others}


def modernbert() -> tuple[Tokenizer, dict]:
    """ModernBERT's: byte-level BPE, whose special tokens stand behind the others."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=PIECES + 260, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(sample_lines(), trainer)
    tokenizer.add_special_tokens([special("|||IP_ADDRESS|||"), special("<|padding|>")])
    tokenizer.add_tokens([AddedToken(" " * number, normalized=True) for number in range(4, 1, -1)])
    tokenizer.add_special_tokens([special(token) for token in ("[UNK]", "[CLS]", "[SEP]", "[PAD]")])
    tokenizer.add_special_tokens([special("[MASK]", lstrip=True)])
    tokenizer.add_tokens([AddedToken(f"[unused{number}]", normalized=True) for number in range(3)])
    begin, end = (tokenizer.token_to_id(token) for token in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", begin), ("[SEP]", end)]
    )
    tokens = {name: token for name, token in _of_bert().items() if name not in ("bos_token", "eos_token")}
    return tokenizer, tokens | {"model_input_names": ["input_ids", "attention_mask"]}


def transbert() -> tuple[Tokenizer, dict]:
    """TransBERT's: a sentencepiece Unigram with fairseq's special tokens, as XLM-RoBERTa's."""
    proto = _proto()
    vocabulary = [(token, 0.0) for token in ("<s>", "<pad>", "</s>", "<unk>")]
    vocabulary += [*((piece.piece, piece.score) for piece in proto.pieces[3:]), ("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=3))
    charsmap = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    tokenizer.normalizer = normalizers.Sequence([charsmap, normalizers.Replace(Regex(" {2,}"), " ")])
    split = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁", "always")]
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Sequence(split), decoders.Metaspace("▁", "always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens([special(token) for token in ("<s>", "<pad>", "</s>", "<unk>")])
    tokenizer.add_special_tokens([special("<mask>", lstrip=True)])
    tokens = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>"}
    return tokenizer, tokens | {"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}


TOKENIZERS = {
    "wordpiece": (wordpiece, "BertTokenizer"),
    "camembert": (camembert, "CamembertTokenizer"),
    "drbert": (drbert, "CamembertTokenizer"),
    "byte-level": (byte_level, "RobertaTokenizer"),
    "albert": (albert, "AlbertTokenizer"),
}
SINCE_2024 = {
    "camembertv2": (camembertv2, "RobertaTokenizer"),
    "doctobert": (doctobert, "PreTrainedTokenizerFast"),
    "doctomodernbert": (doctomodernbert, "PreTrainedTokenizerFast"),
    "modernbert": (modernbert, "PreTrainedTokenizerFast"),
    "transbert": (transbert, "XLMRobertaTokenizer"),
}
EVERY_KIND = TOKENIZERS | SINCE_2024


@lru_cache
def made(kind: str) -> tuple[str, dict]:
    """tokenizer.json and the tokens of tokenizer_config.json."""
    tokenizer, tokens = EVERY_KIND[kind][0]()
    return tokenizer.to_str(), tokens


def write_tokenizer(folder: Path, kind: str, **config) -> Tokenizer:
    """Write the two files of a published tokenizer."""
    text, tokens = made(kind)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    settings = {"tokenizer_class": EVERY_KIND[kind][1], "model_max_length": 512} | tokens | config
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return Tokenizer.from_str(text)
