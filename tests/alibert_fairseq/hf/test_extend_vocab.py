"""Words that become pieces of a published tokenizer: one piece wherever they stand, and nothing else changes."""

import json

import pytest
from long_cases import long_except
from published_tokenizers import EVERY_KIND, made
from text_helpers import CLINICAL, EVERY_OPTIONS, PAPER, some_lines, trained
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from alibert_common.errors import InputError
from alibert_fairseq.hf.published.extend_vocab import MorePieces
from preprocess.tokenizer.load import load_tokenizer

WORDS = ["hépatomégalie", "cardio", "logie", "cardiologie", "amoxicilline"]
OF_WHOLE_WORDS = ("drbert", "doctobert", "doctomodernbert")  # whose BPE gets all between two spaces
IN_TEXT = [kind for kind in EVERY_KIND if kind not in OF_WHOLE_WORDS]  # found beside apostrophes and marks too
LINES = ["la cardiologie", "(amoxicilline)", "l'hépatomégalie, hépatomégalie.", "Une cardiologie ; cardio"]


def more(kind, tmp_path, words=WORDS, change=None):
    file = tmp_path / "words.txt"
    file.write_text("\n".join(words) + "\n\n", encoding="utf-8")
    text, roles = made(kind)
    tokenizer = Tokenizer.from_str(text)
    unknown = tokenizer.token_to_id(roles["unk_token"])
    return tokenizer, MorePieces(change(tokenizer) if change else tokenizer, unknown, file)


def tokens(tokenizer, text):
    tokenizer.encode_special_tokens = True
    encoding = tokenizer.encode(text, add_special_tokens=False)
    return [(token, text[a:b]) for token, (a, b) in zip(encoding.tokens, encoding.offsets, strict=True)]


@pytest.mark.parametrize("kind", IN_TEXT)
def test_every_word_is_one_piece_with_its_offsets(kind, tmp_path):
    _, added = more(kind, tmp_path)
    for line in LINES:
        raw = [slice.strip() for _, slice in tokens(added.tokenizer, line)]  # ModernBERT's have the space in front
        for word in WORDS:
            if word in line and not any(word in longer and longer in line for longer in WORDS if longer != word):
                assert word in raw, (line, raw)
    assert tokens(added.tokenizer, "la cardiologie")[-1][1].strip() == "cardiologie"  # not cardio logie


@pytest.mark.parametrize("options", long_except(EVERY_OPTIONS, PAPER, CLINICAL), ids=str)
def test_a_word_of_this_projects_rules_is_found_wherever_it_stands(options, tmp_path):
    """They put a space around marks, so that the marked piece alone serves; where they do not, the other form does."""
    (tmp_path / "words.txt").write_text("hépatopathie\ncordarone\n", encoding="utf-8")
    added = MorePieces(load_tokenizer(trained(options)), 3, tmp_path / "words.txt")
    if options == PAPER:
        assert added.pieces == ["▁hépatopathie", "▁cordarone"]
    found = [raw for _, raw in tokens(added.tokenizer, "une hépatopathie, l'hépatopathie (cordarone).")]
    assert found.count("hépatopathie") == 2 and found.count("cordarone") == 1
    texts = ("une hépatopathie aiguë", "une hépatopathie,", "l'hépatopathie", "(cordarone)", "de cordarone ou")
    used = {token for text in texts for token, _ in tokens(added.tokenizer, text)}
    assert set(added.pieces) <= used  # no row that no text reaches


@pytest.mark.parametrize("kind", IN_TEXT)
def test_what_stands_around_a_word_stays_as_it_was(kind, tmp_path):
    old, added = more(kind, tmp_path)
    around = tokens(old, "le (x), de")
    got = tokens(added.tokenizer, "le (cardiologie), de")
    assert [token for token, raw in got if raw != "cardiologie"] == [token for token, raw in around if raw != "x"]
    assert len(got) == len(around)


def test_a_sentencepiece_bpe_has_a_word_as_a_piece_between_spaces_only(tmp_path):
    old, added = more("drbert", tmp_path)
    assert added.pieces == [f"▁{word}" for word in WORDS]  # another form would be found nowhere
    around = [[token for token, _ in tokens(old, word)] for word in ("la", "de")]
    found = [token for token, _ in tokens(added.tokenizer, "la cardiologie de")]
    assert found == [*around[0], "▁cardiologie", *around[1]]
    for text in ("l'hépatomégalie", "(amoxicilline)", "cardiologie,"):
        assert tokens(added.tokenizer, text) == tokens(old, text)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_text_without_the_words_keeps_its_ids(kind, tmp_path):
    old, added = more(kind, tmp_path)
    lines = [line for line in some_lines() if not any(word in line.lower() for word in ("hépato", "cardi", "logi"))]
    lines = [line for line in lines if "amox" not in line.lower()]
    assert len(lines) > 1000
    assert [e.ids for e in added.tokenizer.encode_batch(lines)] == [e.ids for e in old.encode_batch(lines)]


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_new_ids_stand_behind_the_last_and_know_their_old_pieces(kind, tmp_path):
    old, added = more(kind, tmp_path)
    size = old.get_vocab_size()
    assert sorted(added.added) == list(range(size, size + len(added.pieces))) and len(added.pieces) >= len(WORDS)
    assert {old.id_to_token(n) for n in range(size)} == {added.tokenizer.id_to_token(n) for n in range(size)}
    for number, pieces in added.added.items():
        spelled = "".join(old.id_to_token(piece).removeprefix("##") for piece in pieces)
        assert spelled == added.tokenizer.id_to_token(number) and len(pieces) > 1


