"""The tagger: its CRF against all sequences of tags, its words against the text, and that it is saved whole."""

import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from task_helpers import ner_task
from test_encoder_learner import CPU, OVERFIT, nested_documents
from tiny_models import write_roberta

from alibert_common.errors import InputError
from downstream.data.annotated_text import AnnotatedText, Entity
from downstream.data.spans import Span
from downstream.data.word_features import CHARACTERS, NEIGHBOURS, characters, features, hashed_features
from downstream.learners.chain_crf import ChainCrf
from downstream.learners.encoder import Encoder, Start
from downstream.learners.tagger import OUTSIDE, SHARES, TaggerLearner, open_after_cuts
from downstream.learners.tagger_decoding import in_documents
from downstream.learners.tagger_network import Disturbance, TaggerNetwork, TaggerOutput, WordBatch, neighbours
from downstream.tag import Tagger
from downstream.tasks.base import IGNORED
from downstream.training.models import FORM_WEIGHTS, load_encoder

TAGS = ("O", "B-a", "I-a", "B-b", "I-b")


def allowed(tags: tuple[int, ...], continues: bool) -> bool:
    """Whether each I- follows a tag of its type, but the first one of a sequence that continues another."""
    names = ["O"] * (not continues) + [TAGS[tag] for tag in tags]
    return all(not after.startswith("I") or before[1:] == after[1:] for before, after in itertools.pairwise(names))


def crf_and_scores():
    torch.manual_seed(0)
    crf = ChainCrf(TAGS, num_layers=2).double()
    for weight in crf.parameters():
        torch.nn.init.normal_(weight)
    real = torch.tensor([[1] * 4, [1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0]]).bool()
    return crf, torch.randn(5, 4, 2, 5, dtype=torch.float64), real, torch.tensor([0, 0, 0, 1, 1]).bool()


def weigh(crf, scores, layer, continues, tags) -> float:
    moves = sum(crf.transitions[layer, a, b].item() for a, b in itertools.pairwise(tags))
    own = sum(scores[word, layer, tag].item() for word, tag in enumerate(tags))
    begin = 0 if continues else crf.begins[layer, tags[0]].item()
    return own + moves + begin + crf.ends[layer, tags[-1]].item()


def test_the_field_equals_a_sum_over_all_sequences_of_tags():
    crf, *batch = crf_and_scores()
    scores, real, continues = batch
    best, likely, normaliser = crf.best(*batch), crf.probabilities(*batch), crf.log_normaliser(*batch)
    for row, layer in itertools.product(range(5), range(2)):
        length = int(real[row].sum())
        weights = {
            tags: weigh(crf, scores[row], layer, continues[row], tags)
            for tags in itertools.product(range(5), repeat=length)
            if allowed(tags, continues[row])
        }
        total = np.logaddexp.reduce(list(weights.values()))
        assert normaliser[row, layer].item() == pytest.approx(total, abs=1e-9)
        winner = max(weights, key=weights.__getitem__)
        assert tuple(best[row, :length, layer].tolist()) == winner
        padded = torch.zeros(1, 4, 2, dtype=torch.long)
        padded[0, :length, layer] = torch.tensor(winner)
        found = crf.score(*(part[row : row + 1] for part in batch), padded)[0, layer].item()
        assert found == pytest.approx(weights[winner], abs=1e-9)
        for word, tag in itertools.product(range(length), range(5)):
            share = sum(np.exp(weight - total) for tags, weight in weights.items() if tags[word] == tag)
            assert likely[row, word, layer, tag].item() == pytest.approx(share, abs=1e-9)


def test_the_loss_is_the_mean_over_words_and_layers():
    crf, *batch = crf_and_scores()
    tags = crf.best(*batch)
    lost = crf.log_normaliser(*batch) - crf.score(*batch, tags)
    assert crf.loss(*batch, tags).item() == pytest.approx((lost.sum() / (batch[1].sum() * 2)).item())


@pytest.mark.parametrize("continues, read", [(False, [1, 2, 3, 0]), (True, [2, 2, 3, 0])])
def test_gold_that_the_field_forbids_is_read_as_conlleval_does(continues, read):
    """An I- lost its B- where one token has the words of both."""
    torch.manual_seed(0)
    begins = torch.tensor([[False, True, True, False, True, True]])
    logits = torch.randn(1, 6, 1, 5)
    output = TaggerOutput(logits, begins, torch.tensor([continues]), ChainCrf(TAGS))
    forbidden, allowed = torch.full((2, 1, 6, 1), IGNORED)
    forbidden[begins], allowed[begins] = torch.tensor([[2, 2, 4, 0], read]).unsqueeze(-1)
    assert 0 < output.loss(forbidden).item() == output.loss(allowed).item() < 10


