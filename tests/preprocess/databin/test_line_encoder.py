"""The fast encoder gives the ids of the plain one: proven rule by rule, searched for exceptions, seen on real lines."""

import itertools
import unicodedata
from functools import partial

import numpy as np
import pytest
from corpus_helpers import tiny_tokenizer
from hypothesis import example, given, settings
from hypothesis import strategies as st
from published_models import write_tokenizer
from published_tokenizers import TOKENIZERS as PUBLISHED
from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers

from alibert_common.errors import InputError
from preprocess.databin import line_encoder
from preprocess.databin.line_encoder import LineEncoder
from preprocess.databin.part_table import KEY_BYTES, PartTable, keys_of
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.normalizer import MODES, TextOptions
from preprocess.tokenizer.special_tokens import our_layout, read_layout, symbols_of, write_symbols
from preprocess.tokenizer.word_independence import MARKS, is_word_independent, isolated_marks

ALL_OPTIONS = [TextOptions(mode, cased=cased) for mode in MODES for cased in (False, True)]
ALL_OPTIONS += [TextOptions("paper", punctuation="after")]
TOKENIZERS = {str(options): tiny_tokenizer(options) for options in ALL_OPTIONS}
ENCODERS = {name: LineEncoder(tokenizer) for name, tokenizer in TOKENIZERS.items()}

# What rules look at: digits, units, apostrophes, marks, all kinds of spaces, combining marks, special tokens.
FRAGMENTS = "12 7,4 000 °C mg/kg/j l' aujourd'hui jusqu' TNF-α Na+ 10^9/L h E\u0301 ΟΔΟΣ İ".split()
FRAGMENTS += "<s> <mask> [MASK] µ œ - – . , / × ▁ é x".split()
SIGNS = [" ", "  ", *"\u202f\u2009\u00a0\t\u00ad\u200b\u0301\ufeff\u2028\x0c\x85\r"]
mixed = st.lists(st.sampled_from(FRAGMENTS + SIGNS), max_size=12).map("".join)
anything = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=30)
lines_of_text = st.lists(st.one_of(mixed, anything), min_size=1, max_size=6)


def plain(tokenizer, lines):
    return [tokenizer.encode(line, add_special_tokens=False).ids for line in lines]


def fast(encoder, lines):
    ids, sizes = encoder.encode(lines)
    items = np.split(ids, np.cumsum(sizes)[:-1])
    assert len(items) == len(lines) and all(item[-1] == 2 and 2 not in item[:-1] for item in items)
    return [item[:-1].tolist() for item in items]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_our_tokenizers_are_encoded_word_by_word(name):
    moses = "mode='moses'" in name  # it looks at the word after a dot
    assert ENCODERS[name].by_word == (not moses)


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=60)
@given(lines_of_text)
@example(["1\u202f000 UI 1 000", " ", "", "a \u0301b", "  deux  "])
@example(["a=\u0338b '\u0301e (\u00adx) \x00 a\x00 /\x00,", "anticonstitutionnel(", "xx yy" * 9])
def test_the_ids_are_those_of_the_tokenizer(name, lines):
    assert fast(ENCODERS[name], lines) == plain(TOKENIZERS[name], lines)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_the_ids_are_those_of_the_tokenizer_on_real_lines(name, shared_data):
    lines = []
    for corpus in ("bdpm_notices", "pamj_cas_cliniques", "tico19_fr"):
        with open(shared_data / "fr_raw" / f"{corpus}.txt", encoding="utf-8", newline="\n") as handle:
            lines += [line.rstrip("\n") for line in itertools.islice(handle, 5000, 5700)]
    assert fast(ENCODERS[name], lines) == plain(TOKENIZERS[name], lines)


def replaced(pattern, content=""):
    return lambda tokenizer: setattr(
        tokenizer, "normalizer", normalizers.Sequence([tokenizer.normalizer, normalizers.Replace(pattern, content)])
    )


def split_first(step):
    return lambda tokenizer: setattr(
        tokenizer, "pre_tokenizer", pre_tokenizers.Sequence([step, tokenizer.pre_tokenizer])
    )


WORDS = pre_tokenizers.WhitespaceSplit()


def after_words(step):
    always = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    return lambda tokenizer: setattr(tokenizer, "pre_tokenizer", pre_tokenizers.Sequence([WORDS, step, always]))


FIRST = pre_tokenizers.Metaspace(prepend_scheme="first")

