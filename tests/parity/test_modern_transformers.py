"""The modern body against transformers' ModernBertForMaskedLM: same weights, same batch, double precision.

Padded, single and packed sequences, longer than the window of the local layers.
"""

import pytest
import torch
import torch.nn.functional as F
from long_cases import long_except
from model_helpers import Task, dictionary, electra_batch
from test_losses_transformers import (
    LENGTHS,
    TOLERANCE,
    as_transformers,
    assert_same_gradients,
    mlm_inputs,
    scatter_weights,
    theirs_of,
)
from text_helpers import sample_lines
from transformers.models.modernbert import modeling_modernbert

from alibert_fairseq.criterions.electra import ElectraCriterionConfig, ElectraLoss
from alibert_fairseq.criterions.masked_lm import AliBertMaskedLMLoss, MaskedLMCriterionConfig
from alibert_fairseq.hf.families import modern, table
from alibert_fairseq.hf.families.rows import from_hugging_face
from alibert_fairseq.hf.logit_check import LONGEST, probes
from alibert_fairseq.models.electra_modern import ElectraModernConfig, ElectraModernModel
from alibert_fairseq.models.modern import ModernConfig, ModernModel
from preprocess.train_tokenizer import train_tokenizer

pytestmark = pytest.mark.usefixtures("double_precision")
SHAPE = {
    "encoder_layers": 5, "encoder_embed_dim": 32, "encoder_ffn_embed_dim": 40, "encoder_attention_heads": 2,
    "embedding_dim": 32, "dropout": 0.0, "attention_dropout": 0.0, "layer_norm_eps": 1e-5,
}  # fmt: skip
OF = {"local_attention": 12, "global_attention_every": 3, "local_rope_theta": 50.0, "global_rope_theta": 700.0}


def in_double(q, k, cos, sin, unsqueeze_dim=1):
    """transformers' rotation without its rounding to float32, which is 1e-7."""
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    half = modeling_modernbert.rotate_half
    return q * cos + half(q) * sin, k * cos + half(k) * sin


@pytest.fixture
def pair(monkeypatch):
    """Ours and theirs, with the same weights."""
    monkeypatch.setattr(modeling_modernbert, "apply_rotary_pos_emb", in_double)
    torch.manual_seed(0)
    model = ModernModel(ModernConfig(**SHAPE, **OF), dictionary())
    scatter_weights(model)
    return model, as_transformers(model, table.MODERN)


def assert_same(model, theirs) -> None:
    """Every gradient of ours is theirs."""
    ours = {name: parameter.grad for name, parameter in model.named_parameters()}
    norm = torch.stack([gradient.norm() for gradient in ours.values()]).norm()
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    rows = [row for row in table.MODERN.rows(table.MODERN.parameters(model)) if row.theirs in gradients]
    for row in rows:
        difference = (ours[row.ours] - row.share(gradients[row.theirs])).abs().max()
        assert difference <= TOLERANCE * norm, (row, float(difference / norm))
    assert {row.ours for row in rows} == set(ours) and {row.theirs for row in rows} == set(gradients)


def test_padded_sequences(pair):
    model, theirs = pair
    batch = mlm_inputs(segments=False)
    loss, count, _ = AliBertMaskedLMLoss(MaskedLMCriterionConfig(), Task)(model, batch)
    (loss / count).backward()
    given = theirs_of(batch)
    scores = theirs(given["input_ids"], attention_mask=given["attention_mask"]).logits
    expected = F.cross_entropy(scores.flatten(0, 1), given["labels"].flatten())  # their own loss rounds to float32
    expected.backward()
    assert abs(float(loss / count - expected)) < 1e-12
    assert_same(model, theirs)