def test_numbers_stand_for_the_features_of_the_crf():
    """Equal where the names are equal, and in all likelihood only there."""
    words = "Douleur du Foie et du foie , B12 !".split()
    rows, names = hashed_features(words), features(words)
    assert rows.shape == (9, 11 + 3 * len(NEIGHBOURS)) and hashed_features([]).shape == (0, 23)
    for column in range(rows.shape[1]):
        step, part = divmod(column - 11, 3) if column >= 11 else (None, column)
        own = [name[1:12] for name in names]
        for one, other in itertools.combinations(range(9), 2):
            if step is None:
                assert (rows[one, column] == rows[other, column]) == (own[one][part] == own[other][part])
                continue
            places = one + NEIGHBOURS[step], other + NEIGHBOURS[step]
            beside = [own[place][part] if 0 <= place < 9 else None for place in places]
            assert (rows[one, column] == rows[other, column]) == (beside[0] == beside[1])
    assert rows.dtype == np.uint32


def test_a_word_knows_how_often_its_document_has_it(folder):
    """Once, or from 2, 4 or 8 times on; upper and lower case are one word, and lines do not matter."""
    learner, *_ = trained(ner_task("anatomy", "symptom"), folder)
    text = "autre " + " ".join(" ".join([f"mot{n}"] * (n - 1) + [f"MOT{n}\n"]) for n in range(1, 11))
    item = learner.task.example(AnnotatedText("1", text, []), Counter())
    words = [text[start:end] for start, end in item.words]
    seen = np.concatenate([piece.beside.features[:, -1] for piece in learner.encode([item], False).pieces])
    of = {word: number for word, number in zip(words, seen, strict=True) if word != "autre"}
    groups = [{of[f"MOT{n}"] for n in numbers} for numbers in ((1,), (2, 3), (4, 5, 6, 7), (8, 9, 10))]
    assert [len(group) for group in groups] == [1] * 4 and len(set.union(*groups)) == 4
    assert all(of[f"mot{n}"] == of[f"MOT{n}"] for n in range(2, 11)) and seen[0] == of["MOT1"] == 0
    assert 0 not in learner.model.known  # a word that stands once has no weight for it


def test_a_long_word_is_read_from_both_ends():
    assert characters("ab") == (98, 99, *[0] * (CHARACTERS - 2))
    assert characters("a" * 30 + "b" * 30) == (98,) * 10 + (99,) * 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_roberta(tmp_path_factory.mktemp("model"), width=32)


def trained(task, folder, documents=None):
    items = [task.example(document, Counter()) for document in documents or nested_documents()]
    task.begin(items)
    learner = TaggerLearner(task, Start(folder), OVERFIT, CPU)
    learner.fit(learner.encode(items, True), learner.encode(items, False), 1)
    answers = learner.answer(learner.encode(items, False))
    return learner, items, answers, task.score(items, answers)


def notes_of(task) -> dict:
    return {"names": list(task.names), "conditions": {"recipe": task.recipe.as_dict(), "precision": "fp32"}}


@pytest.mark.parametrize("nested, most", [("outermost", 2 / 3), ("concatenated", 1), ("per_type", 1)])
def test_entities_are_learned_and_the_saved_tagger_finds_the_same(folder, nested, most, tmp_path):
    task = ner_task("anatomy", "symptom", nested=nested)
    learner, items, answers, figures = trained(task, folder)
    assert figures["every_gold_span"]["recall"] == pytest.approx(most) and figures["micro"]["f1"] == 1
    learner.save(tmp_path / "model", notes_of(task))
    tagger = Tagger(tmp_path / "model", "cpu")
    found = tagger([item.document.text for item in items])
    for item, answer, spans in zip(items, answers, found, strict=True):
        assert [tuple(span) for span in spans] == [tuple(span) for span in task.entities(item, answer)]
        assert all(0.5 < span.score <= 1 for span in spans)
    with pytest.raises(TypeError, match="list of texts"):
        tagger("le foie")


