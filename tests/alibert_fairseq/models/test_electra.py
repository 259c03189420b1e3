"""Replaced token detection: what is sampled, what is labelled, which gradients flow."""

import torch
import torch.nn.functional as F
from model_helpers import Task, electra_batch, electra_model

from alibert_fairseq.criterions.electra import ElectraCriterionConfig, ElectraLoss, detection_figures
from alibert_fairseq.models import electra
from alibert_fairseq.models.electra import ElectraConfig, generator_size
from alibert_fairseq.models.sampling import sample_tokens


def loss_of(model, batch, **weights):
    return ElectraLoss(ElectraCriterionConfig(**weights), Task)(model, batch)


def test_samples_follow_the_softmax_at_the_temperature():
    scores = torch.tensor([2.0, 0.0, 1.0, -1.0])
    uniforms = (torch.arange(100_000, dtype=torch.float64) + 0.5) / 100_000
    for temperature in (1.0, 0.5):
        ids = sample_tokens(scores.expand(100_000, 4), uniforms, temperature)
        seen = torch.bincount(ids, minlength=4) / 100_000
        assert torch.allclose(seen, torch.softmax(scores / temperature, -1), atol=2e-5)  # a grid, not random draws


def test_samples_over_many_groups_are_those_of_one_cumulative_sum():
    generator = torch.Generator().manual_seed(3)
    scores = 3 * torch.randn(500, 8001, generator=generator)  # a vocabulary that no group size divides
    uniforms = torch.rand(500, generator=generator, dtype=torch.float64)
    cumulative = torch.softmax(scores / 0.9, -1).double().cumsum(-1)
    expected = torch.searchsorted(cumulative, uniforms[:, None] * cumulative[:, -1:], right=True).squeeze(1)
    assert torch.equal(sample_tokens(scores, uniforms, 0.9), expected)
    assert (expected // 64).unique().numel() > 100


def test_half_precision_scores_are_sampled_with_float32_probabilities():
    generator = torch.Generator().manual_seed(3)
    scores = (3 * torch.randn(500, 8001, generator=generator)).bfloat16()  # --bf16
    uniforms = torch.rand(500, generator=generator, dtype=torch.float64)
    assert torch.equal(sample_tokens(scores, uniforms, 1.0), sample_tokens(scores.float(), uniforms, 1.0))


def test_a_token_without_probability_is_never_sampled():
    scores = torch.tensor([[float("-inf"), 0.0, float("-inf")]]).expand(2, 3)
    assert sample_tokens(scores, torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64), 1.0).tolist() == [1, 1]
    alone = torch.full((2, 1000), float("-inf")).index_fill_(1, torch.tensor([700]), 0.0)
    assert sample_tokens(alone, torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64), 1.0).tolist() == [700, 700]


def test_only_drawn_positions_change_and_labels_mark_true_replacements():
    model, batch = electra_model().eval(), electra_batch()
    inputs = batch["net_input"]
    seen = {}
    model.discriminator.sentence_encoder.register_forward_pre_hook(lambda _, args: seen.update(fake=args[0]))
    output = model(**inputs)
    fake, masked = seen["fake"], inputs["masked"]
    assert torch.equal(fake[~masked], inputs["original"][~masked])
    assert not fake.eq(Task.source_dictionary.index("<mask>")).any()
    assert torch.equal(output.replaced, fake != inputs["original"])
    assert output.replaced.any() and not output.replaced[~masked].any()


def test_a_sampled_padding_id_is_a_token_like_any_other(monkeypatch):
    model, batch = electra_model().eval(), electra_batch()
    inputs, positions = batch["net_input"], []
    monkeypatch.setattr(electra, "sample_tokens", lambda *_: torch.ones(int(inputs["masked"].sum()), dtype=torch.long))
    encoder = model.discriminator.sentence_encoder
    encoder.embed_positions.register_forward_pre_hook(lambda _, args: positions.append(args[0]))
    model(**inputs)
    expected = inputs["original"].ne(1).cumsum(1) * inputs["original"].ne(1) + 1
    assert torch.equal(positions[-1], expected)


def test_a_generator_that_is_right_leaves_nothing_replaced(monkeypatch):
    model, batch = electra_model().eval(), electra_batch()
    inputs = batch["net_input"]
    monkeypatch.setattr(electra, "sample_tokens", lambda *_: inputs["original"][inputs["masked"]])
    assert not model(**inputs).replaced.any() and torch.equal(fake_of(model, inputs), inputs["original"])
    monkeypatch.setattr(electra, "sample_tokens", lambda *_: inputs["original"][inputs["masked"]] % 20 + 5)
    assert torch.equal(model(**inputs).replaced, inputs["masked"])


