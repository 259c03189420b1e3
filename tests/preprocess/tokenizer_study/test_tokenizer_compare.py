"""The figures of the tokenizer study: worked out by hand on a few words, and the same however the text is read."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from corpus_helpers import write_shards
from published_tokenizers import TOKENIZERS, made
from text_helpers import CASED, MOSES, NONE, PAPER, sample_lines, trained
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from alibert_common.executors.base import ALONE, Engine
from preprocess.compare_tokenizers import by_category, overlap
from preprocess.documents.document import Document, read_documents
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.normalizer import TextOptions
from preprocess.tokenizer.quality import count_pieces
from preprocess.tokenizer.vocabulary import Subwords, build_tokenizer
from preprocess.tokenizer_study import measure as measuring
from preprocess.tokenizer_study import speed, text_sample
from preprocess.tokenizer_study.candidates import Candidate
from preprocess.tokenizer_study.measure import Counts, Meter, count, figures, measure
from preprocess.tokenizer_study.samples import Term, segment, segment_term
from preprocess.tokenizer_study.text_sample import draw_documents

PIECES = {"▁le": -1.0, "▁patient": -2.0, "▁,": -2.0, "▁": -5.0, "t": -5.0, "oux": -3.0, "▁t": -4.0, "patient": -9.0}
CASED_PIECES = {"▁Le": -1.0, "▁le": -1.0, "▁": -2.0, "patient": -2.0, "▁,": -3.0}


def candidate(tokenizer, name="toy"):
    return Candidate(name, Path(name), tokenizer)


def unigram(pieces=PIECES, options=PAPER):
    return build_tokenizer(options, Subwords("unigram", list(pieces), list(pieces.values())))


def wordpiece(*pieces):
    """BERT's: white space and marks end words; a word with anything unknown in it is unknown."""
    vocabulary = {piece: number for number, piece in enumerate(["[PAD]", "[UNK]", "[unused1]", *pieces])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]"])
    return tokenizer