def test_equal_words_of_a_document_share_their_scores(folder):
    """A word that stands alone in its document keeps its own."""
    task = ner_task("anatomy", "symptom")
    texts = ["Foie gras\nle foie\nrein", "FOIE"]
    learner, *_ = trained(task, folder)
    items = [task.example(AnnotatedText(str(number), text, []), Counter()) for number, text in enumerate(texts)]
    pieces = learner.encode(items, False).pieces
    words = [len(piece.beside.first) for piece in pieces]
    assert words == [2, 2, 1, 1]
    scores = np.split(np.arange(6, dtype=np.float32).reshape(6, 1, 1), np.cumsum(words)[:-1])
    found = np.concatenate(in_documents(pieces, scores, 0.75)).ravel()
    mean = (0 + 3) / 2  # of "Foie" and "foie" in the first document
    assert found.tolist() == [0.75 * mean, 1, 2, 0.75 * mean + 0.25 * 3, 4, 5]


def test_the_decision_is_chosen_on_dev_and_stays_in_the_model(folder, tmp_path):
    task = ner_task("anatomy", "symptom")
    learner, items, *_ = trained(task, folder)
    assert len(learner.selected["tried"]) == len(SHARES) + len(OUTSIDE)
    encoded = learner.encode(items, False)
    with torch.no_grad():
        learner.model.out.bias[0] += 100  # so likely an O that entities are missed
    missed = learner.on_dev(encoded)
    assert missed < 1 and learner._choose(encoded, (50.0, 100.0)) > missed
    chosen = learner.selected
    assert chosen["outside"] < 0 and max(chosen["tried"].values()) > chosen["tried"]["share 0.8, outside -0"] == missed
    answers = learner.answer(encoded)
    assert task.chosen(task.score(items, answers)) == max(chosen["tried"].values())
    learner.model.document_share.fill_(0.25)
    learner.save(tmp_path / "model", notes_of(task))
    saved = Tagger(tmp_path / "model", "cpu")
    assert float(saved.learned.model.document_share) == 0.25
    found = saved([item.document.text for item in items])
    assert [len(spans) for spans in found] == [len(task.entities(*pair)) for pair in zip(items, answers, strict=True)]


def test_a_word_that_training_replaces_is_told_by_its_neighbours_alone():
    ids = torch.tensor([[0, 5, 6, 7, 8, 2]])  # the second word has two subwords, the others one
    numbers = torch.arange(1, 3 * 23 + 1).view(3, 23)
    words = WordBatch(torch.tensor([1, 2, 4]), torch.tensor([2, 4, 5]), torch.ones(3, 20).long(), numbers, None)
    drawn = Disturbance(torch.tensor([11]), torch.tensor([12]), None, 1.0)
    found, seen = TaggerNetwork._disturbed(ids, words, drawn)
    assert found.tolist() == [[0, 5, 11, 12, 8, 2]]
    assert seen.characters.any(1).tolist() == [True, False, True]
    assert seen.features[1].tolist() == [-1] * 11 + numbers[1, 11:].tolist()
    assert torch.equal(seen.features[[0, 2]], numbers[[0, 2]])


@pytest.mark.parametrize("lengths, sizes", [([4, 5, 6, 30], [3, 1]), ([30, 6, 5, 4], [4]), ([9], [1])])
def test_short_sequences_are_read_apart_with_the_same_states(folder, lengths, sizes):
    assert neighbours(lengths) == sizes
    network = TaggerNetwork(load_encoder(folder, False), ner_task("anatomy").head(), torch.ones(1)).eval()
    mask = (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).long()
    ids = torch.where(mask.bool(), 5 + torch.arange(max(lengths)) % 7, 1)
    found, whole = network._states(mask, input_ids=ids), network.encoder(ids, mask).last_hidden_state
    assert torch.allclose(found[mask.bool()], whole[mask.bool()], atol=1e-5)


def test_the_plain_head_replaces_no_words(folder):
    protocol = dataclasses.replace(OVERFIT, replaced_words=0.15)
    TaggerLearner(ner_task("anatomy"), Start(folder), protocol, CPU)
    with pytest.raises(InputError, match=r"^replaced_words is for --form tagger; give that form"):
        Encoder(ner_task("anatomy"), Start(folder), protocol, CPU)


def test_one_type_of_its_own_layer_has_no_inside_tag_without_its_begin(folder):
    crf = TaggerNetwork(load_encoder(folder, False), ner_task("anatomy", nested="per_type").head(), torch.ones(1)).crf
    assert crf.cannot_begin.tolist() == [False, False, True]
    assert crf.forbidden.tolist() == [[False, False, True], [False] * 3, [False] * 3]