def fake_of(model, inputs):
    """What the discriminator reads."""
    seen = {}
    hook = model.discriminator.sentence_encoder.register_forward_pre_hook(lambda _, args: seen.update(fake=args[0]))
    model(**inputs)
    hook.remove()
    return seen["fake"]


def test_the_model_samples_and_does_not_take_the_likeliest():
    model, inputs = electra_model().eval(), electra_batch((60, 60))["net_input"]
    first = fake_of(model, inputs)
    assert torch.equal(fake_of(model, inputs), first)  # the numbers it samples with come with the batch
    other = fake_of(model, inputs | {"uniforms": 1 - inputs["uniforms"]})
    changed = (first != other)[inputs["masked"]]
    assert changed.float().mean() > 0.9  # 47 ids, all about as likely in a random model


def test_every_drawn_position_is_filled_also_the_visible_ones(monkeypatch):
    model, inputs = electra_model().eval(), electra_batch((60, 60))["net_input"]
    visible = inputs["masked"] & inputs["src_tokens"].eq(inputs["original"])
    assert visible.any()
    monkeypatch.setattr(electra, "sample_tokens", lambda *_: inputs["original"][inputs["masked"]] % 20 + 5)
    assert torch.equal(fake_of(model, inputs)[inputs["masked"]], inputs["original"][inputs["masked"]] % 20 + 5)


def test_the_discriminator_sends_no_gradient_into_the_generator_but_through_the_shared_embeddings():
    model, batch = electra_model(), electra_batch()
    loss_of(model, batch, generator_weight=0.0)[0].backward()
    own = {name: p.grad for name, p in model.generator.named_parameters() if "embed_tokens" not in name}
    own = {n: g for n, g in own.items() if "embed_positions" not in n and "layernorm_embedding" not in n}
    own.pop("lm_head.weight", None)
    assert own and all(g is None or not g.any() for g in own.values())
    assert model.discriminator.sentence_encoder.embed_tokens.weight.grad.any()


def test_the_whole_embedding_layer_is_shared():
    model = electra_model()
    ours, theirs = model.generator.sentence_encoder, model.discriminator.sentence_encoder
    for part in ("embed_tokens", "embed_positions", "layernorm_embedding"):
        assert getattr(ours, part) is getattr(theirs, part)
    assert model.generator.lm_head.weight is theirs.embed_tokens.weight


def test_loss_equals_a_plain_loop():
    model, batch = electra_model().eval(), electra_batch()
    loss, sample_size, logged = loss_of(model, batch)
    output, inputs = model(**batch["net_input"]), batch["net_input"]
    generator, discriminator, row = [], [], 0
    for b in range(inputs["original"].size(0)):
        for t in range(inputs["original"].size(1)):
            if inputs["original"][b, t] == 1:
                continue
            p = torch.sigmoid(output.discriminator_scores[b, t])
            discriminator.append(-torch.log(p if output.replaced[b, t] else 1 - p))
            if inputs["masked"][b, t]:
                generator.append(F.cross_entropy(output.generator_scores[row], inputs["original"][b, t]))
                row += 1
    expected = torch.stack(generator).mean() + 50 * torch.stack(discriminator).mean()
    assert sample_size == row == logged["sample_size"]
    assert torch.allclose(loss / sample_size, expected, rtol=1e-5)


def test_padding_changes_nothing():
    model = electra_model().eval()
    short, padded = electra_batch(lengths=(9,)), electra_batch(lengths=(9, 14))
    alone = model(**short["net_input"])
    beside = model(**padded["net_input"])
    assert torch.allclose(alone.discriminator_scores[0], beside.discriminator_scores[0, :9], atol=1e-5)


def test_widths_shrink_and_depth_does_not():
    size = electra_model().discriminator.sentence_encoder.size
    small = generator_size(size, ElectraConfig(generator_width_fraction=0.5))
    assert (small.layers, small.width, small.ffn_width) == (size.layers, size.width // 2, size.ffn_width // 2)
    assert small.heads == 1 and small.embedding_dim == size.embedding_dim


def test_figures_of_a_hand_worked_batch():
    scores, replaced = torch.tensor([2.0, -1.0, 0.5, -2.0, -1.0]), torch.tensor([True, True, False, False, False])
    figures = detection_figures(scores, replaced)
    # pairs (replaced, original): 2.0 beats 3 of 3; -1.0 beats -2.0, ties with -1.0, loses to 0.5: 4.5 of 6
    assert float(figures["auc_times_replaced"]) / 2 == 4.5 / 6
    assert (int(figures["flagged"]), int(figures["found"]), int(figures["replaced"])) == (2, 1, 2)


def test_random_draws_do_not_depend_on_the_batch():
    model = electra_model().eval()
    together, alone = electra_batch(lengths=(12, 12)), electra_batch(lengths=(12,))
    assert torch.equal(model(**together["net_input"]).replaced[0], model(**alone["net_input"]).replaced[0])
