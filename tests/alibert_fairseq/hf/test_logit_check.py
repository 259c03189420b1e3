"""The gate of the export in float64."""

import torch
from model_helpers import electra_model

from alibert_fairseq.hf.logit_check import in_float64
from alibert_fairseq.models.embedding_sharing import ShiftedEmbedding


def test_a_table_with_a_difference_is_the_sum_that_is_exported():
    model = electra_model(embedding_sharing="gradient_disentangled")
    part = model.discriminator
    tables = [module for module in part.modules() if isinstance(module, ShiftedEmbedding)]
    for table in tables:
        torch.nn.init.normal_(table.difference)
    before = [table.difference.detach().clone() for table in tables]
    whole = [table.base.weight.detach() + table.difference.detach() for table in tables]
    with in_float64(part):
        for table, rows in zip(tables, whole, strict=True):
            exact = table(torch.arange(len(rows)))
            assert exact.dtype == torch.float64 and torch.allclose(exact, rows.double(), rtol=0, atol=1e-15)
    assert len(tables) >= 2 and {weight.dtype for weight in part.state_dict().values()} == {torch.float32}
    assert all(torch.equal(table.difference, kept) for table, kept in zip(tables, before, strict=True))
