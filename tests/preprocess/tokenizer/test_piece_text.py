"""What pieces spell in the three conventions, and which of them a vocabulary holds twice."""

import pytest
from published_tokenizers import TOKENIZERS, made
from text_helpers import SIZE, trained
from tokenizers import Tokenizer

from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.piece_text import Convention, Spelled, spelled_texts, text_pieces, twice

SENTENCEPIECE, WORDPIECE, BYTES = Convention(), Convention("##"), Convention(None, True)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_the_convention_is_read_from_the_rules(kind):
    expected = {"wordpiece": WORDPIECE, "byte-level": BYTES}
    assert Convention.of(Tokenizer.from_str(made(kind)[0])) == expected.get(kind, SENTENCEPIECE)


def test_a_piece_spells_its_text_without_the_sign_of_its_convention():
    assert [SENTENCEPIECE.spelled(piece) for piece in ("▁été", "été")] == [Spelled(True, "été"), Spelled(False, "été")]
    assert [WORDPIECE.spelled(piece) for piece in ("été", "##été")] == [Spelled(True, "été"), Spelled(False, "été")]
    assert [BYTES.spelled(piece) for piece in ("ĠÃ©tÃ©", "tÃ©")] == [Spelled(True, "été"), Spelled(False, "té")]
    assert (SENTENCEPIECE.lone, WORDPIECE.lone, BYTES.lone) == ("▁", None, "Ġ")


def test_what_spells_no_text_is_left_out():
    assert spelled_texts(["▁", "mot", "<0xC3>"], SENTENCEPIECE) == [Spelled(False, "mot")]
    assert spelled_texts(["Ã", "Ġ", "Ã©"], BYTES) == [Spelled(False, "é")]  # half a letter, nothing, a letter


def test_pieces_are_neither_special_tokens_nor_free_ids():
    ours = text_pieces(load_tokenizer(trained()))
    assert len(ours) == SIZE and min(ours) == 4 and not any("unused" in piece for piece in ours.values())
    bert = text_pieces(Tokenizer.from_str(made("wordpiece")[0]))
    assert len(bert) == 400 and not any("[" in piece and len(piece) > 1 for piece in bert.values())


@pytest.mark.parametrize(
    "convention,pieces,boundary,case,accents",
    [
        # one letter is not counted; "mot" starts a word and stands inside one; "Mot" starts one, "foie" is there once
        (SENTENCEPIECE, ["▁mot", "mot", "▁a", "a", "▁A", "▁Mot", "▁foie"], 1, 1, 0),
        (WORDPIECE, ["fin", "##fin", "Fin", "##FIN", "FIN"], 2, 3, 0),  # fin twice, FIN twice; Fin, FIN, ##FIN
        (BYTES, ["ĠcÃ´tÃ©", "Ġcote", "ĠcÃ´te", "cote", "Ã©"], 1, 0, 2),
    ],
)
def test_twice_counts_what_a_vocabulary_would_save(convention, pieces, boundary, case, accents):
    spelled = spelled_texts(pieces, convention)
    assert [twice(spelled, difference) for difference in ("boundary", "case", "accents")] == [boundary, case, accents]