def alone(batch: dict, row: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The ids and the labels of a sequence without its padding."""
    ids, target = batch["net_input"]["src_tokens"][row], batch["target"][row]
    return ids[: LENGTHS[row]], target[: LENGTHS[row]]


def theirs_alone(theirs, batch: dict) -> torch.Tensor:
    """The sum of their losses over the sequences, each by itself."""
    total = 0
    for row in range(len(LENGTHS)):
        ids, target = alone(batch, row)
        total = total + F.cross_entropy(theirs(ids[None]).logits[0], target, ignore_index=1, reduction="sum")
    return total


def test_single_sequences(pair):
    model, theirs = pair
    batch, total = mlm_inputs(segments=False), 0
    criterion = AliBertMaskedLMLoss(MaskedLMCriterionConfig(), Task)
    for row in range(len(LENGTHS)):
        ids, target = alone(batch, row)
        one = {"net_input": {"src_tokens": ids[None]}, "target": target[None]}
        total = total + criterion(model, one | {"ntokens": 1, "nsentences": 1})[0]
    total.backward()
    expected = theirs_alone(theirs, batch)
    expected.backward()
    assert abs(float((total - expected).detach())) < 1e-10
    assert_same(model, theirs)


@pytest.mark.parametrize("padding", [0, 3])
def test_packed_sequences(padding, pair):
    """All in one row, with padding behind them: none sees another."""
    model, theirs = pair
    batch = mlm_inputs(segments=False)
    ids, targets = zip(*(alone(batch, row) for row in range(len(LENGTHS))), strict=True)
    end = torch.ones(padding, dtype=torch.long)
    numbers = torch.repeat_interleave(torch.arange(len(LENGTHS) + 1), torch.tensor([*LENGTHS, padding]))
    packed = {"src_tokens": torch.cat([*ids, end])[None], "sequences": numbers[None]}
    sample = {"net_input": packed, "target": torch.cat([*targets, end])[None], "ntokens": 1, "nsentences": 1}
    loss = AliBertMaskedLMLoss(MaskedLMCriterionConfig(), Task)(model, sample)[0]
    loss.backward()
    expected = theirs_alone(theirs, batch)
    expected.backward()
    assert abs(float(loss - expected)) < 1e-10
    assert_same(model, theirs)


def detection_of(detector, states: torch.Tensor) -> torch.Tensor:
    """ELECTRA's head, which no class of transformers has on this body."""
    return F.linear(F.gelu(F.linear(states, *detector.dense.parameters())), *detector.out_proj.parameters()).squeeze(-1)


@pytest.mark.parametrize("sharing", ["all", "none"])
def test_replaced_token_detection(sharing, monkeypatch):
    """Half of the masks stay: there the encoder predicts the word, and judges nothing."""
    monkeypatch.setattr(modeling_modernbert, "apply_rotary_pos_emb", in_double)
    torch.manual_seed(0)
    options = ElectraModernConfig(**SHAPE, **OF, embedding_sharing=sharing, generator_layers=2)
    model = ElectraModernModel(options, dictionary())
    scatter_weights(model)
    parts = (table.MODERN, table.MODERN_GENERATOR)
    encoder, generator = (as_transformers(model, part) for part in parts)
    if sharing == "all":
        generator.model.embeddings = encoder.model.embeddings
        generator.decoder.weight = encoder.decoder.weight
    batch = electra_batch(LENGTHS)
    inputs, seen = batch["net_input"], {}
    model.encoder.sentence_encoder.register_forward_pre_hook(lambda _, args: seen.update(read=args[0]))
    weights = ElectraCriterionConfig(discriminator_weight=20.0, encoder_weight=3.0)
    loss, drawn, _ = ElectraLoss(weights, Task)(model, batch)
    (loss / drawn).backward()

    real, read, labels = inputs["original"].ne(1), inputs["original"].clone(), batch["target"]
    read[real] = seen["read"]
    hidden = labels.ne(1) & (inputs["uniforms"] < 0.5)
    assert hidden.any() and torch.equal(read[hidden], inputs["src_tokens"][hidden])
    states = encoder.model(read, attention_mask=real.long()).last_hidden_state
    judged = real & ~hidden
    scores, replaced = detection_of(model.detector, states)[judged], (read != inputs["original"])[judged]
    found = F.binary_cross_entropy_with_logits(scores, replaced.double(), reduction="sum") / real.sum()
    words = F.cross_entropy(encoder.decoder(encoder.head(states)).flatten(0, 1), labels.flatten(), ignore_index=1)
    guesses = generator(inputs["src_tokens"], attention_mask=real.long()).logits
    expected = F.cross_entropy(guesses.flatten(0, 1), labels.flatten(), ignore_index=1) + 20 * found + 3 * words
    ours = [parameter.grad.clone() for parameter in model.detector.parameters()]
    model.detector.zero_grad()
    expected.backward()
    assert abs(float(loss / drawn - expected)) < 1e-12
    for mine, parameter in zip(ours, model.detector.parameters(), strict=True):
        assert torch.allclose(mine, parameter.grad, atol=1e-10) and mine.any()
    assert_same_gradients(model, list(zip(parts, (encoder, generator), strict=True)), besides="detector.")


@pytest.mark.parametrize("length", long_except([2048, 8192], 2048))  # ModernBERT's own is 8,192
def test_the_longest_sequence(length, monkeypatch):
    """A local layer and a global one."""
    monkeypatch.setattr(modeling_modernbert, "apply_rotary_pos_emb", in_double)
    torch.manual_seed(0)
    shape = SHAPE | {"encoder_layers": 2, "encoder_attention_heads": 1, "max_positions": 8192}
    model = ModernModel(ModernConfig(**shape, local_attention=128, global_attention_every=2), dictionary()).eval()
    theirs = as_transformers(model, table.MODERN)
    ids = torch.randint(4, 44, (1, length))
    with torch.no_grad():
        ours = model.encoder.sentence_encoder.of_rows(ids)
        assert torch.allclose(ours, theirs.model(ids).last_hidden_state, atol=1e-9)


def test_hugging_face_weights_come_back_as_they_were(pair):
    model, theirs = pair
    ours, rows = model.state_dict(), table.MODERN.rows(table.MODERN.parameters(model))
    back = from_hugging_face(rows, theirs.state_dict(), ours)
    assert back.keys() == ours.keys() and all(torch.equal(back[key], ours[key]) for key in ours)


def test_the_configuration_says_it_under_the_names_of_both_majors(pair):
    """transformers 4 would read its defaults in the place of names that it does not find."""
    model, theirs = pair
    written = theirs.config.to_dict()
    assert [written[name] for name, _ in modern.ROTARY_FIELDS] == [12, 3, 700.0, 50.0]
    assert written["layer_types"] == ["full_attention", *["sliding_attention"] * 2] + [
        "full_attention",
        "sliding_attention",
    ]
    assert modern.rotary_of(theirs.config) == model.encoder.sentence_encoder.size.rotary
    theirs.config.layer_types[1] = "full_attention"
    with pytest.raises(ValueError, match="ours are global at equal distances"):
        modern.rotary_of(theirs.config)
    theirs.config.layer_types = None
    assert modern.rotary_of(theirs.config) == model.encoder.sentence_encoder.size.rotary
    theirs.config.local_rope_theta = None  # transformers 4: that of global layers
    assert modern.rotary_of(theirs.config).local_theta == 700.0


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("mlp_bias", True, "mlp_bias is true"),
        ("decoder_bias", False, "decoder_bias is false"),
        ("pad_token_id", None, "pad_token_id is null"),
        ("classifier_activation", "relu", "another activation"),
        ("hidden_activation", "silu", "another activation"),
    ],
)
def test_what_our_body_cannot_be_is_refused(field, value, words, pair):
    config = pair[1].config
    setattr(config, field, value)
    with pytest.raises(ValueError, match=words):
        table.MODERN.size(config)


