"""The peer of training_step.py: a plain training loop over transformers' models, with its SDPA attention.

    python tests/benchmarks/transformers_loop.py OPTIONS.json

It does what a user's script does: blocks from memory, the masking of transformers' collator, the loss of the model,
clipping, AdamW. It reports its progress as fairseq does. With `sentences`, a batch holds whole sentences of mixed
length, padded to the longest of the batch.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from torch.utils.data import DataLoader

PAD, MASK = 1, 4


class Blocks(torch.utils.data.Dataset):
    """Token ids of training_step.py's text: blocks of one length, or its sentences."""

    def __init__(self, folder: Path, block: int, sentences: bool):
        ids, ends = np.load(folder / "ids.npy"), np.load(folder / "ends.npy")
        if sentences:
            self.rows = [np.concatenate(([0], row)) for row in np.split(ids, ends)[:-1]]
        else:
            self.rows = [np.concatenate(([0], row)) for row in ids[: len(ids) // (block - 1) * (block - 1)].reshape(
                -1, block - 1)]  # fmt: skip

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.from_numpy(self.rows[index].astype(np.int64))


def collate(rows: list, vocabulary: int) -> dict:
    """What DataCollatorForLanguageModeling does, for ids without a tokenizer: 15 %, of them 80, 10 and 10 %."""
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    labels = ids.clone()
    chosen = torch.bernoulli(torch.full(ids.shape, 0.15).masked_fill(ids < 5, 0.0)).bool()
    labels[~chosen] = -100
    hidden = torch.bernoulli(torch.full(ids.shape, 0.8)).bool() & chosen
    ids[hidden] = MASK
    replaced = torch.bernoulli(torch.full(ids.shape, 0.5)).bool() & chosen & ~hidden
    ids[replaced] = torch.randint(5, vocabulary, ids.shape)[replaced]
    return {"input_ids": ids, "labels": labels, "attention_mask": ids.ne(PAD).long()}


def masked_lm(size: dict, modern: bool) -> torch.nn.Module:
    """RoBERTa's or ModernBERT's model for masked language modelling."""
    shared = {
        "vocab_size": size["vocabulary"], "hidden_size": size["width"], "num_hidden_layers": size["layers"],
        "num_attention_heads": size["heads"], "intermediate_size": size["ffn_width"], "pad_token_id": PAD,
        "attn_implementation": "sdpa",
    }  # fmt: skip
    if modern:
        config = transformers.ModernBertConfig(
            **shared, max_position_embeddings=1024, reference_compile=False, bos_token_id=0, eos_token_id=2,
            cls_token_id=0, sep_token_id=2,
        )  # fmt: skip
        return transformers.ModernBertForMaskedLM(config)
    dropout = {"hidden_dropout_prob": size["dropout"], "attention_probs_dropout_prob": size["dropout"]}
    return transformers.RobertaForMaskedLM(transformers.RobertaConfig(
        **shared, **dropout, max_position_embeddings=size["length"] + 2, type_vocab_size=1))  # fmt: skip


class Electra(torch.nn.Module):
    """Generator and discriminator with shared word and position tables, as ELECTRA; samples by multinomial."""

    def __init__(self, size: dict):
        super().__init__()
        dropout = {"hidden_dropout_prob": size["dropout"], "attention_probs_dropout_prob": size["dropout"]}
        shared = {
            "vocab_size": size["vocabulary"], "num_hidden_layers": size["layers"], "embedding_size": size["width"],
            "max_position_embeddings": size["length"] + 2, "pad_token_id": PAD, "attn_implementation": "sdpa",
            **dropout,
        }  # fmt: skip
        small = {"hidden_size": size["width"] // 3, "num_attention_heads": max(1, size["width"] // 3 // 64)}
        self.generator = transformers.ElectraForMaskedLM(transformers.ElectraConfig(
            **shared, **small, intermediate_size=size["ffn_width"] // 3))  # fmt: skip
        self.discriminator = transformers.ElectraForPreTraining(transformers.ElectraConfig(
            **shared, hidden_size=size["width"], num_attention_heads=size["heads"],
            intermediate_size=size["ffn_width"]))  # fmt: skip
        self.generator.electra.embeddings = self.discriminator.electra.embeddings

    def forward(self, input_ids, labels, attention_mask):
        """The weighted sum of both losses."""
        found = self.generator(input_ids=input_ids, attention_mask=attention_mask, labels=labels)
        with torch.no_grad():
            masked = labels != -100
            samples = torch.multinomial(found.logits[masked].softmax(-1), 1)[:, 0]
            fake = torch.where(masked, labels, input_ids)
            fake[masked] = samples
            replaced = (fake != torch.where(masked, labels, input_ids)).long()
        judged = self.discriminator(input_ids=fake, attention_mask=attention_mask, labels=replaced)
        found.loss = found.loss + 50 * judged.loss
        return found


def main() -> None:
    """Train."""
    options = json.loads(Path(sys.argv[1]).read_text())
    size = options["size"]
    torch.manual_seed(1)
    model = Electra(size) if options["objective"] == "electra" else masked_lm(size, options["body"] == "modern")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device).train()
    if options.get("compile"):
        model = torch.compile(model)
    data = Blocks(Path(options["data"]), size["length"], options["sentences"])
    loader = DataLoader(data, batch_size=options["batch"], shuffle=True, drop_last=True,
                        collate_fn=lambda rows: collate(rows, size["vocabulary"]))  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=1000)
    updates, tokens = 0, 0  # tokens since the last report
    while updates < options["updates"]:
        for batch in loader:
            if updates >= options["updates"]:
                break
            tokens += int(batch["attention_mask"].sum())
            with torch.autocast(device, torch.bfloat16, enabled=options.get("bf16", False)):
                loss = model(**{name: value.to(device) for name, value in batch.items()}).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            updates += 1
            if updates % options["every"] == 0:
                told = {"num_updates": updates, "loss": loss.item(), "wpb": tokens / options["every"]}
                print(json.dumps({name: str(value) for name, value in told.items()}), flush=True)
                tokens = 0


if __name__ == "__main__":
    main()