def test_a_damaged_tagger_is_refused(folder, tmp_path):
    task = ner_task("anatomy", "symptom")
    learner, *_ = trained(task, folder)
    learner.save(tmp_path / "model", notes_of(task))
    file = tmp_path / "model" / FORM_WEIGHTS["tagger"]
    weights = load_file(file)
    weights["crf.transitions"][0, 1] = float("nan")
    save_file(weights, file)
    told = r"tagger.safetensors: its weights are no finite numbers \(first: crf.transitions\); copy the folder again.$"
    with pytest.raises(InputError, match=told):
        Tagger(tmp_path / "model", "cpu")
    file.write_bytes(b"nonsense")
    with pytest.raises(InputError, match="tagger.safetensors: not usable"):
        Tagger(tmp_path / "model", "cpu")


def test_texts_without_a_word_and_words_without_a_token_are_answered(folder):
    learner, *_ = trained(ner_task("anatomy", "symptom"), folder)
    documents = [AnnotatedText("1", text, []) for text in ("", " \n ", "\u200b", "foie " * 60 + "rein")]
    items = [learner.task.example(document, Counter()) for document in documents]
    answers = learner.answer(learner.encode(items, False))
    assert [layers[0] for layers in answers[:3]] == [[], [], []] and answers[3][0]


def test_a_word_across_a_border_of_sequences_belongs_to_the_first(folder):
    """Every word is read exactly once, whatever the windows."""
    text = " ".join(f"mot{number}" for number in range(80))
    task = ner_task("anatomy", "symptom")
    learner, *_ = trained(task, folder)
    item = task.example(AnnotatedText("1", text, [Entity("anatomy", ((0, 4),))]), Counter())
    encoded = learner.encode([item], False)
    assert len(encoded.pieces) > 1 and sum(len(piece.beside.first) for piece in encoded.pieces) == 80
    for piece in encoded.pieces:
        first, last = piece.place
        assert (piece.beside.first >= first).all() and (piece.beside.last <= last).all()
        assert (piece.beside.first < piece.beside.last).all()


def test_an_entity_continues_over_a_border_of_sequences_inside_a_line(folder):
    text = "la douleur" + " du foie" * 30
    documents = [AnnotatedText(str(number), text, [Entity("symptom", ((3, len(text)),))]) for number in range(8)]
    learner, items, answers, _ = trained(ner_task("symptom"), folder, documents)
    assert len(learner.encode(items, True).pieces) > 2 * len(items)
    assert answers == [item.layers for item in items]


def test_a_sequence_continues_the_one_before_unless_its_core_begins_a_line(folder):
    task = ner_task("anatomy", "symptom")
    learner, *_ = trained(task, folder)
    text = "foie " * 60 + "\n" + "rein " * 60
    item = task.example(AnnotatedText("1", text, []), Counter())
    encoded = learner.encode([item], False)
    hidden = learner.encode([task.example(AnnotatedText("2", "\u200b foie", []), Counter())], False)
    assert not hidden.pieces[0].beside.continues[0]  # from a word without a token
    begins = np.cumsum([0, *(len(piece.beside.first) for piece in encoded.pieces)])[:-1]
    assert [bool(piece.beside.continues) for piece in encoded.pieces] == [begin not in (0, 60) for begin in begins]


@pytest.mark.parametrize(
    "nested, before, after",
    [("outermost", tag, after) for tag, after in enumerate((1, 2, 2, 1, 1))]
    + [("per_type", tag, after) for tag, after in enumerate((1, 2, 2))],
)
def test_an_inside_tag_after_a_cut_opens_an_entity_unless_it_continues_with_one(folder, nested, before, after):
    task = ner_task("anatomy", "symptom", nested=nested)
    learner, *_ = trained(task, folder)
    encoded = learner.encode([task.example(AnnotatedText("1", "foie " * 40, []), Counter())], False)
    tags = [np.zeros((len(piece.ids), task.num_layers), dtype=int) for piece in encoded.pieces]
    (*_, last), (first, *_) = (piece.beside.first for piece in encoded.pieces[:2])
    tags[0][last, 0], tags[1][first : first + 2, 0] = before, 2
    open_after_cuts(encoded.pieces, tags)
    assert tags[1][first : first + 2, 0].tolist() == [after, 2] and tags[0][last, 0] == before
    cut, [layers] = len(encoded.pieces[0].beside.first), task.decode(encoded, tags)
    assert (Span(cut, cut + 2, "anatomy") in layers[0]) == (after == 1)
