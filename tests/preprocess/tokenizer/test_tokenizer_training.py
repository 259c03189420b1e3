"""What `preprocess.train_tokenizer` writes: ids, pieces, files, and what it refuses."""

import json
import random
import resource
import subprocess
import sys
import unicodedata
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from corpus_helpers import REPOSITORY, one_sentence, run
from long_cases import long_except
from text_helpers import AFTER, CLINICAL, MOSES, PAPER, SIZE, same_text, sample_files, sample_lines, trained

from alibert_common.errors import InputError
from alibert_common.executors.base import Engine
from preprocess.mixing.weights import MixWeights
from preprocess.tokenizer import trainers
from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.normalizer import TextNormalizer, TextOptions, rules_only
from preprocess.tokenizer.trainers import TRAINERS, TooLargeError, Words, train
from preprocess.tokenizer.vocabulary import lay_out
from preprocess.tokenizer.word_counts import WordCounter
from preprocess.train_tokenizer import train_tokenizer

KINDS = sorted(TRAINERS)
CASES = [
    (PAPER, "unigram"),
    (PAPER, "bpe"),
    (PAPER, "wordpiece"),
    (AFTER, "unigram"),
    (CLINICAL, "unigram"),
    (MOSES, "bpe"),
]
SHORT = [(PAPER, "unigram"), (PAPER, "wordpiece"), (CLINICAL, "unigram")]
every_case = pytest.mark.parametrize(
    "options,model", long_except(CASES, *SHORT), ids=lambda value: getattr(value, "mode", value)
)


def pieces_of(directory: Path) -> list[str]:
    lines = (directory / "dict.txt").read_text(encoding="utf-8").splitlines()
    return [line.rsplit(" ", 1)[0] for line in lines if not line.startswith("<unused")]


def pieces_in(tokenizer, text: str) -> list[str]:
    return [tokenizer.id_to_token(number) for number in tokenizer.encode(text, add_special_tokens=False).ids]


