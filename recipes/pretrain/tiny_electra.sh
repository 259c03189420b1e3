#!/usr/bin/env bash
# AliBERT-ELECTRA, tiny: 4 layers of 256, for 2 cores and some megabytes of text. What the quickstart runs.
# Reads the data-bin $DATA_BIN, writes checkpoints to $SAVE_DIR. Every option can be given again behind the recipe's
# name, the last one counts: `bash recipes/pretrain/tiny_electra.sh --max-update 5000 --total-num-update 5000`.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

options=(
    --task electra --criterion electra --arch electra_tiny
    --tokens-per-sample 128 --max-positions 128  # a line of clinical text has 20 to 40 tokens; 512 would cost more
    --batch-size 32                              # 4,096 tokens an update, so that a small corpus gives many updates
    --optimizer alibert_adam --clip-norm 1.0     # ELECTRA
    --lr 1e-3                                    # ELECTRA-small has 5e-4; smaller models bear more
    --lr-scheduler polynomial_decay --warmup-updates 100 --total-num-update 1000 --max-update 1000
    --seed 1
)
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" --user-dir "$root/alibert_fairseq" "${options[@]}" \
    --tokenizer alibert_normalizer --bpe alibert_subwords \
    --save-interval-updates 250 --keep-interval-updates 1 --no-epoch-checkpoints \
    --num-workers 0 --log-format simple --log-interval 25 "$@"
