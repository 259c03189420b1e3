"""Our encoder against fairseq's RoBERTa with the same weights: the same numbers, the same names."""

from argparse import Namespace

import torch
from fairseq.models.roberta import RobertaModel
from model_helpers import SHAPE, dictionary, masked_dataset, mlm_model

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
    tokens, masked = batch["net_input"]["src_tokens"], batch["target"].ne(1)
    with torch.no_grad():
        theirs = stock(tokens)[0]
        mine = ours(tokens).token_scores
        drawn = ours(**batch["net_input"], masked=masked).token_scores
    real = tokens.ne(1)
    assert (mine - theirs)[real].abs().max() < 2e-5
    assert torch.allclose(drawn, mine[masked], atol=2e-5)


def test_has_padding_may_be_left_to_the_encoder():
    model = mlm_model().eval()
    data = masked_dataset((12, 30))
    tokens = data.collater([data[0], data[1]])["net_input"]["src_tokens"]
    with torch.no_grad():
        assert torch.equal(model(tokens).token_scores, model(tokens, has_padding=True).token_scores)
        assert not torch.allclose(
            model(tokens).token_scores[0, :12], model(tokens, has_padding=False).token_scores[0, :12], atol=1e-4
        )


def test_bf16_autocast_stays_near_and_keeps_float32_weights():
    plain, mixed = mlm_model().eval(), mlm_model(bf16_autocast=True).eval()
    data = masked_dataset((30,))
    tokens = data.collater([data[0]])["net_input"]["src_tokens"]
    with torch.no_grad():
        exact, rounded = plain(tokens).token_scores, mixed(tokens).token_scores
    assert rounded.dtype == torch.bfloat16 and {p.dtype for p in mixed.parameters()} == {torch.float32}
    assert 0 < (rounded.float() - exact).norm() / exact.norm() < 0.02
