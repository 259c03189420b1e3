#!/usr/bin/env bash
# AliBERT, tiny: 4 layers of 128, for 2 cores and some megabytes of text. For use, take tiny_modern.sh.
# It reads the data-bin $DATA_BIN and writes checkpoints to $SAVE_DIR. Options can be repeated after the recipe's
# name, and the last one counts (for another --optimizer, copy the recipe: --alibert-adam-betas belongs to this one):
#   DATA_BIN=data-bin SAVE_DIR=checkpoints bash recipes/pretrain/tiny_mlm.sh --max-update 5000 --total-num-update 5000
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --task alibert_mlm --criterion alibert_mlm --arch alibert_tiny
    --tokens-per-sample 32 --batch-size 64       # 2,048 tokens per update. Attention starts as a mean over the block: in
                                                 # a shorter one it is useful sooner (see the page below).
    --max-positions 128                          # With an hour or more, give --tokens-per-sample 128 --batch-size 16.
    --optimizer alibert_adam --alibert-adam-betas 0.9,0.98 --clip-norm 1.0 --lr 1e-3 --weight-decay 0.01
    --mask-prob 0.3 --position-init sinusoidal   # so that it leaves the plateau of word frequencies in 500 updates:
                                                 # docs/results/leaving_the_plateau.md
    --dropout 0 --attention-dropout 0            # ALBERT v2: a model that underfits its corpus needs none
    --lr-scheduler polynomial_decay --warmup-updates 100 --total-num-update 1000 --max-update 1000
    --seed 1
)
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
