"""Tiny dictionaries, models and batches for the tests."""

import numpy as np
import torch
from fairseq.data import Dictionary, ListDataset

from alibert_fairseq.data.layout import laid_out
from alibert_fairseq.data.masked_dataset import MaskedDataset
from alibert_fairseq.data.masking import MaskingRule
from alibert_fairseq.layers.sampling import draw
from alibert_fairseq.models.bert import AliBertModel
from alibert_fairseq.models.config import EncoderConfig
from alibert_fairseq.models.electra import ElectraConfig, ElectraModel
from preprocess.databin.fairseq_writer import Writer

SHAPE = {
    "encoder_layers": 2, "encoder_embed_dim": 32, "encoder_ffn_embed_dim": 64, "encoder_attention_heads": 2,
    "max_positions": 64,
}  # fmt: skip
WORDPIECE = "fi ##èvre é ##tat ##é ##ç œ ##dème coeur , # Ġ".split(" ")


def dictionary(pieces: int = 40) -> Dictionary:
    """Four specials, `pieces` pieces, two fillers, <mask>."""
    result = Dictionary()
    for i in range(pieces):
        result.add_symbol(f"▁m{i}")
    for i in range(2):
        result.add_symbol(f"<unused{i}>")
    result.add_symbol("<mask>")
    return result


class Task:
    """What a criterion asks of a task."""

    target_dictionary = source_dictionary = dictionary()


def bert_dictionary() -> Dictionary:
    """[PAD] 0, [unused0] 1, [UNK] 2, [CLS] 3, [SEP] 4, [MASK] 5, then pieces, [unused1] last."""
    result = Dictionary(bos="[CLS]", pad="[PAD]", eos="[SEP]", unk="[UNK]")
    result.symbols = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDPIECE, "[unused1]"]
    result.indices = {symbol: number for number, symbol in enumerate(result.symbols)}
    result.indices["<mask>"] = result.indices["[MASK]"]  # as PublishedDictionary answers
    result.count = [1] * len(result.symbols)
    result.pad_index, result.unk_index, result.bos_index, result.eos_index = 0, 2, 3, 4
    return result


def blocks(lengths=(12, 15), seed=0) -> ListDataset:
    """Random sequences <s> ... </s> of the given lengths."""
    rng = np.random.default_rng(seed)
    rows = [torch.tensor([0, *rng.integers(4, 44, length - 2).tolist(), 2]) for length in lengths]
    return ListDataset(rows, np.array(lengths))


def write_lines(prefix, lines) -> None:
    """A split of a data-bin: each line a list of ids that ends in </s>; `[2]` stands between documents."""
    with Writer(prefix, np.dtype(np.uint16)) as writer:
        writer.add(np.concatenate(lines), np.array([len(line) for line in lines]))


def masked_dataset(lengths=(12, 15), rule=None, with_uniforms=False, seed=1, **options) -> MaskedDataset:
    """Masked samples over random blocks."""
    rule = rule or MaskingRule(mask_share=0.8, random_share=0.1)
    pieces = np.arange(4, 44)
    return MaskedDataset(blocks(lengths), dictionary(), rule, seed, pieces, with_uniforms=with_uniforms, **options)


def electra_batch(lengths=(12, 15)) -> dict:
    """One batch for replaced token detection."""
    data = masked_dataset(lengths, MaskingRule(mask_share=0.85, random_share=0.0, mask_prob=0.3), with_uniforms=True)
    return data.collater([data[i] for i in range(len(data))])


def flat_electra_batch(lengths=(12, 15)) -> tuple[dict, torch.Tensor, torch.Tensor]:
    """What a model takes of that batch; its real tokens before they were masked, (n,), and which were masked, (n,)."""
    batch = electra_batch(lengths)
    original, masked = batch["net_input"]["original"], batch["target"].ne(1)
    real, laid = original.ne(1), laid_out(batch, 1)
    return laid["net_input"] | {"target": laid["target"]}, original[real], masked[real]


def electra_model(seed=0, **options) -> ElectraModel:
    """A random ELECTRA of two layers, embeddings narrower than the encoder."""
    torch.manual_seed(seed)
    return ElectraModel(ElectraConfig(**SHAPE, embedding_dim=16, generator_width_fraction=0.5, **options), dictionary())


def mlm_model(seed=0, **options) -> AliBertModel:
    """A random AliBERT of two layers."""
    torch.manual_seed(seed)
    return AliBertModel(EncoderConfig(**SHAPE, embedding_dim=32, **options), dictionary())


def sample_tokens(scores: torch.Tensor, uniforms: torch.Tensor, temperature: float) -> torch.Tensor:
    """(M, V) scores to (M,) ids, as a model samples them."""
    return draw(torch.softmax(scores.detach().float() / temperature, dim=-1), uniforms)