def is_sign(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def words_of(lines: list[str], *others: str) -> Words:
    """The words of lines after AliBERT's rules, and others."""
    return Words(WordCounter(rules_only(PAPER)).count(lines).words + Counter(others))


def plain_words(*lines: str) -> Words:
    """The words of lines without rules."""
    return Words(Counter(word for line in lines for word in line.split(" ")))


def largest(model: str, words: Words) -> int:
    with pytest.raises(InputError, match="the largest vocabulary that fits is") as refused:
        train(model, words, 5000)
    return int(str(refused.value).split("fits is ")[1].split(";")[0])


def codes() -> list[str]:
    """Words of which pieces are rare: two of three BPE pieces that other texts have are not there."""
    draw = random.Random(1)
    return ["".join(draw.choices("abcdefghij0123456789", k=draw.randint(6, 14))) for _ in range(8000)]


@pytest.mark.parametrize(
    ("kind", "text"), long_except(product(["bpe", "wordpiece"], ["sample", "codes"]), ("bpe", "codes"))
)
def test_a_size_that_is_too_large_is_refused_before_the_training(kind, text, monkeypatch):
    """A trial on the different words tells, and names a size that fits."""
    words = words_of(sample_lines()) if text == "sample" else words_of(sample_lines()[:500], *codes())
    with pytest.raises(TooLargeError) as exact:
        train(kind, words, 60_000)
    sentences, lengths = Words.sentences, []

    def counted(words):
        lengths.append(sum(words.trainable.values()))
        return sentences(words)

    monkeypatch.setattr(Words, "sentences", counted)
    monkeypatch.setattr(trainers, "MANY_WORDS", 1000)
    for size in (exact.value.largest + 1, 40_000):
        with pytest.raises(TooLargeError, match="the largest vocabulary that fits is about") as refused:
            train(kind, words, size)
        assert 0.88 * exact.value.largest < refused.value.largest <= exact.value.largest
    often = words.repeated()
    assert lengths == 2 * [len(words.trainable) + often]
    for size in (refused.value.largest, often):
        lengths.clear()
        assert len(train(kind, words, size).pieces) == size
        assert len(lengths) == 1 + (size > often)  # without a trial: as many as there are repeated words always fit


@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_the_count_of_duplicates_never_fails_the_command(tmp_path, model):
    """A tokenizer without rules needs a piece for each of these signs, ours leaves out what is there once."""
    text = tmp_path / "text.txt"
    signs = "".join(map(chr, range(0x4E00, 0x4F90)))
    text.write_text("\n".join([*sample_lines()[:60], signs]) + "\n", encoding="utf-8")
    for count in (True, False):
        result = train_tokenizer([text], tmp_path / str(count), model=model, vocab_size=170, count_duplicates=count)
        assert set(result.get("duplicates", ())) == ({"in_vocabulary"} if count else set())
    assert (tmp_path / "True/tokenizer.json").read_bytes() == (tmp_path / "False/tokenizer.json").read_bytes()


@pytest.mark.parametrize("model", KINDS)
def test_the_same_words_give_the_same_pieces_and_fewer_are_the_first_of_more(model):
    """Of 400 lines, many pairs are as frequent as others."""
    words = words_of(sample_lines()[:400])
    first, again, fewer = (train(model, words, size).pieces for size in (1500, 1500, 1400))
    assert first == again
    if model != "unigram":
        assert fewer == first[:1400]


def test_weights_without_corpora_are_refused(tmp_path):
    text = small_text(tmp_path)
    with pytest.raises(InputError, match="text.txt: not a directory of preprocess.mix, so there are no corpora"):
        train_tokenizer([text], tmp_path / "out", mix_weights=MixWeights(core="text"))


@pytest.mark.parametrize("model", KINDS)
def test_the_largest_vocabulary_that_is_told_fits(model):
    words = words_of(sample_lines()[:400])
    size = largest(model, words)
    assert len(train(model, words, size).pieces) == size
    with pytest.raises(InputError, match=f"fits is {size};"):
        train(model, words, size + 1)


def test_forty_thousand_pieces_make_the_40008_of_the_paper():
    vocabulary = lay_out([f"▁{number}" for number in range(40_000)])
    assert len(vocabulary) == 40_008
    assert vocabulary[:5] == ["<s>", "<pad>", "</s>", "<unk>", "▁0"]
    assert vocabulary[-4:] == ["<unused0>", "<unused1>", "<unused2>", "<mask>"]


@every_case
def test_ids_are_laid_out_as_fairseq_wants_them(options, model):
    tokenizer = load_tokenizer(trained(options, model))
    size = tokenizer.get_vocab_size()
    assert size % 8 == 0 and size >= 4 + SIZE + 1 > size - 8
    assert [tokenizer.token_to_id(token) for token in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")] == [
        0,
        1,
        2,
        3,
        size - 1,
    ]
    assert len(pieces_of(trained(options, model))) == len(set(pieces_of(trained(options, model)))) == SIZE


def test_a_letter_that_sentencepiece_leaves_out_is_a_piece_all_the_same(monkeypatch):
    """It does so with one met once in 33 million characters: a mark that stands by itself, and once in a word."""
    learn = trainers._sentencepiece

    def without_bullet(*arguments, **settings):
        return {piece: score for piece, score in learn(*arguments, **settings).items() if "•" not in piece}

    monkeypatch.setattr(trainers, "_sentencepiece", without_bullet)
    words = plain_words(*sample_lines()[:200], "• • •foie")
    trained = train("unigram", words, 600)
    scores = dict(zip(trained.pieces, trained.scores, strict=True))
    assert {"•", "▁•"} <= set(scores) and scores["•"] == min(scores[letter] for letter in words.letters)


@every_case
def test_no_piece_holds_white_space_or_a_special_token(options, model):
    for piece in pieces_of(trained(options, model)):
        assert piece and not any(character.isspace() for character in piece)
        assert len(piece) <= 2 or not set("<>") & set(piece)


@pytest.mark.parametrize(
    "options,model", long_except([case for case in CASES if case[0] in (PAPER, AFTER)], *SHORT[:2])
)
def test_no_piece_mixes_punctuation_and_letters_in_paper_mode(options, model):
    for piece in pieces_of(trained(options, model)):
        text = piece.removeprefix("▁").removeprefix("##")
        assert not text or len(text) == 1 or not any(map(is_sign, text)), piece


@pytest.mark.parametrize(
    "options",
    long_except([PAPER, AFTER, CLINICAL, MOSES], PAPER, AFTER, CLINICAL),
    ids=lambda options: options.mode + options.punctuation,
)
def test_unigram_never_spends_a_lone_boundary(options):
    tokenizer = load_tokenizer(trained(options))
    assert tokenizer.token_to_id("▁") is None
    for letter in "aày8":
        assert pieces_in(tokenizer, f"il {letter} dit, (voir) {letter}.").count(f"▁{letter}") == 2


def test_nothing_that_pieces_can_spell_is_unknown():
    tokenizer = load_tokenizer(trained())
    letters = [piece for piece in pieces_of(trained()) if len(piece) == 1 and piece.isalpha()]
    words = [a + piece.removeprefix("▁") for piece in pieces_of(trained()) if len(piece) > 3 for a in ("", letters[-1])]
    assert len(words) > 1000
    for word, encoding in zip(words, tokenizer.encode_batch(words, add_special_tokens=False), strict=True):
        assert 3 not in encoding.ids, word


def test_bpe_spends_no_lone_boundary_before_marks_and_frequent_letters():
    tokens = pieces_in(load_tokenizer(trained(PAPER, "bpe")), "il y a, (voir) l'os : à 8 %.")
    assert "▁" not in tokens
    assert {"▁,", "▁(", "▁)", "▁'", "▁:", "▁%", "▁.", "▁y", "▁à"} <= set(tokens)


def test_punctuation_after_gives_marks_no_boundary():
    tokens = pieces_in(load_tokenizer(trained(AFTER)), "la fièvre (39) , puis")
    assert {"(", ")", ","} <= set(tokens) and not {"▁(", "▁)", "▁,"} & set(tokens)


@every_case
def test_literal_special_tokens_in_a_text_are_ordinary_characters(options, model):
    tokenizer = load_tokenizer(trained(options, model))
    for literal in ("<s>", "<pad>", "</s>", "<unk>", "<mask>", "<unused0>", "[MASK]"):
        encoding = tokenizer.encode(f"le{literal}patient {literal}", add_special_tokens=False)
        named = {"<s>", "<pad>", "</s>", "<mask>", "<unused0>", "[MASK]"}
        assert not named & {tokenizer.id_to_token(number) for number in encoding.ids}
        assert len(encoding.ids) > 6


@every_case
def test_every_token_is_its_slice_of_the_raw_text(options, model):
    tokenizer = load_tokenizer(trained(options, model))
    unknown = (tokenizer.token_to_id("<unk>"), tokenizer.token_to_id("▁"))  # BPE's `▁`, before an unknown character
    for line in [*sample_lines()[:300], "L’état\u00a0: 1\u202f000\u00a0UI «stable»…", "œ\u00adde\u200bme (39,5 °C)"]:
        encoding = tokenizer.encode(line, add_special_tokens=False)
        for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            piece = tokenizer.id_to_token(number)
            assert number in unknown or same_text(tokenizer, line[start:end], piece), (line, piece, line[start:end])


@every_case
def test_decoding_gives_the_normalised_text(options, model):
    tokenizer = load_tokenizer(trained(options, model))
    normalizer = TextNormalizer(tokenizer)
    for line in sample_lines()[:200]:
        encoding = tokenizer.encode(line, add_special_tokens=False)
        if 3 not in encoding.ids:
            assert tokenizer.decode(encoding.ids) == normalizer.normalize(line)


@pytest.mark.parametrize("model", KINDS)
def test_a_vocabulary_too_large_is_refused_with_the_largest_that_fits(model, tmp_path):
    words = plain_words(*["bonjour monsieur, bonsoir madame, bonjour madame et bonsoir monsieur"] * 2)
    size = largest(model, words)
    assert len(train(model, words, size).pieces) == size
    with pytest.raises(InputError, match=f"fits is {size};"):
        train(model, words, size + 1)


@pytest.mark.parametrize("model", KINDS)
def test_a_vocabulary_too_small_for_its_characters_is_refused_with_the_smallest(model):
    words = words_of(sample_lines())
    for size in (-5, 50):
        with pytest.raises(InputError, match="the characters alone need") as refused:
            train(model, words, size)
    smallest = int(str(refused.value).split("need ")[1].split(" ")[0])
    assert len(train(model, words, smallest).pieces) == smallest


@pytest.mark.parametrize("model", ["bpe", "wordpiece"])
def test_a_trial_of_twice_the_size_tells_the_size_that_was_asked_for(model, monkeypatch):
    monkeypatch.setattr(trainers, "MANY_WORDS", 0)
    words = words_of(["àéèùçœâêîôû bcdfghjklmnpq"] * 3)
    with pytest.raises(InputError, match="--vocab-size 9: the characters alone need"):
        train(model, words, 9)


def test_frequent_words_become_pieces_although_a_space_always_follows_them():
    text = ["le votre est la", "la votre est le"] * 50 + ["le chat", "la table", "est bien", "votre avis"]
    words = plain_words(*text)
    pieces = train("unigram", words, largest("unigram", words)).pieces
    assert {"▁le", "▁la", "▁votre", "▁est"} <= set(pieces)


def test_characters_seen_once_and_endless_words_are_not_learned():
    words = plain_words("le pâté et le pâté", "ñ le " + "acgt" * 50, "le " + "acgt" * 50)
    pieces = train("unigram", words, largest("unigram", words)).pieces
    assert "â" in pieces and "ñ" not in pieces and "g" not in pieces


def test_the_files_and_the_manifest(tmp_path):
    lines, files = sample_lines(), [tmp_path / f"{number}.txt" for number in range(3)]
    for file, begin, end in zip(files, (0, 900, 2000), (900, 2000, len(lines)), strict=True):
        file.write_text("\n".join(lines[begin:end]) + "\n", encoding="utf-8")
    manifest = train_tokenizer(files, tmp_path / "out", vocab_size=SIZE, seed=7, count_duplicates=True)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "dict.txt", "manifest.json", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip
    assert json.loads((tmp_path / "out" / "manifest.json").read_text()) == manifest
    assert manifest["text"] == {"mode": "paper", "punctuation": "both", "cased": False}
    assert manifest["sample"] == {"lines": len(sample_lines()), "limit": 1_000_000, "seed": 7}
    assert len(manifest["inputs"]) == 3 and len(manifest["inputs"][0]["sha256"]) == 64
    assert manifest["duplicates"]["in_vocabulary"] < manifest["duplicates"]["in_vocabulary_without_rules"]
    assert (
        manifest["quality"]["lone_boundary_share"] == 0 and 1 < manifest["quality"]["tokens_per_white_space_word"] < 3
    )
    for name in ("tokenizer.json", "dict.txt"):  # the same lines, the same bytes
        assert (tmp_path / "out" / name).read_bytes() == (trained(PAPER) / name).read_bytes()


def small_text(tmp_path: Path) -> Path:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(sample_lines()[:100]) + "\n", encoding="utf-8")
    return text


