"""Replaced token detection: what is sampled, what is labelled, which gradients flow."""

import torch
import torch.nn.functional as F
from model_helpers import Task, electra_batch, electra_model, flat_electra_batch, sample_tokens

from alibert_fairseq.criterions.electra import ElectraCriterionConfig, ElectraLoss, detection_figures
from alibert_fairseq.data.layout import Layout
from alibert_fairseq.layers import word_loss
from alibert_fairseq.layers.sampling import draw
from alibert_fairseq.models.electra import ElectraConfig, generator_size


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


def test_unlikely_ids_behind_a_likely_one_are_sampled_as_often_as_they_are_likely():
    """Together they are less than float32 can add to 1."""
    masses, places = torch.zeros(64, 640), torch.arange(64)
    masses[:, 0], masses[:, 576:] = 1.0, 1e-10
    uniforms = (1 + 1e-10 * (places.double() + 0.5)) / (1 + 64e-10)
    assert torch.equal(draw(masses, uniforms), 576 + places)


def test_only_drawn_positions_change_and_labels_mark_true_replacements():
    model, (inputs, original, masked) = electra_model().eval(), flat_electra_batch()
    seen = {}
    model.discriminator.sentence_encoder.register_forward_pre_hook(lambda _, args: seen.update(fake=args[0]))
    output = model(**inputs)
    fake = seen["fake"]
    assert torch.equal(fake[~masked], original[~masked])
    assert not fake.eq(Task.source_dictionary.index("<mask>")).any()
    assert torch.equal(output.replaced, fake != original)
    assert output.replaced.any() and not output.replaced[~masked].any()


def test_a_sampled_padding_id_is_a_token_like_any_other(monkeypatch):
    model, (inputs, original, masked) = electra_model().eval(), flat_electra_batch((12, 15))
    monkeypatch.setattr(word_loss, "draw", lambda _, uniforms: torch.ones(len(uniforms), dtype=torch.long))
    positions, encoder = [], model.discriminator.sentence_encoder
    encoder.embed_positions.register_forward_pre_hook(lambda _, args: positions.append(args[0]))
    output = model(**inputs)
    assert torch.equal(fake_of(model, inputs), original.masked_fill(masked, 1)) and torch.equal(output.replaced, masked)
    assert positions[-1].tolist() == [*range(2, 14), *range(2, 17)]
    assert output.discriminator_scores.shape == (27,)


def test_a_generator_that_is_right_leaves_nothing_replaced(monkeypatch):
    model, (inputs, original, masked) = electra_model().eval(), flat_electra_batch()
    monkeypatch.setattr(word_loss, "draw", lambda *_: original[masked])
    assert not model(**inputs).replaced.any() and torch.equal(fake_of(model, inputs), original)
    monkeypatch.setattr(word_loss, "draw", lambda *_: original[masked] % 20 + 5)
    assert torch.equal(model(**inputs).replaced, masked)


def fake_of(model, inputs):
    """What the discriminator reads."""
    seen = {}
    hook = model.discriminator.sentence_encoder.register_forward_pre_hook(lambda _, args: seen.update(fake=args[0]))
    model(**inputs)
    hook.remove()
    return seen["fake"]


def test_the_model_samples_and_does_not_take_the_likeliest():
    model, (inputs, _, masked) = electra_model().eval(), flat_electra_batch((60, 60))
    first = fake_of(model, inputs)
    assert torch.equal(fake_of(model, inputs), first)  # the numbers it samples with come with the batch
    other = fake_of(model, inputs | {"uniforms": 1 - inputs["uniforms"]})
    changed = (first != other)[masked]
    assert changed.float().mean() > 0.9  # 47 ids, all about as likely in a random model