def test_a_word_that_is_a_piece_already_gets_no_other(tmp_path):
    old, added = more("wordpiece", tmp_path, ["patient", "le", "cardiologie"])
    assert "le" in old.get_vocab() and [p for p in added.pieces if p == "le"] == []
    assert added.words.keys() == {"patient", "le", "cardiologie"}


def test_a_tokenizer_of_lower_case_takes_the_word_as_it_reads_it(tmp_path):
    _, added = more("albert", tmp_path, ["Hépatomégalie"])
    assert added.pieces == ["▁hepatomegalie", "hepatomegalie"]
    assert tokens(added.tokenizer, "HÉPATOMÉGALIE")[-1] == ("▁hepatomegalie", "HÉPATOMÉGALIE")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["fièvre", "acide acétylsalicylique"], "line 2: the tokenizer splits 'acide acétylsalicylique'"),
        ([""], "no word in it"),
    ],
)
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_what_cannot_be_a_piece_is_refused(kind, words, complaint, tmp_path):
    with pytest.raises(InputError, match=complaint):
        more(kind, tmp_path, words)


def test_a_word_with_a_mark_is_refused_where_marks_split(tmp_path):
    with pytest.raises(InputError, match="splits 'anti-TNF' at white space or marks, into anti, -, TNF"):
        more("wordpiece", tmp_path, ["anti-TNF"])


def test_a_file_that_is_no_utf_8_is_refused(tmp_path):
    (tmp_path / "words.txt").write_bytes("hépatite".encode("latin-1"))
    with pytest.raises(InputError, match="words.txt, line 1: byte 2 .* is not UTF-8"):
        MorePieces(Tokenizer.from_str(made("wordpiece")[0]), 100, tmp_path / "words.txt")


def with_gap(tokenizer):
    """An added token so far behind the others that the ids between are nobody's."""
    rules = json.loads(tokenizer.to_str())
    rules["added_tokens"][-1] |= {"id": 1000}
    rules["model"]["vocab"] = [piece for piece in rules["model"]["vocab"] if piece[0] != "<mask>"]
    return Tokenizer.from_str(json.dumps(rules))


def test_added_tokens_behind_the_pieces_keep_their_ids(tmp_path):
    """A mask that is no piece of the model: `tokenizers` numbers it anew when there are more pieces."""
    old, added = more("camembert", tmp_path, change=with_gap)
    mask = with_gap(Tokenizer.from_str(made("camembert")[0])).token_to_id("<mask>")
    assert added.tokenizer.token_to_id("<mask>") == mask and min(added.added) == mask + 1


def test_other_models_are_refused(tmp_path):
    def words_only(_):
        tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "le": 1}, "[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        return tokenizer

    with pytest.raises(InputError, match="no words can be added to a WordLevel model"):
        more("wordpiece", tmp_path, change=words_only)


def test_a_bpe_that_would_split_other_words_anew_is_refused(tmp_path):
    """`ignore_merges` would make a piece of "zq", which the merges of this model never make."""

    def with_a_piece_without_merge(tokenizer):
        rules = json.loads(tokenizer.to_str())
        rules["model"]["vocab"]["zq"] = len(rules["model"]["vocab"])
        return Tokenizer.from_str(json.dumps(rules))

    with pytest.raises(InputError, match="this BPE would no longer split 'zq' as it does"):
        more("byte-level", tmp_path, change=with_a_piece_without_merge)


def test_a_word_that_is_too_long_for_a_wordpiece_is_refused_with_the_remedy(tmp_path):
    def limited(tokenizer):
        rules = json.loads(tokenizer.to_str())
        rules["model"]["max_input_chars_per_word"] = 16
        return Tokenizer.from_str(json.dumps(rules))

    with pytest.raises(InputError, match="line 2: 'gastroentérologie' cannot become .*; give --longest-word 17"):
        more("wordpiece", tmp_path, ["amoxicilline", "gastroentérologie"], change=limited)


def test_a_word_whose_unmarked_piece_no_text_gives_is_refused(tmp_path):
    """Rules that split at spaces alone hand (amoxicilline) to the model whole."""

    def at_spaces_only(tokenizer):
        split = pre_tokenizers.Split(Regex(" ?[^ ]+"), "isolated")
        by_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, by_bytes])
        return tokenizer

    with pytest.raises(InputError, match="'amoxicilline' cannot become a piece of this tokenizer"):
        more("byte-level", tmp_path, ["amoxicilline"], change=at_spaces_only)
