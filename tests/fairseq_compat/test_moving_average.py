"""`--store-ema`: what fairseq's moving average of the weights is, against one computed by hand."""

import pytest
import torch
from fairseq.dataclass.configs import EMAConfig
from fairseq.models.ema.ema import EMA


class Tied(torch.nn.Module):
    """One tensor under four names, and one that is not tied."""

    def __init__(self):
        super().__init__()
        self.table = self.scores = self.generator_table = self.generator_scores = torch.nn.Linear(2, 2, bias=False)
        self.alone = torch.nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("kind", "in_float32"), [(torch.float32, False), (torch.float32, True), (torch.bfloat16, True)]
)
def test_the_average_of_a_tied_weight_is_that_of_any_other(kind, in_float32):
    model = Tied().to(kind)
    average = EMA(model, EMAConfig(store_ema=True, ema_decay=0.75, ema_fp32=in_float32))
    expected = {name: weight.float().clone() for name, weight in model.state_dict().items()}
    for update in range(1, 4):
        with torch.no_grad():
            for weight in model.parameters():
                weight += update
        average.step(model, update)
        expected = {name: 0.75 * expected[name] + 0.25 * weight.float() for name, weight in model.state_dict().items()}
    found = average.fp32_params if in_float32 else average.get_model().state_dict()
    assert found.keys() == expected.keys() and len(found) == 6
    for name, weight in average.get_model().state_dict().items():
        torch.testing.assert_close(found[name], expected[name])
        assert torch.equal(weight, found[name].to(kind))
