"""Replaced token detection with a modern body: what the encoder reads, a frozen generator, the start from an MLM."""

import pytest
import torch
import torch.nn.functional as F
from model_helpers import SHAPE, Task, dictionary, electra_batch, flat_electra_batch

from alibert_fairseq.criterions.electra import ElectraCriterionConfig, ElectraLoss
from alibert_fairseq.data.layout import Layout, laid_out
from alibert_fairseq.models.electra_modern import ElectraModernConfig, ElectraModernModel
from alibert_fairseq.models.modern import ModernConfig, ModernModel

FROZEN = {"embedding_sharing": "none", "freeze_generator": True}


def model_of(**options) -> ElectraModernModel:
    torch.manual_seed(0)
    return ElectraModernModel(ElectraModernConfig(**SHAPE, **{"max_update": 100, **options}), dictionary())


def read_by(model, inputs) -> tuple[torch.Tensor, object]:
    """What the encoder reads, and the output."""
    seen = []
    hook = model.encoder.sentence_encoder.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    output = model(**inputs)
    hook.remove()
    return seen[-1], output


def test_a_share_of_the_masks_stays_and_is_not_judged():
    model, (inputs, original, masked) = model_of(), flat_electra_batch((60, 60, 50))
    seen = inputs["src_tokens"][inputs["src_tokens"].ne(1)]
    read, output = read_by(model, inputs)
    kept = masked.clone()
    kept[masked] = inputs["uniforms"] < 0.5
    assert kept.any() and torch.equal(read[kept], seen[kept])
    assert torch.equal(read[~masked], original[~masked])
    assert torch.equal(output.judged, ~kept)
    assert torch.equal(output.replaced, masked & ~kept & read.ne(original)) and output.replaced.any()
    features = model.encoder.sentence_encoder(read, Layout.read(inputs["layout"]))
    words = F.cross_entropy(model.encoder.lm_head(features[masked]), original[masked], reduction="sum")
    assert torch.allclose(output.words.loss, words)  # at every masked token, also where the mask stayed
    filled, output = read_by(model_of(kept_mask_prob=0.0), inputs)
    assert output.judged.all()
    assert filled[masked].eq(seen[masked]).float().mean() < 0.1  # a guess may be the mask


WAITS = {"aten::nonzero", "aten::_local_scalar_dense"}  # of the processor for the GPU


def test_the_masked_positions_are_looked_up_before_the_model():
    """Each look-up by a boolean mask waits for the GPU, and so does each number that Python asks for."""
    model, criterion, batch = model_of(), ElectraLoss(ElectraCriterionConfig(), Task), electra_batch()
    with torch.autograd.profiler.profile() as profile:
        batch = laid_out(batch, 1)
    assert WAITS <= {event.name for event in profile.function_events}
    with torch.autograd.profiler.profile() as profile:
        criterion(model, batch)[0].backward()
    assert not WAITS & {event.name for event in profile.function_events}


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_what_is_filled_follows_the_softmax_whatever_share_stays(temperature):
    """The uniform of a position chooses first whether its mask stays; what is left of it is a uniform again."""
    model = model_of(kept_mask_prob=0.25, generator_temperature=temperature).eval()
    inputs, rows = electra_batch((3,))["net_input"], 20_000
    original, masked = (inputs[name].expand(rows, 3) for name in ("original", "src_tokens"))
    uniforms, target = torch.zeros(rows, 3, dtype=torch.float64), torch.ones_like(original)
    uniforms[:, 1], target[:, 1] = (torch.arange(rows) + 0.5) / rows, original[:, 1]
    given = {"src_tokens": masked, "original": original, "uniforms": uniforms}
    batch = laid_out({"net_input": given, "target": target}, 1)
    with torch.no_grad():
        read, output = read_by(model, batch["net_input"] | {"target": batch["target"]})
        scores = model.generator.lm_head(model.generator.sentence_encoder.of_rows(masked[:1]))[0, 1]
    filled = output.judged.view(rows, 3)[:, 1]
    assert filled.sum() == 0.75 * rows
    seen = torch.bincount(read.view(rows, 3)[filled, 1], minlength=len(scores)) / filled.sum()
    assert torch.allclose(seen, (scores / temperature).softmax(-1), atol=2e-4)