def test_the_same_again_does_nothing_and_prints_the_same(tmp_path):
    text, output = small_text(tmp_path), tmp_path / "out"
    command = ["preprocess.train_tokenizer", text, "--output", output, "--vocab-size", 200]
    first, before = run(*command), (output / "tokenizer.json").stat().st_mtime_ns
    second = run(*command)
    assert "training unigram on the" in first.stderr
    assert second.stderr == f"{output}: there already, made from the same\n"
    assert first.stdout == second.stdout and "tokens_per_white_space_word" in second.stdout
    assert (output / "tokenizer.json").stat().st_mtime_ns == before


def test_another_setting_or_text_begins_anew(tmp_path):
    text, output = small_text(tmp_path), tmp_path / "out"
    made, settings = [], {"vocab_size": 210}
    for more in ({}, {}, {"seed": 2}, {"sample": 99}, {"options": TextOptions(cased=True)}):
        settings |= more
        manifest = train_tokenizer([text], output, **settings)
        assert manifest == json.loads((output / "manifest.json").read_text(encoding="utf-8"))
        made.append((output / "manifest.json").stat().st_mtime_ns)
    text.write_text(text.read_text(encoding="utf-8") + "Fin.\n", encoding="utf-8")
    train_tokenizer([text], output, **settings)
    made.append((output / "manifest.json").stat().st_mtime_ns)
    assert made[0] == made[1] and len(set(made)) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "text.txt"]


