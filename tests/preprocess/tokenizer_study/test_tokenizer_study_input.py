"""What the tokenizer study refuses: in one sentence, with a remedy."""

import re
import subprocess
import sys

import pytest
from corpus_helpers import one_sentence, run
from text_helpers import trained
from tokenizers import Tokenizer, models

from alibert_common.errors import InputError
from alibert_common.input_log import InputLog
from preprocess.tokenizer_study.candidates import load_candidates
from preprocess.tokenizer_study.samples import Term, read_sentences, read_terms


def test_folders_without_a_tokenizer_json_are_refused_with_a_remedy_that_works(tmp_path):
    for folder in ("bert", "empty"):
        (tmp_path / folder).mkdir()
    with pytest.raises(InputError, match="empty: no tokenizer.json in it; give folders that hold one.$"):
        load_candidates([tmp_path / "empty"])
    (tmp_path / "bert" / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nla\ntoux\n")
    (tmp_path / "bert" / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    with pytest.raises(InputError, match="bert: no tokenizer.json in it; make one with `python -c ") as refused:
        load_candidates([tmp_path / "bert"])
    remedy = re.search(r"`python -c \"(.*)\"`", str(refused.value))[1]
    subprocess.run([sys.executable, "-c", remedy], check=True, capture_output=True)
    (made,) = load_candidates([tmp_path / "bert-fast"])
    assert (made.name, made.kind, made.trained_on) == ("bert-fast", "WordPiece", None)
    assert made.tokenizer.encode("la toux", add_special_tokens=False).tokens == ["la", "toux"]


def test_tokenizers_and_names_that_cannot_be_compared_are_refused(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match="tokenizer.json: not a tokenizer"):
        load_candidates([tmp_path])
    Tokenizer(models.BPE({"a</w>": 0}, [], end_of_word_suffix="</w>")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(InputError, match="marks the ends of words"):
        load_candidates([tmp_path])
    with pytest.raises(InputError, match="--names: 1 names for 2 tokenizers"):
        load_candidates([tmp_path, tmp_path], ["a"])
    with pytest.raises(InputError, match=f"{trained().name}, {trained().name}: two tokenizers have the same name"):
        load_candidates([trained(), trained()])


def test_terms_that_cannot_be_read_are_refused_with_their_line(tmp_path):
    file = tmp_path / "terms.tsv"
    for text in ("# none\nfoie\n", "a\tb\n\tb\n", "a\tb\na\tb\tc\n"):
        file.write_text(text)
        with pytest.raises(InputError, match="terms.tsv, line 2: write a term, a tab and its category"):
            read_terms(file, InputLog())
    file.write_text("# none\n\n")
    with pytest.raises(InputError, match="no term in it"):
        read_terms(file, InputLog())
    file.write_text("# a comment\n\nsonde vésicale \t device\n")
    assert read_terms(file, InputLog()) == [Term("sonde vésicale", "device")]


def test_sentences_are_lines_but_for_comments(tmp_path):
    (tmp_path / "lines.txt").write_text("# a comment\n\nUne toux.\nDeux, 3.\n")
    assert read_sentences(tmp_path / "lines.txt", InputLog()) == ["Une toux.", "Deux, 3."]
    (tmp_path / "lines.txt").write_text("# a comment\n")
    with pytest.raises(InputError, match="no sentence in it; write one on each line"):
        read_sentences(tmp_path / "lines.txt", InputLog())


def test_a_text_that_cannot_be_read_is_refused_in_one_sentence_and_nothing_is_written(tmp_path):
    result = run(
        "preprocess.compare_tokenizers", trained(), "--text", tmp_path / "no.txt", "--output", tmp_path / "out"
    )
    assert "no.txt: no such file" in one_sentence(result) and not (tmp_path / "out").exists()
