"""The tokenizer study: figures worked out by hand on a few words, then the command."""

import json

from preprocess.compare_tokenizers import measure
from preprocess.normalizer import TextOptions
from preprocess.tokenizer_quality import count_pieces, duplicates
from preprocess.vocabulary import Subwords, build_tokenizer
from tests.corpus_helpers import one_sentence, run
from tests.text_helpers import trained

PIECES = {"▁le": -1.0, "▁patient": -2.0, "▁,": -2.0, "▁": -5.0, "t": -5.0, "oux": -3.0, "▁t": -4.0, "patient": -9.0}


def toy():
    return build_tokenizer(TextOptions(), Subwords("unigram", list(PIECES), list(PIECES.values())))


def test_figures_worked_out_by_hand():
    # le | patient | , | t oux | le | ▁ <unk>: 8 tokens, 5 words of letters of which le, patient, le are whole
    figures = measure(toy(), ["Le patient, toux", "le  xyz"])
    assert figures.pop("tokens_per_second") > 0
    assert figures == {
        "pieces": 16,
        "tokens": 8,
        "tokens_per_word": 1.6,
        "unknown_share": 0.125,
        "lone_boundary_share": 0.125,
        "whole_word_share": 0.6,
        "duplicates": 1,
    }


def test_counts_of_words_are_counts_of_their_pieces():
    tokenizer = toy()
    pieces = count_pieces(tokenizer, {"le": 3, "toux": 2, ",": 4})
    assert {tokenizer.id_to_token(i): n for i, n in enumerate(pieces.counts.tolist()) if n} == {
        "▁le": 3, "▁t": 2, "oux": 2, "▁,": 4,
    }  # fmt: skip
    assert (pieces.words, pieces.whole_words) == (5, 3)
    assert pieces.describe(raw_words=5)["tokens_per_white_space_word"] == 2.2


def test_duplicates_are_strings_that_are_a_piece_at_the_start_and_inside_a_word():
    assert duplicates(["▁mot", "mot", "▁a", "a", "▁seul", "lié", "##fin", "fin"]) == ["fin", "mot"]


def test_the_command_prints_a_table_and_writes_json(tmp_path):
    (tmp_path / "text.txt").write_text("Le patient a de la fièvre.\n\nLa patiente tousse.\n", encoding="utf-8")
    result = run(
        "preprocess.compare_tokenizers", trained(), trained(model="bpe"),
        "--text", tmp_path / "text.txt", "--output", tmp_path / "out.json",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    header, *rows = result.stdout.splitlines()
    assert header.split()[:3] == ["tokenizer", "pieces", "tokens"] and len(rows) == 2
    figures = json.loads((tmp_path / "out.json").read_text())
    assert list(figures) == [str(trained()), str(trained(model="bpe"))]
    assert all(row["lone_boundary_share"] == 0 < row["tokens_per_word"] for row in figures.values())


def test_what_is_no_tokenizer_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "text.txt").write_text("Le patient.\n", encoding="utf-8")
    result = run("preprocess.compare_tokenizers", tmp_path, "--text", tmp_path / "text.txt")
    assert "tokenizer.json: no such file" in one_sentence(result)
    (tmp_path / "tokenizer.json").write_text("{}")
    result = run("preprocess.compare_tokenizers", tmp_path, "--text", tmp_path / "text.txt")
    assert "tokenizer.json: not a tokenizer" in one_sentence(result)
