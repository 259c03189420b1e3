"""sentencepiece trains the Unigram pieces, `tokenizers` runs them: both must segment alike."""

import json

import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from text_helpers import AFTER, CLINICAL, PAPER, real_lines, sample_lines, trained, trained_on_real_text

from preprocess.tokenizer.load import load_tokenizer
from preprocess.tokenizer.word_counts import WordCounter

NORMAL, UNKNOWN = 1, 2  # kinds of pieces in sentencepiece's file format


def as_sentencepiece(tokenizer) -> sentencepiece.SentencePieceProcessor:
    """The pieces and scores of tokenizer.json in a model of sentencepiece's own."""
    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type = sentencepiece_model_pb2.TrainerSpec.UNIGRAM
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.remove_extra_whitespaces = False
    for piece, score in json.loads(tokenizer.to_str())["model"]["vocab"]:
        model.pieces.add(piece=piece, score=score, type=UNKNOWN if piece == "<unk>" else NORMAL)
    model.trainer_spec.unk_id = 3
    return sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())


def differences(tokenizer, lines: list[str]) -> tuple[int, list]:
    """(words compared, (word, sentencepiece's pieces, ours) where they differ in more than a tie of scores)."""
    words = list(WordCounter(tokenizer).count(lines).words)
    scores = dict(json.loads(tokenizer.to_str())["model"]["vocab"])
    theirs = as_sentencepiece(tokenizer).encode(words, out_type=str)
    ours = [encoding.tokens for encoding in tokenizer.encode_batch(words, add_special_tokens=False)]
    differ = [case for case in zip(words, theirs, ours, strict=True) if case[1] != case[2]]
    ties = [
        case
        for case in differ
        if sum(map(scores.get, case[1])) == pytest.approx(sum(map(scores.get, case[2])), abs=1e-5)
    ]
    assert len(ties) <= len(words) / 1000  # two ways of the same probability: sentencepiece adds in single precision
    return len(words), [case for case in differ if case not in ties]


@pytest.mark.parametrize("options", [PAPER, CLINICAL], ids=str)
def test_both_segment_the_sample_alike(options):
    words, differ = differences(load_tokenizer(trained(options)), sample_lines())
    assert words > 2000 and differ == []


def test_both_segment_marks_alike_where_they_start_no_word():
    tokenizer = load_tokenizer(trained(AFTER))
    assert {piece for piece in tokenizer.get_vocab() if "," in piece} == {","}  # never part of a word sentencepiece saw


def test_both_segment_real_text_alike(shared_data):
    words, differ = differences(load_tokenizer(trained_on_real_text(shared_data)), real_lines(shared_data))
    assert words > 10_000 and differ == []