def test_the_temperature_is_that_of_the_options():
    model, (inputs, _, masked) = electra_model(generator_temperature=0.01).eval(), flat_electra_batch((60, 60))
    tokens, layout = inputs["src_tokens"].flatten(), Layout.read(inputs["layout"])
    scores = model.generator.lm_head(model.generator.sentence_encoder(tokens, layout, only_masked=True))
    filled = fake_of(model, inputs)[masked]
    assert torch.equal(filled, sample_tokens(scores, inputs["uniforms"], 0.01))
    assert not torch.equal(filled, sample_tokens(scores, inputs["uniforms"], 1.0))


def test_every_drawn_position_is_filled_also_the_visible_ones(monkeypatch):
    model, (inputs, original, masked) = electra_model().eval(), flat_electra_batch((60, 60))
    visible = masked & inputs["src_tokens"].flatten().eq(original)
    assert visible.any()
    monkeypatch.setattr(word_loss, "draw", lambda *_: original[masked] % 20 + 5)
    assert torch.equal(fake_of(model, inputs)[masked], original[masked] % 20 + 5)


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
    inputs, output = batch["net_input"], model(**flat_electra_batch()[0])
    guesses = model.generator.lm_head(model.generator.sentence_encoder.of_rows(inputs["src_tokens"]))
    generator, discriminator = [], []
    for b in range(inputs["original"].size(0)):
        for t in range(inputs["original"].size(1)):
            if inputs["original"][b, t] == 1:
                continue
            p = torch.sigmoid(output.discriminator_scores[len(discriminator)])
            discriminator.append(-torch.log(p if output.replaced[len(discriminator)] else 1 - p))
            if batch["target"].ne(1)[b, t]:
                generator.append(F.cross_entropy(guesses[b, t], inputs["original"][b, t]))
    expected = torch.stack(generator).mean() + 50 * torch.stack(discriminator).mean()
    assert len(discriminator) == len(output.discriminator_scores) == 27
    assert sample_size == len(generator) == logged["sample_size"]
    assert torch.allclose(loss / sample_size, expected, rtol=1e-5)


def test_padding_changes_nothing():
    model = electra_model().eval()
    alone, beside = (model(**flat_electra_batch(lengths)[0]) for lengths in ((9,), (9, 14)))
    assert torch.allclose(alone.discriminator_scores, beside.discriminator_scores[:9], atol=1e-5)


def test_widths_shrink_and_depth_does_not():
    size = electra_model().discriminator.sentence_encoder.size
    assert generator_size(size, ElectraConfig(), depth=0.5).layers == size.layers // 2
    small = generator_size(size, ElectraConfig(generator_width_fraction=0.5))
    assert (small.layers, small.width, small.ffn_width) == (size.layers, size.width // 2, size.ffn_width // 2)
    assert small.heads == 1 and small.embedding_dim == size.embedding_dim


def test_figures_of_a_hand_worked_batch():
    scores, replaced = torch.tensor([2.0, -1.0, 0.5, -2.0, -1.0]), torch.tensor([True, True, False, False, False])
    figures = detection_figures(scores, replaced)
    # pairs (replaced, original): 2.0 beats 3 of 3; -1.0 beats -2.0, ties with -1.0, loses to 0.5: 4.5 of 6
    assert float(figures["auc_times_replaced"]) / 2 == 4.5 / 6
    assert (int(figures["flagged"]), int(figures["found"]), int(figures["replaced"])) == (2, 1, 2)


def test_tokens_that_are_not_judged_change_no_figure():
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(200, generator=generator).round(decimals=1)  # some are equal
    judged = torch.rand(200, generator=generator) < 0.7
    replaced = (torch.rand(200, generator=generator) < 0.3) & judged
    some, alone = detection_figures(scores, replaced, judged), detection_figures(scores[judged], replaced[judged])
    assert {name: float(value) for name, value in some.items()} == {name: float(alone[name]) for name in some}
    assert float(detection_figures(scores, replaced)["auc_times_replaced"]) != float(some["auc_times_replaced"])


def test_random_draws_do_not_depend_on_the_batch():
    model = electra_model().eval()
    together, alone = (model(**flat_electra_batch(lengths)[0]).replaced for lengths in ((12, 12), (12,)))
    assert torch.equal(together[:12], alone)