def test_the_temperature_falls_along_the_run_and_is_that_of_its_end_in_a_validation():
    model = model_of(generator_temperature=2.0, generator_temperature_end=1.0).train()
    found = []
    for update in (0, 50, 100, 150):
        model.set_num_updates(update)
        found.append(model.temperature)
    assert found == [2.0, 1.5, 1.0, 1.0]
    model.set_num_updates(0)
    assert model.eval().temperature == 1.0 and model_of(generator_temperature=2.0).eval().temperature == 2.0


def test_a_frozen_generator_is_the_masked_language_model_of_the_checkpoint_and_stays_so():
    torch.manual_seed(3)
    before = ModernModel(ModernConfig(**SHAPE), dictionary()).state_dict()
    model = model_of(**FROZEN, dropout=0.5)
    model.load_state_dict(dict(before))
    for name, value in before.items():
        assert torch.equal(model.state_dict()[name], value), name
        assert torch.equal(model.state_dict()[name.replace("encoder.", "generator.", 1)], value), name
    inputs, _, _ = flat_electra_batch()
    first, second = (model.train()(**inputs) for _ in range(2))
    assert torch.equal(first.generator.loss, second.generator.loss)  # no dropout
    assert torch.equal(first.generator.samples, second.generator.samples)
    assert not torch.equal(first.words.loss, second.words.loss)
    ElectraLoss(ElectraCriterionConfig(), Task)(model, electra_batch())[0].backward()
    assert all(parameter.grad is None for parameter in model.generator.parameters())
    assert all(parameter.grad is not None for parameter in model.encoder.parameters())
    again = model_of(**FROZEN)
    again.load_state_dict(model.state_dict())
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in again.state_dict().items())


def test_a_shallow_generator_does_not_start_from_the_checkpoint():
    before = ModernModel(ModernConfig(**SHAPE), dictionary()).state_dict()
    model = model_of(generator_layers=1, embedding_sharing="none")
    fresh = model.generator.sentence_encoder.embed_tokens.weight.clone()
    model.load_state_dict(dict(before))
    assert torch.equal(model.generator.sentence_encoder.embed_tokens.weight, fresh)
    assert torch.equal(model.encoder.lm_head.dense.weight, before["encoder.lm_head.dense.weight"])


def test_a_frozen_generator_without_weights_is_refused():
    with pytest.raises(SystemExit, match="^error: --freeze-generator: the generator has no weights; give"):
        model_of(**FROZEN).train()(**flat_electra_batch()[0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"freeze_generator": True}, "give --embedding-sharing none"),
        (FROZEN | {"generator_layers": 1}, "leave --generator-layers out"),
        ({"kept_mask_prob": 1.0}, "--kept-mask-prob 1.0 is not in"),
        ({"generator_temperature": 0.0}, "--generator-temperature 0.0 is not a number above 0"),
        ({"generator_temperature_end": -1.0}, "--generator-temperature-end -1.0 is not a number above 0"),
        ({"generator_temperature_end": 1.0, "max_update": 0}, "needs --max-update"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        model_of(**options)


def test_its_scores_are_those_of_the_masked_language_model_of_the_encoder():
    model, tokens = model_of().eval(), electra_batch()["net_input"]["src_tokens"]
    alone = ModernModel(ModernConfig(**SHAPE), dictionary()).eval()
    alone.load_state_dict({name: w for name, w in model.state_dict().items() if name.startswith("encoder.")})
    assert torch.equal(model.scores(tokens), alone.scores(tokens))