# Rules that look over a space: each with a line on which encoding word by word would be wrong.
OVER_SPACES = {
    "thousands with a space": (replaced(Regex(r"(?<=\d) (?=\d{3})")), "1 000"),
    "a space among characters": (replaced(Regex(r"[,.\x20-]")), "a b"),
    "a space in a range": (replaced(Regex(r"[\x00-/]")), "a b"),
    "a space by number": (replaced(Regex(r"\040")), "a b"),
    "white space": (replaced(Regex(r"à\s")), "à la"),
    "any character": (replaced(Regex(r"à.l")), "à la"),
    "the end of the text": (replaced(Regex(r"e$")), "de la de"),
    "the start of the text": (replaced(Regex(r"^de")), "la de"),
    "what is not a letter": (replaced(Regex(r"(?<=[^a-z])d")), "la de"),
    "absence": (replaced(Regex(r"à(?~z)x")), "à la x"),
    "options inside": (replaced(Regex(r"(?x:a b)|à(?m:.)l")), "à la"),
    "a string with a space": (replaced("à la"), "à la"),
    "the prefix of the text": (lambda t: setattr(t, "normalizer", normalizers.Prepend("x")), "la de"),
    "a split that keeps spaces": (split_first(pre_tokenizers.Metaspace(split=True)), "a  b"),
    "a split at words of two": (split_first(pre_tokenizers.Split(Regex(r"\w+ \w+"), "isolated")), "a b c"),
    "the first word only": (
        lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.Sequence([WORDS, FIRST])),
        "la la",
    ),
    "no split at all": (lambda t: setattr(t, "pre_tokenizer", pre_tokenizers.Metaspace(split=False)), "a b"),
    "a word of two words": (lambda t: t.add_tokens([AddedToken("à la")]), "à la"),
}  # fmt: skip


@pytest.mark.parametrize("name", OVER_SPACES)
def test_rules_that_look_over_a_space_are_seen_and_stay_exact(name):
    change, line = OVER_SPACES[name]
    tokenizer = tiny_tokenizer()
    layout = our_layout(tokenizer.get_vocab_size())  # an added word has an id behind the mask
    change(tokenizer)
    assert not is_word_independent(tokenizer)
    encoder = LineEncoder(tokenizer, layout)
    assert fast(encoder, [line, line]) == plain(tokenizer, [line, line])


BLIND = [r"(?<=\d)[\u2009\u202f](?=\d{3}(?!\d))", r"[\p{P}\p{S}]", r"(?<!\w)x(?!\S)", "[!-~]"]


@pytest.mark.parametrize("pattern", BLIND)
def test_rules_that_stop_at_a_space_are_seen(pattern):
    tokenizer = tiny_tokenizer()
    replaced(Regex(pattern))(tokenizer)
    assert is_word_independent(tokenizer)


def test_a_length_limit_of_the_tokenizer_cuts_nothing():
    tokenizer = tiny_tokenizer()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding()
    whole = plain(tiny_tokenizer(), ["le patient hyperthyroïdien"])
    assert len(whole[0]) > 2 and fast(LineEncoder(tokenizer), ["le patient hyperthyroïdien"]) == whole


@pytest.mark.parametrize("bits", [1, 6, 18])
def test_a_table_of_any_size_gives_the_same_ids(monkeypatch, bits):
    """With two places nearly every part drives out another; then most are in a place of another part."""
    monkeypatch.setattr(line_encoder, "PartTable", partial(PartTable, bits=bits))
    tokenizer = tiny_tokenizer()
    encoder = LineEncoder(tokenizer)
    for start in range(97, 400, 20):  # 97: a; few ids for parts whose first eight bytes are the same
        lines = [
            f"le n°{number}, (l'hôpital) 漢漢漢{number:c} {number * 977}mg." for number in range(start, start + 20)
        ]
        assert fast(encoder, lines + lines[:2]) == plain(tokenizer, lines + lines[:2])
    assert len(encoder.table.counts) == 2**bits


@settings(max_examples=300)
@given(st.lists(st.binary(min_size=1, max_size=KEY_BYTES), min_size=1, unique=True))
@example([b"a", b"a\0", b"\0a", b"\0", b"\0\0", b"12345678", b"12345678\0", b"123456789012345", b"123456789012346"])
def test_different_parts_have_different_keys(parts):
    sizes = np.array([*map(len, parts)])
    keys = keys_of(b"".join(parts), np.cumsum(sizes) - sizes, sizes)
    assert len({*zip(keys.low.tolist(), keys.high.tolist(), strict=True)}) == len(parts) and (keys.high > 0).all()


def test_the_cache_of_long_parts_is_bounded_and_forgetting_changes_nothing(monkeypatch):
    monkeypatch.setattr(line_encoder, "CACHE_BYTES", 20_000)
    tokenizer = tiny_tokenizer()
    encoder, kept = LineEncoder(tokenizer), []
    for start in range(0, 1000, 20):
        lines = [f"le patient {'très' * 4}malade{number} {number}" for number in range(start, start + 20)]
        assert fast(encoder, lines) == plain(tokenizer, lines)
        kept.append(len(encoder.cache))
    assert max(kept) < 20_000 / line_encoder.ENTRY_BYTES and min(kept[5:]) == 20  # those of the last block


def test_what_is_known_is_not_encoded_again(monkeypatch):
    tokenizer = tiny_tokenizer()
    encoder, again = LineEncoder(tokenizer), "42 le,,,patient (hyperparathyroïdiens"
    expected = plain(tokenizer, [again])
    fast(encoder, ["le patient", "l'hyperthyroïdie, (42)", "hyperparathyroïdiens tertiaires"])
    monkeypatch.setattr(encoder, "tokenizer", None)
    assert fast(encoder, [again]) == expected


