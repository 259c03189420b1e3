"""Where words start, in the three ways in which vocabularies mark it, with French pieces."""

import numpy as np
import pytest
from corpus_helpers import write_tokenizer
from fairseq.data import Dictionary
from model_helpers import WORDPIECE, bert_dictionary
from published_tokenizers import EVERY_KIND
from published_tokenizers import write_tokenizer as write_published

from alibert_common.errors import InputError
from alibert_fairseq.data.dictionary import load_dictionary, mask_id, special_ids, subword_ids, word_starts
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.special_tokens import symbols_of, write_symbols

SENTENCEPIECE = "▁fi èvre ▁é tat é ç ▁œ dème œ ▁coeur ▁à re ▁ , ▁, ##".split(" ")
BYTE_LEVEL = "fi ĠfiÃ¨vre Ãª tre ĠÃ© tat Ġà Ġ Å ĵ".split(" ")  # bytes of UTF-8, spelled as GPT-2 does


def dictionary_of(pieces) -> Dictionary:
    result = Dictionary()
    for piece in pieces:
        result.add_symbol(piece)
    result.add_symbol("<mask>")
    return result


@pytest.mark.parametrize(
    ("pieces", "starting"),
    [
        (SENTENCEPIECE, "▁fi ▁é ▁œ ▁coeur ▁à ▁ ▁,"),  # neither é nor ç nor œ: they stand inside words
        (BYTE_LEVEL, "ĠfiÃ¨vre ĠÃ© Ġà Ġ"),
        (WORDPIECE, "fi é œ coeur , # Ġ"),
    ],
)
def test_the_marks_decide_whatever_the_letters(pieces, starting):
    starts = word_starts(dictionary_of(pieces))
    assert [piece for piece, start in zip(pieces, starts[4:], strict=False) if start] == starting.split(" ")
    assert starts.dtype == bool and len(starts) == 4 + len(pieces) + 1


def test_the_tokenizers_own_words(tmp_path):
    """Every word of a French sentence, as the tokenizer splits it, begins where word_starts says, and nowhere else."""
    directory = write_tokenizer(tmp_path / "tokenizer")
    dictionary, tokenizer = Dictionary.load(str(directory / "dict.txt")), load_tokenizer(directory)
    dictionary.add_symbol("<mask>")
    text = "La fièvre cède à 38,5 °C : œdème réversible, garçon âgé."
    encoding = tokenizer.encode(text, add_special_tokens=False)
    starts = word_starts(dictionary)[encoding.ids]
    expected = np.diff([-1, *encoding.word_ids]) != 0
    assert (starts == expected).all() and 10 < starts.sum() < len(starts)


@pytest.mark.parametrize(
    "pieces", [[str(number) for number in range(500)] + ["▁"], "hép@@ atite de@@ main".split(), []]
)
def test_a_vocabulary_without_marks_is_refused(pieces):
    with pytest.raises(InputError, match="use --mask-unit token"):
        word_starts(dictionary_of(pieces))


def test_special_tokens_are_found_wherever_they_stand():
    dictionary = bert_dictionary()
    assert mask_id(dictionary) == 5 and len(dictionary) == 6 + len(WORDPIECE) + 1
    assert sorted(special_ids(dictionary)) == [0, 3, 4, 5]
    assert subword_ids(dictionary).tolist() == list(range(6, 6 + len(WORDPIECE)))
    assert word_starts(dictionary)[subword_ids(dictionary)].tolist() == [
        not piece.startswith("##") for piece in WORDPIECE
    ]


def test_the_pieces_of_our_dictionaries_lie_between_the_specials_and_the_fillers():
    dictionary = dictionary_of(["▁a", "b", "▁", "<unused0>", "<unused1>"])
    assert subword_ids(dictionary).tolist() == [4, 5, 6] and mask_id(dictionary) == 9


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_words_of_published_tokenizers(kind, tmp_path):
    """A word starts behind each space; inside, only where the tokenizer's own rules split: WordPiece at an elision."""
    tokenizer = write_published(tmp_path, kind)
    write_symbols(tmp_path / "dict.txt", symbols_of(tokenizer, tokenizer.get_vocab_size()))
    text = "la fièvre d’un garçon âgé cède à l'hôpital, œdème bénin ; 38,5 °C çà et là"
    encoding = tokenizer.encode(text, add_special_tokens=False)
    starts = word_starts(load_dictionary(tmp_path))[encoding.ids]
    starts[0] = True  # the token behind <s>, see mask_units.words_of
    places = [begin + (text[begin] == " ") for begin, end in encoding.offsets]
    behind_spaces = {0, *(n + 1 for n, letter in enumerate(text) if letter == " ")}
    found = {place for place, start in zip(places, starts, strict=True) if start}
    assert found >= behind_spaces
    if tokenizer.model.__class__.__name__ == "WordPiece":
        normal = tokenizer.normalizer.normalize_str(text)
        split = {begin for _, (begin, _) in tokenizer.pre_tokenizer.pre_tokenize_str(normal)}
        assert found - behind_spaces <= split and text.index("hôpital") in found
    else:
        assert found == behind_spaces