def byte_level(*merges):
    """RoBERTa's: every byte is a piece, nothing is unknown."""
    pieces = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *(left + right for left, right in merges)]
    tokenizer = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, list(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def measured(tokenizer, text, tmp_path):
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    read, (meter,) = measure_all([candidate(tokenizer)], tmp_path / "text.txt", tmp_path)
    return figures(meter, read)


def measure_all(candidates, path, folder, megabytes=1, workers=1, seed=1):
    """The drawn text and the meters."""
    engine = Engine(workers)
    text = draw_documents(path, int(megabytes * 10**6), seed, engine, folder / "text")
    return text, measure(candidates, text, engine, folder / "measured")


def counted(tokenizer, text):
    one = candidate(tokenizer)
    return count(one, text, one.tokenizer.encode(text, add_special_tokens=False))


def test_figures_worked_out_by_hand(tmp_path):
    # le | patient | , | t oux / le | ▁ <unk>: 8 tokens; 5 words of letters, of which le, patient and le are whole
    assert measured(unigram(), "Le patient, toux\nle  xyz\n", tmp_path) == {
        "tokens": 8,
        "lone": 1,
        "unknown": 1,
        "unknown_characters": 3,
        "words": 5,
        "whole": 3,
        "tokens_per_word": 8 / 5,
        "characters_per_token": 23 / 8,  # 16 and 7, ends of lines not counted
        "whole_word_share": 3 / 5,
        "unknown_share": 1 / 8,
        "unknown_character_share": 3 / 23,
        "lone_boundary_share": 1 / 8,
        "too_long_document_share": 0.0,
        "vocabulary": 16,
        "pieces": 8,
        "pieces_used": 6,  # neither the inner t nor the inner patient
        "twice_by_boundary": 1,
        "twice_by_case": 0,
        "twice_by_accents": 0,
        "tokens_per_word_of_sources": {"text": 8 / 5},
    }


def test_a_word_behind_a_lone_boundary_is_whole_and_case_counts_where_it_is_kept():
    cased = unigram(CASED_PIECES, CASED)
    assert counted(cased, "Le patient") == Counts(tokens=3, lone=1, words=2, whole=2)
    assert counted(cased, "LE patient") == Counts(tokens=4, lone=2, unknown=1, unknown_characters=2, words=2, whole=1)


def test_wordpiece_by_hand(tmp_path):
    # le | pa ##tient | , | [UNK]: the unknown stands for four characters
    one = measured(wordpiece("le", "pa", "##tient", "tient", ",", "hors"), "Le patient, toux", tmp_path)
    assert [one[name] for name in ("tokens", "unknown", "unknown_characters", "words", "whole")] == [5, 1, 4, 3, 1]
    assert [one[name] for name in ("vocabulary", "pieces", "pieces_used")] == [9, 6, 4]
    assert one["twice_by_boundary"] == 1 and one["lone"] == 0


def test_byte_level_by_hand(tmp_path):
    # le | Ġle | Ġ | à | © | t | à ©: the é of two bytes is two tokens of one character
    one = measured(byte_level(("l", "e"), ("Ġ", "le")), "le le été", tmp_path)
    assert [one[name] for name in ("tokens", "lone", "unknown", "words", "whole")] == [8, 1, 0, 3, 2]
    assert one["twice_by_boundary"] == 1


def test_a_word_is_cut_where_a_letter_is():
    merges = [("Å", "ĵ"), ("Åĵ", "Ã")]  # œ and the first byte of é; the second byte is the next token
    assert counted(byte_level(*merges), "œé") == Counts(tokens=2, words=1, whole=0)
    assert counted(byte_level(*merges, ("ÅĵÃ", "©")), "œé") == Counts(tokens=1, words=1, whole=1)


def test_a_word_inside_a_longer_piece_is_not_cut():
    pieces = {"▁fièvre,": -1.0, "▁mg/kg": -1.0}
    assert counted(unigram(pieces, NONE), "fièvre, mg/kg") == Counts(tokens=2, words=3, whole=3)


KINDS = [*TOKENIZERS, "paper", "moses", "none"]


def some(kind):
    ours = {"paper": PAPER, "moses": MOSES, "none": NONE}
    return candidate(load_tokenizer(trained(ours[kind])) if kind in ours else Tokenizer.from_str(made(kind)[0]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cache", [500, 100_000])
def test_words_remembered_count_as_lines_read_at_once(kind, cache, monkeypatch):
    monkeypatch.setattr(measuring, "CACHE_PARTS", cache)
    one, lines = some(kind), sample_lines()[:300]
    assert len({word for line in lines for word in line.split(" ")}) > 2 * 500
    encodings = one.tokenizer.encode_batch(lines, add_special_tokens=False)
    expected = [count(one, line, encoding) for line, encoding in zip(lines, encodings, strict=True)]
    meter = Meter(one)
    assert meter.by_word == (kind not in ("byte-level", "moses", "camembert", "drbert", "albert"))
    for start in range(0, len(lines), 20):
        meter.add("ab"[start // 20 % 2], lines[start : start + 20])
    meter.add("c", lines)  # a document of more parts than are remembered
    total, whole = sum(meter.by_source[source] for source in "ab"), meter.by_source["c"]
    assert total.tolist() == whole.tolist() == np.sum(expected, axis=0).tolist()
    assert set(np.flatnonzero(meter.used)) == {number for encoding in encodings for number in encoding.ids}


def test_documents_too_long_for_512_positions_and_fertility_by_source(tmp_path):
    documents = [("a", "le " * 510), ("b", "le " * 511), ("b", "t toux"), ("a", "le")]
    lines = [json.dumps({"id": str(n), "source": source, "text": text}) for n, (source, text) in enumerate(documents)]
    (tmp_path / "text.jsonl").write_text("\n".join(lines))
    text, (meter,) = measure_all([candidate(unigram())], tmp_path / "text.jsonl", tmp_path)
    one = figures(meter, text)
    assert one["too_long_document_share"] == 1 / 4
    assert one["tokens_per_word_of_sources"] == {"a": 1.0, "b": 514 / 513}
    assert text.describe()["words_of_sources"] == {"a": 511, "b": 513} and text.size.words == 1024


def test_overlap_is_of_texts_without_signs_and_specials():
    some = [wordpiece("le", "##tient", "pa"), unigram({"▁le": -1.0, "tient": -1.0, "▁tient": -1.0, "▁": -1.0})]
    (own, one), (same, other) = overlap(list(map(candidate, some)))
    assert one == same == {"common": 2, "jaccard": 2 / 3}
    assert own == {"common": 3, "jaccard": 1.0} and other == {"common": 2, "jaccard": 1.0}


def cut(*pieces, unknown=(), whole=False):
    return {"pieces": list(pieces), "unknown": list(unknown), "whole": whole}


def test_terms_and_sentences_in_pieces_that_look_alike_in_every_convention():
    assert segment(candidate(unigram()), "Toux, xyz") == cut("▁t", "oux", "▁,", "▁", "xyz", unknown=[4])
    assert segment(candidate(wordpiece("pa", "##tient")), "patient toux") == cut("▁pa", "tient", "toux", unknown=[2])
    bytes_ = candidate(byte_level(("l", "e"), ("Ġ", "le")))
    assert segment_term(bytes_, "le") == cut("▁le", whole=True)  # as in running text
    assert segment(bytes_, "le") == cut("le", whole=True)
    assert segment_term(candidate(unigram()), "le patient")["whole"]  # no word is cut
    whole = {text: segment(candidate(unigram()), text)["whole"] for text in (",", ", ,", "le ☃", "☃")}
    assert whole == {",": True, ", ,": False, "le ☃": False, "☃": False}


def test_categories_are_means_of_their_terms():
    a, b = cut("▁le", whole=True), cut("▁t", "oux")
    terms = [Term("le", "x"), Term("toux", "x"), Term("la", "y")]
    assert by_category(terms, [[a, b], [b, b], [a, b]]) == {
        "x": {"terms": 2, "means": [(1.5, 0.5), (2.0, 0.0)]},
        "y": {"terms": 1, "means": [(1.0, 1.0), (2.0, 0.0)]},
        "(all)": {"terms": 3, "means": [(4 / 3, 2 / 3), (2.0, 0.0)]},
    }
    assert list(by_category(terms[:2], [[a], [b]])) == ["x"]


def test_speed_is_that_of_the_fastest_round_on_one_thread(tmp_path, monkeypatch):
    (tmp_path / "text.txt").write_text("Le patient, toux\n")
    lasts = iter([4, 3, 2, 8, 8, 1])  # two tokenizers in turn, three rounds
    clock = [number for seconds in lasts for number in (0, seconds)]
    monkeypatch.setattr(speed.time, "perf_counter", lambda: clock.pop(0))
    monkeypatch.setenv(speed.SWITCH, "true")
    two = [candidate(unigram()), candidate(wordpiece("le", "patient", ",", "toux"))]
    first, second = speed.speeds(two, [tmp_path / "text.txt"], 1, tmp_path)
    assert first == {"tokens_per_second": 5 / 2, "megabytes_per_second": 16e-6 / 2, "speed_ratio": 1.0}
    assert second == {"tokens_per_second": 4.0, "megabytes_per_second": 16e-6, "speed_ratio": 2.0}
    with speed.one_thread():
        assert speed.os.environ[speed.SWITCH] == "false"
    assert speed.os.environ[speed.SWITCH] == "true"


def test_counts_of_words_are_counts_of_their_pieces():
    tokenizer = unigram(options=TextOptions())
    pieces = count_pieces(tokenizer, {"le": 3, "toux": 2, ",": 4})
    assert {tokenizer.id_to_token(i): n for i, n in enumerate(pieces.counts.tolist()) if n} == {
        "▁le": 3, "▁t": 2, "oux": 2, "▁,": 4,
    }  # fmt: skip
    assert (pieces.words, pieces.whole_words) == (5, 3)
    assert pieces.describe(raw_words=5)["tokens_per_white_space_word"] == 2.2


def shards(tmp_path, count=600):
    """Documents of one line of 1,000 bytes, every third of three such lines, in shards of 100."""
    lines = [" ".join([f"patient{number:03d}"] * 91)[:999] for number in range(count)]
    documents = [Document(str(n), "ab"[n % 2], [line] * (3 if n % 3 == 0 else 1)) for n, line in enumerate(lines)]
    return write_shards(tmp_path / "in", documents, 100), documents


def test_documents_are_drawn_until_they_are_as_large_as_asked_wherever_they_lie(tmp_path):
    place, documents = shards(tmp_path)
    met = np.zeros(len(documents))
    for seed in range(20):
        text = draw_documents(place, 500_000, seed, ALONE, tmp_path / str(seed))
        drawn = list(read_documents(text.blocks))
        assert 500_000 <= text.size.bytes < 503_000 and text.size.documents == len(drawn)
        assert text.whole.documents == 600 and text.whole.bytes == 1_000_000
        assert len(text.inputs) == 6
        numbers = [int(document.id) for document in drawn]
        assert numbers == sorted(numbers) and [documents[number] for number in numbers] == drawn
        met[numbers] += 1
        assert {number for number in numbers if number < 100} != {number % 100 for number in numbers if number >= 500}
    assert abs(met.reshape(6, 100).sum(1) - 1000).max() < 90  # deviation 22
    assert abs(met[::3].sum() - 2000) < 130  # large documents are as likely as others


def test_a_small_text_is_measured_whole_and_the_order_of_documents_stays(tmp_path):
    place, documents = shards(tmp_path, 50)
    text = draw_documents(place, 10**9, 1, ALONE, tmp_path / "drawn")
    assert list(read_documents(text.blocks)) == documents and text.size == text.whole


def test_the_figures_do_not_depend_on_blocks_and_processes(tmp_path, monkeypatch):
    place, _ = shards(tmp_path)
    some = [candidate(unigram(), "a"), candidate(byte_level(("l", "e")), "b")]
    special = candidate(build_tokenizer(PAPER, Subwords("unigram", list(PIECES), list(PIECES.values()))), "c")
    found = []
    for workers, block in ((1, 10**6), (2, 250_000)):
        monkeypatch.setattr(text_sample, "BLOCK_CHARACTERS", block)
        text, meters = measure_all([*some, special], place, tmp_path / str(workers), 0.6, workers)
        found.append(([figures(meter, text) for meter in meters], text.describe()))
    assert found[0] == found[1]
    assert len(text.blocks) == 3 and found[0][0][0]["too_long_document_share"] > 0.3


def test_a_tokenizer_in_another_process_takes_special_tokens_for_text(tmp_path):
    one = candidate(unigram({"▁<": -1.0, "▁le": -1.0, "s": -1.0, ">": -1.0, "▁>": -1.0, "▁s": -1.0}))
    copy = pickle.loads(pickle.dumps(one))
    assert "<s>" not in copy.tokenizer.encode("le <s>", add_special_tokens=False).tokens
    assert (copy.name, copy.kind, copy.unknown, copy.trained_on) == (one.name, one.kind, one.unknown, one.trained_on)