def test_marks_are_walls_where_the_tokenizer_isolates_them():
    paper, clinical = (isolated_marks(TOKENIZERS[str(TextOptions(mode))]) for mode in ("paper", "clinical"))
    assert set("'(),-./:;%") <= set(paper) and set("();?!") <= set(clinical) and not set("',-./:%+^") & set(clinical)
    for mode in ("moses", "none"):
        assert not isolated_marks(TOKENIZERS[str(TextOptions(mode))])


def test_no_character_joins_a_mark_that_is_a_wall():
    """Through the library's own NFC, which knows a Unicode version of its own."""
    characters = [chr(code) for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]
    for mark in MARKS:
        text = "".join(mark + character for character in characters if unicodedata.combining(character))
        assert normalizers.NFC().normalize_str(text).count(mark) == text.count(mark)
    assert "≠" in normalizers.NFC().normalize_str("=\u0338")


MARK = r"[\p{P}\p{S}]"


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


# Rules that look over a mark: each with a line on which cutting there would be wrong, and the mark.
OVER_MARKS = {
    "a decimal": (replaced(Regex(r"(?<=\d),(?=\d)")), "1,5", ","),
    "a string with marks": (replaced("et/ou"), "et/ou", "/"),
    "what is not a letter": (replaced(Regex(r"(?<=[^a-z ])d")), "l'd", "'"),
    "a number of one word": (after_words(split(r"\d+(?:[.,]\d+)+|[\p{P}]")), "1,5", ","),
    "a mark with its word": (after_words(split(MARK, "merged_with_next")), "l'de", "'"),
    "marks together": (after_words(split(MARK, "contiguous")), "a,,a", ","),
    "all but marks": (after_words(split(MARK, invert=True)), "a,,a", ","),
    "marks in a group": (after_words(split(r"(?:a|[\p{P}])a|[x]")), "de,a", ","),
    "nothing at all": (replaced(Regex("x*"), "e"), "l'de", "'"),
    "no split at marks": (after_words(pre_tokenizers.Digits()), "l'de", "'"),
}  # fmt: skip


@pytest.mark.parametrize("name", OVER_MARKS)
def test_rules_that_look_over_a_mark_are_seen_and_stay_exact(name):
    change, line, mark = OVER_MARKS[name]
    tokenizer = tiny_tokenizer()
    change(tokenizer)
    assert mark not in isolated_marks(tokenizer)
    assert fast(LineEncoder(tokenizer), [line, line]) == plain(tokenizer, [line, line])


def test_a_special_token_from_text_is_refused():
    tokenizer = tiny_tokenizer()
    tokenizer.encode_special_tokens = False  # as a tokenizer loaded in another way would be
    for token in ("<s>", "<mask>"):
        encoder = LineEncoder(tokenizer)
        encoder.encode(["le"])
        with pytest.raises(InputError, match="an id that is no piece of dict.txt"):
            encoder.encode([f"le {token} patient"])


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The directory of a published tokenizer of each kind."""
    place = tmp_path_factory.mktemp("published")
    for kind in PUBLISHED:
        tokenizer = write_tokenizer(place / kind, kind)
        write_symbols(place / kind / "dict.txt", symbols_of(tokenizer, tokenizer.get_vocab_size()))
    return place


def published_encoder(directory):
    return LineEncoder(load_tokenizer(directory), read_layout(directory))


@pytest.mark.parametrize("kind", PUBLISHED)
@settings(max_examples=60)
@given(lines=lines_of_text)
@example(lines=["le <s> <pad> </s> [CLS] [SEP] [PAD] de", "<mask>[MASK]", " ", "", "a \u0301b 漢字", "  deux  "])
def test_the_ids_are_those_of_a_published_tokenizer(kind, published, lines):
    encoder, tokenizer = published_encoder(published / kind), load_tokenizer(published / kind)
    layout = encoder.layout
    special = {number for number, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    ids, sizes = encoder.encode(lines)
    items = np.split(ids, np.cumsum(sizes)[:-1])
    assert len(items) == len(lines) and all(item[-1] == layout.end for item in items)
    for item, expected in zip(items, plain(tokenizer, lines), strict=True):
        assert item[:-1].tolist() == [layout.unknown if number in special else number for number in expected]


def test_text_that_spells_a_special_token_is_unknown_where_the_model_has_it_as_a_piece(published):
    encoder = published_encoder(published / "camembert")
    ids, sizes = encoder.encode(["a <pad> b", "a"])
    assert sizes.tolist()[1] == 2 and encoder.layout.unknown in ids and encoder.layout.pad not in ids
    assert (
        load_tokenizer(published / "camembert").encode("<pad>", add_special_tokens=False).ids[-1] == 1
    )  # the library's


def test_berts_rules_are_encoded_word_by_word(published):
    by_word = {kind: published_encoder(published / kind).by_word for kind in PUBLISHED}
    assert [kind for kind in PUBLISHED if by_word[kind]] == ["wordpiece"]