def test_a_killed_command_resumes_without_drawing_again(tmp_path):
    text, output = small_text(tmp_path), tmp_path / "out"
    words = ["preprocess.train_tokenizer", str(text), "--output", str(output), "--vocab-size", "200"]
    command = [sys.executable, "-m", *words]
    killed = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert next(line for line in killed.stderr if "training" in line)
    killed.kill()
    killed.communicate()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.lock", ".out.work", "text.txt"]
    again = run(*words)
    assert "words of 100 lines" in again.stderr
    assert "drawing" not in again.stderr and "counting" not in again.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "text.txt"]
    train_tokenizer([text], tmp_path / "other", vocab_size=200)
    for name in ("tokenizer.json", "dict.txt", "manifest.json"):
        assert (output / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


@pytest.mark.parametrize("sample", [100, 30])
def test_the_tokenizer_is_the_same_for_every_number_of_processes(tmp_path, sample):
    files = [tmp_path / f"{number}.txt" for number in range(3)]
    for number, file in enumerate(files):
        file.write_text("\n".join(sample_lines()[30 * number : 30 * (number + 1)]) + "\n", encoding="utf-8")
    for workers in (1, 2):
        place = tmp_path / str(workers)
        train_tokenizer(files, place, vocab_size=170, sample=sample, count_duplicates=True, engine=Engine(workers))
    for file in (tmp_path / "1").iterdir():
        assert file.read_bytes() == (tmp_path / "2" / file.name).read_bytes()


def test_the_counts_of_dict_txt_are_those_of_the_text(tmp_path):
    tokenizer = load_tokenizer(trained(PAPER))
    counts = Counter()
    for line in sample_lines():
        counts.update(tokenizer.encode(line, add_special_tokens=False).ids)
    for line in (trained(PAPER) / "dict.txt").read_text(encoding="utf-8").splitlines():
        piece, count = line.rsplit(" ", 1)
        assert int(count) == counts[tokenizer.token_to_id(piece)], piece


@pytest.mark.parametrize(
    "arguments,sentence",
    [
        ([], "error: {text}: no document in this file"),
        (["--mode", "clinical", "--punctuation", "after"], "--punctuation after belongs to --mode paper"),
    ],
)
def test_the_command_refuses_in_one_sentence_and_writes_nothing(tmp_path, arguments, sentence):
    text = tmp_path / "empty.txt"
    text.write_text("\n \n")
    result = run("preprocess.train_tokenizer", text, "--output", tmp_path / "out", *arguments)
    assert sentence.format(text=text) in one_sentence(result)
    assert [path.name for path in tmp_path.iterdir()] == ["empty.txt"]


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path):
    full = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))}
    (tmp_path / "text.txt").write_text("\n".join(sample_lines()) + "\n", encoding="utf-8")  # their keys have 48 kB
    result = run("preprocess.train_tokenizer", tmp_path / "text.txt", "--output", tmp_path / "out", **full)
    assert result.returncode == 2 and "File too large" in result.stderr and "Traceback" not in result.stderr
    assert "no output was left half-written" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_a_disk_that_is_full_later_is_one_sentence_and_the_command_resumes(tmp_path):
    full = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))}
    arguments = [small_text(tmp_path), "--output", tmp_path / "out", "--vocab-size", 400]
    result = run("preprocess.train_tokenizer", *arguments, **full)
    sentence = result.stderr.splitlines()[-1]
    assert result.returncode == 2 and "File too large" in sentence and "it resumes from" in sentence
    assert not (tmp_path / "out").exists()
    assert "drawing" not in run("preprocess.train_tokenizer", *arguments).stderr and (tmp_path / "out").exists()


def test_a_text_without_a_word_is_refused(tmp_path):
    (tmp_path / "marks.txt").write_text(", ; .\n")
    with pytest.raises(InputError, match="no word to learn pieces from"):
        train_tokenizer([tmp_path / "marks.txt"], tmp_path / "out", vocab_size=100)
    assert not (tmp_path / "out").exists()


def test_wordpiece_has_no_use_for_punctuation_after():
    with pytest.raises(InputError, match="wordpiece"):
        train_tokenizer(sample_files(), Path("never"), model="wordpiece", options=TextOptions(punctuation="after"))
