#!/usr/bin/env bash
# fairseq's own masked_lm with a tiny roberta: nothing of this plugin, so a failure is the launcher's or the platform's.
# Reads the data-bin $DATA_BIN, writes checkpoints to $SAVE_DIR.
set -euo pipefail

fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" --task masked_lm --criterion masked_lm --arch roberta_base \
    --encoder-layers 1 --encoder-embed-dim 32 --encoder-ffn-embed-dim 64 --encoder-attention-heads 2 \
    --tokens-per-sample 32 --sample-break-mode none --batch-size 4 --seed 1 \
    --optimizer adam --lr 0.01 --clip-norm 1.0 --disable-validation --no-epoch-checkpoints "$@"
