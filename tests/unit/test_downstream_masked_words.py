"""Masked words: candidates, ranks and scores, an ELECTRA through its generator, and what is refused."""

import json
import shutil
import sys

import pytest
import torch
from tiny_models import WORDS, write_electra, write_roberta
from transformers import AutoModelForMaskedLM, AutoTokenizer, pipeline

from downstream import masked_words
from downstream.files import InputError
from downstream.masked_words import Sentence, answer, load_filler, read_sentences, whole_words


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    return write_roberta(root / "roberta"), write_electra(root / "electra")


def test_candidates_are_whole_words(folders):
    words = {word for _, word in load_filler(folders[0]).words}
    assert words == {*WORDS, "hépat"}  # neither "ite", which continues a word, nor specials, nor signs


def test_wordpiece_and_byte_level_vocabularies():
    class Fake:
        all_special_ids = [0]

        def __init__(self, *pieces):
            self.pieces = pieces

        def get_vocab(self):
            return {piece: number for number, piece in enumerate(self.pieces)}

        def convert_tokens_to_string(self, pieces):
            return pieces[0].replace("Ġ", " ").replace("Ã©", "é")

    assert whole_words(Fake("[CLS]", "foie", "##ite", ",")) == [(1, "foie")]
    assert whole_words(Fake("<s>", "Ġfoie", "ite", "ĠdÃ©but", "Ġ,")) == [(1, "foie"), (3, "début")]


def test_scores_are_those_of_the_fill_mask_pipeline(folders):
    filler = load_filler(folders[0])
    got = answer(filler, Sentence("Le [MASK] du patient.", "Foie", 1), "f", top=3)
    fill = pipeline("fill-mask", model=str(folders[0]), device="cpu", top_k=filler.model.config.vocab_size)
    by_id = {one["token"]: one["score"] for one in fill("Le <mask> du patient.")}
    wanted = {word: by_id[number] for number, word in filler.words}
    ranked = sorted(wanted, key=lambda word: -wanted[word])
    assert [one["word"] for one in got["top"]] == ranked[:3]
    assert [one["score"] for one in got["top"]] == pytest.approx([wanted[word] for word in ranked[:3]], abs=1e-6)
    assert got["expected_rank"] == ranked.index("foie") + 1
    assert got["expected_score"] == pytest.approx(wanted["foie"], abs=1e-6)


def test_a_word_of_several_pieces_has_no_rank(folders):
    got = answer(load_filler(folders[0]), Sentence("Le [MASK].", "hépatite", 1), "f", top=2)
    assert got["expected_rank"] is None and got["expected_score"] is None and len(got["top"]) == 2


def test_electra_answers_through_its_generator_and_says_so(folders):
    filler = load_filler(folders[1])
    assert filler.note == "through its generator"
    tokenizer = AutoTokenizer.from_pretrained(folders[1])
    generator = AutoModelForMaskedLM.from_pretrained(folders[1] / "generator").eval()
    batch = tokenizer("le <mask>", return_tensors="pt")
    with torch.no_grad():
        probabilities = generator(batch["input_ids"]).logits[0, 2].softmax(-1)
    got = answer(filler, Sentence("le [MASK]", "foie", 1), "f", top=1)
    assert got["expected_score"] == pytest.approx(
        probabilities[tokenizer.convert_tokens_to_ids("▁foie")].item(), abs=1e-6
    )


def test_an_electra_without_generator_and_a_headless_model_are_refused(folders, tmp_path):
    folder = shutil.copytree(folders[1], tmp_path / "electra")
    shutil.rmtree(folder / "generator")
    with pytest.raises(InputError, match="no generator/ in it"):
        load_filler(folder)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | {"architectures": ["ElectraForMaskedLM"]}))
    with pytest.raises(InputError, match="no whole masked-language model"):
        load_filler(folder)


@pytest.mark.parametrize(
    "content, complaint",
    [
        ("", "no sentence in it"),
        ("# seul\n\n", "no sentence in it"),
        ("le [MASK]\tfoie\nsans masque\tfoie\n", "line 2: write a sentence with one [MASK]"),
        ("le [MASK] [MASK]\tfoie\n", "line 1: write"),
        ("le [MASK]\n", "line 1: write"),
        ("le [MASK]\t\n", "line 1: write"),
    ],
)
def test_a_bad_sentences_file_is_one_sentence(tmp_path, content, complaint):
    (tmp_path / "s.tsv").write_text(content)
    with pytest.raises(InputError) as error:
        read_sentences(tmp_path / "s.tsv")
    assert complaint in str(error.value)


def test_a_sentence_too_long_for_a_model_is_refused(folders):
    with pytest.raises(InputError, match="s.tsv, line 4: roberta reads it as 43 tokens"):
        answer(load_filler(folders[0]), Sentence("[MASK]" + " foie" * 40, "le", 4), "s.tsv, line 4", top=1)


def test_the_command_writes_table_and_figures(folders, tmp_path, monkeypatch, capsys):
    (tmp_path / "s.tsv").write_text("Le [MASK] du patient.\tfoie\nUne [MASK].\thépatite\n")
    command = ["masked_words", "--sentences", str(tmp_path / "s.tsv"), "--top", "2", "--output", str(tmp_path / "out")]
    monkeypatch.setattr(sys, "argv", command + [part for folder in folders for part in ("--model", str(folder))])
    masked_words.main()
    printed = capsys.readouterr().out
    assert "electra (through its generator)" in printed and "not one piece of this vocabulary" in printed
    content = json.loads((tmp_path / "out" / "masked_words.json").read_text())
    ranks = [row["answers"]["roberta"]["expected_rank"] for row in content["rows"]]
    assert ranks[0] >= 1 and ranks[1] is None
    assert content["models"]["roberta"]["top_5"] == (ranks[0] <= 5) / 2
    assert (tmp_path / "out" / "masked_words.md").read_text().startswith("| Sentence | expected | roberta |")


def test_two_models_of_one_name_are_refused(folders, tmp_path, monkeypatch):
    (tmp_path / "s.tsv").write_text("Le [MASK] du patient.\tfoie\n")
    parts = [
        "masked_words",
        "--sentences",
        str(tmp_path / "s.tsv"),
        "--model",
        str(folders[0]),
        "--model",
        str(folders[0]),
    ]
    monkeypatch.setattr(sys, "argv", parts)
    with pytest.raises(InputError, match="same name"):
        masked_words.main()
