"""What a masked language model knows of held-out text: docs/results/speedrun.md.

    python tests/campaigns/held_out_bits.py DATA_BIN MODEL...

Each MODEL is a Hugging Face folder. The valid subset of DATA_BIN is read in blocks of 128 tokens. 15 % of the tokens
are masked, the same ones for all models. Prints the bits a masked token and how many of them are right.
"""

import math
import sys
from pathlib import Path

import torch
from fairseq.data import Dictionary, data_utils
from transformers import AutoModelForMaskedLM, AutoTokenizer

BLOCKS, LENGTH, MASKED = 1000, 128, 0.15


@torch.no_grad()
def held_out(folder: Path, data_bin: Path) -> tuple[float, float]:
    """Bits a masked token, and the share of the masked tokens whose likeliest guess is right."""
    dictionary = Dictionary.load(str(data_bin / "dict.txt"))
    held_out = data_utils.load_indexed_dataset(str(data_bin / "valid"), dictionary)
    text = torch.cat([held_out[number] for number in range(len(held_out))])
    blocks = min(BLOCKS, len(text) // (LENGTH - 1))
    ids = text[: blocks * (LENGTH - 1)].view(blocks, -1).long()
    ids = torch.cat([torch.full((blocks, 1), dictionary.bos()), ids], 1)
    drawn = torch.rand(ids.shape, generator=torch.Generator().manual_seed(1)) < MASKED
    drawn &= (ids != dictionary.bos()) & (ids != dictionary.eos())  # which training does not mask
    model, tokenizer = (kind.from_pretrained(folder) for kind in (AutoModelForMaskedLM, AutoTokenizer))
    torch.set_flush_denormal(True)
    losses, right = [], []
    for block, hidden in zip(ids.split(20), drawn.split(20), strict=True):
        logits = model.eval()(input_ids=block.masked_fill(hidden, tokenizer.mask_token_id)).logits[hidden]
        losses.append(torch.nn.functional.cross_entropy(logits, block[hidden], reduction="none"))
        right.append(logits.argmax(-1) == block[hidden])
    return torch.cat(losses).mean().item() / math.log(2), torch.cat(right).double().mean().item()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("error: give DATA_BIN MODEL...")
    for model in sys.argv[2:]:
        bits, right = held_out(Path(model), Path(sys.argv[1]))
        print(f"{model}: {bits:.3f} bits, {100 * right:.1f} % right")