@pytest.mark.parametrize("name", ["global_rope_theta", "local_rope_theta"])
def test_another_base_under_the_older_name_is_refused(name, pair):
    """transformers 4 has its default there if config.json has the newer names alone, and computes with it."""
    config = pair[1].config
    setattr(config, name, 9000.0)
    with pytest.raises(ValueError, match=f"{name} is 9000, in rope_parameters .*; write {name} into a copy"):
        modern.rotary_of(config)


def test_a_local_wavelength_that_is_null_is_refused(pair):
    config = pair[1].config
    config.rope_parameters["sliding_attention"]["rope_theta"] = None
    with pytest.raises(ValueError, match="local_rope_theta is null"):
        modern.rotary_of(config)


def test_the_probes_of_a_long_body_are_short(tmp_path):
    """The scores of 8,192 tokens over 50,000 words would need 20 GB."""
    train_tokenizer([text_file(tmp_path)], tmp_path / "tokenizer", vocab_size=160)
    lengths = [len(probe) for probe in probes(tmp_path / "tokenizer", dictionary(), 8192)]
    assert max(lengths) == LONGEST
    assert max(map(len, probes(tmp_path / "tokenizer", dictionary(), 512))) == 512
    assert max(map(len, probes(tmp_path / "tokenizer", dictionary(), 1))) == 1


def text_file(place):
    (place / "text.txt").write_text("\n".join(sample_lines()), encoding="utf-8")
    return place / "text.txt"
