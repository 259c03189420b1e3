"""An encoder that learns a task: what nests is found where the recipe can hold it; frozen weights stay."""

from collections import Counter

import pytest
import torch
from baseline_helpers import items_of, task_of
from task_helpers import ner_task
from tiny_models import write_electra, write_roberta

from downstream.data.annotated_text import AnnotatedText, Entity
from downstream.learners.encoder import Encoder, Start
from downstream.tasks.classification import TextClassification, TextRecipe
from downstream.training.epochs import Epoch
from downstream.training.heads import head_of
from downstream.training.loop import Diverged, Machine
from downstream.training.protocol import Protocol

CPU = Machine(torch.device("cpu"), bf16=False)
OVERFIT = Protocol(batch=4, learning_rate=1e-2, epochs=12, source="a test", dropout=0.0)
ORGANS = ("foie", "rein", "cuisse")


def nested_documents(number: int = 8) -> list[AnnotatedText]:
    """Lines such as "la douleur du foie": a symptom with an anatomy in it, and anatomies alone."""
    documents = []
    for index in range(number):
        organ, other = ORGANS[index % 3], ORGANS[(index + 1) % 3]
        text = f"la douleur du {organ}\nle patient et {other}"
        begin, alone = text.index("douleur"), text.index(other, text.index("\n"))
        end = text.index("\n")
        documents.append(
            AnnotatedText(str(index), text, [
                Entity("symptom", ((begin, end),)),
                Entity("anatomy", ((end - len(organ), end),)),
                Entity("anatomy", ((alone, alone + len(other)),)),
            ])
        )  # fmt: skip
    return documents


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_roberta(tmp_path_factory.mktemp("model"), width=32)


def trained(task, folder, protocol=OVERFIT, **start):
    """The learner, and what it answers to its training documents."""
    items = [task.example(document, Counter()) for document in nested_documents()]
    task.begin(items)
    learner = Encoder(task, Start(folder, **start), protocol, CPU)
    curve = learner.fit(learner.encode(items, True), learner.encode(items, False), 1)
    return learner, curve, task.score(items, learner.answer(learner.encode(items, False)))


@pytest.mark.parametrize(
    "nested, most", [("outermost", 2 / 3), ("innermost", 2 / 3), ("concatenated", 1), ("per_type", 1)]
)
def test_nested_entities_are_learned_as_far_as_the_recipe_holds_them(folder, nested, most):
    _, _, figures = trained(ner_task("anatomy", "symptom", nested=nested), folder)
    assert figures["micro"]["f1"] > 0.95
    assert figures["ceiling"]["recall"] == pytest.approx(most)
    assert most * 0.95 < figures["every_gold_span"]["recall"] <= most
    assert figures["every_gold_span"]["precision"] > 0.95


@pytest.mark.parametrize("write", [write_roberta, write_electra])
def test_frozen_the_head_learns_and_no_weight_of_the_encoder_changes(tmp_path, write):
    folder = write(tmp_path / "model", width=32)
    task = ner_task("anatomy", "symptom")
    learner, curve, _ = trained(task, folder, frozen=True)
    from_folder = learner.model.base_model.from_pretrained(folder).state_dict()
    for name, weight in learner.model.base_model.state_dict().items():
        assert torch.equal(weight, from_folder[name]), name
    assert curve[-1].loss < 0.9 * curve[0].loss
    assert learner.conditions["model"]["frozen"]
    moved, _, _ = trained(task, folder)
    assert not all(
        torch.equal(weight, from_folder[name]) for name, weight in moved.model.base_model.state_dict().items()
    )


@pytest.mark.parametrize("write", [write_roberta, write_electra])
def test_of_texts_a_probe_is_one_linear_map_of_the_mean_state(tmp_path, write):
    folder = write(tmp_path / "model", width=32)
    splits = {name: name for name in ("train", "dev", "test")}
    recipe = TextRecipe(task="t", kind="classification", format="table", labels=["good", "bad"], splits=splits)
    task = TextClassification(recipe)
    learner = Encoder(task, Start(folder, frozen=True), OVERFIT, CPU)
    model = learner.built(head_of(task.head()), None).eval()
    learned = {name: tuple(one.shape) for name, one in model.named_parameters() if one.requires_grad}
    assert learned == {"out.weight": (2, 32), "out.bias": (2,)} and not learner.saves
    ids = torch.tensor([[0, 5, 6, 2], [0, 7, 2, 1]])
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    logits = model(input_ids=ids, attention_mask=mask).logits
    alone = model.encoder(input_ids=ids[1:, :3], attention_mask=mask[1:, :3]).last_hidden_state[0]
    assert torch.allclose(logits[1], model.out(alone.mean(0)), atol=1e-5)


@pytest.mark.parametrize("keep, epoch", [("best", 1), ("last", 2)])
def test_the_epoch_that_is_kept_is_the_protocols(folder, keep, epoch):
    protocol = Protocol(batch=4, learning_rate=1e-2, epochs=2, source="a test", keep=keep)
    curve = [Epoch(1, 0.5, 0.9, 1.0), Epoch(2, 0.4, 0.8, 1.0)]
    assert Encoder(ner_task("anatomy"), Start(folder), protocol, CPU).kept(curve).epoch == epoch


def test_what_scores_depend_on_is_in_the_conditions(folder):
    learner = Encoder(ner_task("anatomy"), Start(folder, random=True), OVERFIT, Machine(CPU.device, bf16=True))
    model = learner.conditions["model"]
    assert (model["folder"], model["architecture"], model["random_init"], model["frozen"]) == (
        folder.name, "roberta", True, False,
    )  # fmt: skip
    assert learner.conditions["protocol"]["epochs"] == 12 and learner.conditions["max_tokens"] == 32
    assert (learner.conditions["precision"], learner.conditions["device"]) == ("bf16 autocast", "cpu")
    assert len(model["sha256"]) == 64


@pytest.mark.parametrize("kind", ["similarity", "ranking", "ner"])
def test_a_model_that_diverges_in_its_last_update_is_one_sentence(folder, kind):
    """Its losses are numbers, what it answers afterwards is not."""
    task = task_of(kind)
    items = items_of(task, 8, 1)
    task.begin(items)
    once = Protocol(batch=8, learning_rate=1e30, updates=1, clip=1e30, source="a test")
    learner = Encoder(task, Start(folder), once, CPU)
    with pytest.raises(Diverged, match=r"^the model has diverged \(its outputs are no finite numbers\); "):
        learner.fit(learner.encode(items, True), learner.encode(items, False), 1)
