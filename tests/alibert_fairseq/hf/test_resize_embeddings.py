"""Rows of another vocabulary, worked out by hand on small tokenizers, and on published ones with our own."""

from pathlib import Path

import pytest
import torch
from published_tokenizers import EVERY_KIND, made, special
from text_helpers import CASED, trained
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import RobertaConfig, RobertaForMaskedLM

from alibert_fairseq.hf.families.table import ROBERTA
from alibert_fairseq.hf.published.model import PublishedPart
from alibert_fairseq.hf.published.resize_embeddings import NewRows, extended, replaced, with_rows
from alibert_fairseq.hf.published.word_splitter import WordSplitter
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.normalizer import TextOptions
from preprocess.tokenizer.piece_text import Spelled
from preprocess.tokenizer.special_tokens import ROLES, our_layout, read_layout
from preprocess.tokenizer.vocabulary import Subwords, build_tokenizer

NEW = ["▁patient", "▁Foie", "ite", "▁hépat", "é", "▁,", "▁", "▁日", "s", ","]  # ids 4 to 13, then a filler and <mask>


def new_tokenizer():
    return build_tokenizer(TextOptions(cased=True), Subwords("unigram", NEW, [-2.0] * len(NEW)))


def wordpiece():
    """Lower-casing, accents kept: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4."""
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "patient", "fo", "##ie", "##i", "##te", "h", "##é", "##pat"]
    tokenizer = Tokenizer(models.WordPiece({p: n for n, p in enumerate([*pieces, ","])}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=False)
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    tokenizer.add_special_tokens([special(token) for token in pieces[:5]])
    return tokenizer


OLD_ROLES = {"begin": 2, "pad": 0, "end": 3, "unknown": 1, "mask": 4}


def sources_by_token(old, roles, new, layout):
    rows = replaced(old, roles, new, layout)
    return {new.id_to_token(n): list(ids) for n, ids in enumerate(rows.sources)}, rows


def test_rows_worked_out_by_hand_for_wordpiece():
    new = new_tokenizer()
    sources, rows = sources_by_token(wordpiece(), OLD_ROLES, new, our_layout(new.get_vocab_size()))
    everything = list(range(5, 14))
    assert sources == {
        "<s>": [2], "<pad>": [0], "</s>": [3], "<unk>": [1], "<mask>": [4],  # by role
        "▁patient": [5], "▁,": [13], "é": [11],  # the same spelling: a word's start, inside a word
        "▁Foie": [6, 7],  # the old rules know no capitals: fo ##ie
        "ite": [8, 9],  # inside a word: ##i ##te
        "▁hépat": [10, 11, 12],
        "▁日": [1], "s": [1],  # unknown to the old one, at a start and inside
        ",": [13],  # which BERT's rules never have inside a word
        "▁": everything, "<unused0>": everything,  # no text at all
    }  # fmt: skip
    kinds = {"by role": 5, "by spelling": 3, "means": 4, "of the unknown": 2, "of all rows": 2}
    assert rows.counts == kinds and rows.padding == 1


def test_a_row_is_the_mean_of_its_sources():
    new = new_tokenizer()
    rows = replaced(wordpiece(), OLD_ROLES, new, our_layout(new.get_vocab_size()))
    torch.manual_seed(0)
    table, bias = torch.randn(14, 3), torch.randn(14)
    new_table, new_bias = rows.apply(table), rows.apply(bias)
    assert new_table.shape == (16, 3) and new_bias.shape == (16,)
    assert torch.equal(new_table[new.token_to_id("▁patient")], table[5])
    place = new.token_to_id("▁hépat")
    assert torch.allclose(new_table[place], (table[10] + table[11] + table[12]) / 3, atol=1e-7)
    assert torch.allclose(new_bias[place], (bias[10] + bias[11] + bias[12]) / 3, atol=1e-7)


def test_more_pieces_leave_the_others_where_they_were():
    rows = extended(6, {5: [0], 6: [1, 2]}, padding=0)  # 5 was a row that no token had
    assert rows.apply(torch.arange(6.0)[:, None]).squeeze(1).tolist() == [0, 1, 2, 3, 4, 0, 1.5]
    assert extended(6, {5: [0]}, padding=0).apply(torch.arange(6.0)).tolist() == [0, 1, 2, 3, 4, 0]


@torch.no_grad()
def test_another_padding_moves_robertas_positions_with_it():
    """The same words under other ids, the padding among them: the same scores, under the new ids."""
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 16}
    config = RobertaConfig(vocab_size=10, pad_token_id=5, max_position_embeddings=14, type_vocab_size=1, **sizes)
    torch.manual_seed(0)
    model = RobertaForMaskedLM(config).eval()
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter))
    sources = [0, 5, 1, 2, 3, 4, 6, 7, 8, 9]  # 5 became 1
    moved = with_rows(PublishedPart(ROBERTA, Path(), model, [], []), NewRows([[i] for i in sources], padding=1)).model
    assert moved.config.pad_token_id == 1 and moved.config.max_position_embeddings == 10
    old = torch.tensor([[0, 7, 9, 2, 5, 5], [0, 1, 3, 4, 6, 2]])
    new = torch.tensor([[sources.index(i) for i in row] for row in old.tolist()])
    scores = [m(ids, attention_mask=old.ne(5).long()).logits[old.ne(5)] for m, ids in ((model, old), (moved, new))]
    assert torch.allclose(scores[0][:, sources], scores[1], atol=1e-5)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_three_conventions_spell_the_same_words(kind):
    tokenizer = Tokenizer.from_str(made(kind)[0])
    splitter = WordSplitter(tokenizer, 3)
    text_of = splitter.subword_texts()
    assert set(text_of.values()) >= {Spelled(True, "de"), Spelled(True, "la"), Spelled(False, "s")}
    assert not any(tokenizer.id_to_token(n) in ("<s>", "[CLS]", "<mask>", "[MASK]") for n in text_of)
    number = next(n for n, s in text_of.items() if s == Spelled(True, "de"))
    assert splitter.split(Spelled(True, "de")) == [number]
    inside = splitter.split(Spelled(False, "ologie"))
    assert "".join(text_of[n].text for n in inside) == "ologie" and not any(text_of[n].starts_word for n in inside)
    start = splitter.split(Spelled(True, "ologie"))
    assert text_of[start[0]].starts_word and "".join(text_of[n].text for n in start) == "ologie"


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_piece_of_our_tokenizers_finds_rows_that_spell_it(kind):
    old, directory = Tokenizer.from_str(made(kind)[0]), trained(CASED)
    new, layout = load_tokenizer(directory), read_layout(directory)
    roles = {role: old.token_to_id(made(kind)[1][name]) for role, name in ROLES.items()}
    rows = replaced(old, roles, new, layout)
    assert len(rows.sources) == layout.size and sum(rows.counts.values()) == layout.size
    assert rows.counts["by role"] == 5 and rows.counts["by spelling"] > 200 and rows.counts["means"] > 300
    old_spelled, new_spelled = WordSplitter(old, 3).subword_texts(), WordSplitter(new, 3).subword_texts()
    agreeing = 0
    for number, text_of in new_spelled.items():
        ids = rows.sources[number]
        if all(i in old_spelled for i in ids) and len(ids) < 50:
            text = "".join(old_spelled[i].text for i in ids)
            agreeing += text == plain(text_of.text) if kind == "albert" else text == text_of.text
    assert agreeing > 0.9 * len(new_spelled)


def plain(text: str) -> str:
    """As ALBERT's rules leave it."""
    return Tokenizer.from_str(made("albert")[0]).normalizer.normalize_str(text)
