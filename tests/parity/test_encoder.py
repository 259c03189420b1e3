"""Our encoder against fairseq's RoBERTa with the same weights: the same numbers, the same names."""

from argparse import Namespace

import torch
import torch.nn.functional as F
from fairseq.models.roberta import RobertaModel
from model_helpers import SHAPE, dictionary, masked_dataset, mlm_model

from alibert_fairseq.data.layout import Layout, laid_out

UNUSED = ("in_proj_", "out_proj_", "fc1_", "fc2_")  # fairseq's second copies of every layer, which nothing reads


def stock_roberta() -> RobertaModel:
    torch.manual_seed(1)
    options = {name: value for name, value in SHAPE.items() if name != "max_positions"}
    cfg = Namespace(
        **options, max_positions=SHAPE["max_positions"], tokens_per_sample=SHAPE["max_positions"], dropout=0.0,
        attention_dropout=0.0, activation_dropout=0.0, activation_fn="gelu",
    )  # fmt: skip
    task = Namespace(source_dictionary=dictionary())
    return RobertaModel.build_model(cfg, task).eval()


def test_stock_weights_load_and_give_the_same_scores():
    stock, ours = stock_roberta(), mlm_model(layer_norm_eps=1e-5).eval()
    weights = {
        name: value for name, value in stock.state_dict().items()
        if not name.rsplit(".", 1)[-1].startswith(UNUSED) and "version" not in name
    }  # fmt: skip
    ours.load_state_dict(weights)  # every name is ours too, none is missing
    data = masked_dataset((12, 30, 5))
    batch = data.collater([data[i] for i in range(3)])
    tokens, masked, laid = batch["net_input"]["src_tokens"], batch["target"].ne(1), laid_out(batch, 1)
    layout, encoder = Layout.read(laid["net_input"]["layout"]), ours.encoder.sentence_encoder
    with torch.no_grad():
        theirs = stock(tokens)[0]
        mine = ours.scores(tokens)
        drawn = ours.encoder.lm_head(encoder(layout.flat(tokens), layout, only_masked=True))
        words = ours(**laid["net_input"], target=laid["target"]).words
    real = tokens.ne(1)
    assert (mine - theirs)[real].abs().max() < 2e-5
    assert torch.allclose(drawn, theirs[masked], atol=2e-5)
    assert torch.allclose(words.loss, F.cross_entropy(theirs[masked], laid["target"], reduction="sum"), rtol=1e-5)


def test_a_padded_batch_and_its_sequences_alone_give_equal_numbers():
    model = mlm_model().eval()
    encoder, data = model.encoder.sentence_encoder, masked_dataset((12, 30, 21))
    together, *alone = (data.collater([data[i] for i in indices]) for indices in ((0, 1, 2), (0,), (1,), (2,)))
    tokens = together["net_input"]["src_tokens"]
    with torch.no_grad():
        features, losses = encoder.of_rows(tokens), []
        for row, batch in enumerate(alone):
            own = batch["net_input"]["src_tokens"]
            assert torch.allclose(features[row, : own.shape[1]], encoder.of_rows(own)[0], atol=1e-5)
            assert not features[row, own.shape[1] :].any()
            losses.append(loss_of(model, batch))
        assert torch.allclose(loss_of(model, together), sum(losses), rtol=1e-6)
        seen = encoder.of_rows(tokens, torch.ones_like(tokens, dtype=torch.bool))  # padding that is a token
    assert (features[0, :12] - seen[0, :12]).abs().max() > 1e-3


def loss_of(model, batch: dict) -> torch.Tensor:
    """The sum over the masked tokens."""
    laid = laid_out(batch, 1)
    return model(**laid["net_input"], target=laid["target"]).words.loss


def test_bf16_autocast_stays_near_and_keeps_float32_weights():
    plain, mixed = mlm_model().eval(), mlm_model(bf16_autocast=True).eval()
    data = masked_dataset((30,))
    batch = data.collater([data[0]])
    tokens = batch["net_input"]["src_tokens"]
    with torch.no_grad():
        exact, rounded = plain.scores(tokens), mixed.scores(tokens)
        loss, near = loss_of(plain, batch), loss_of(mixed, batch)
    assert rounded.dtype == torch.bfloat16 and {p.dtype for p in mixed.parameters()} == {torch.float32}
    assert 0 < (rounded.float() - exact).norm() / exact.norm() < 0.02
    assert near.dtype == torch.float32 and 0 < abs(near - loss) / loss < 0.02
