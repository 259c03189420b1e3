#!/usr/bin/env bash
# The modern form, tiny: ModernBERT's body with 4 layers of 128, for 2 cores and some megabytes of text.
# It reads the data-bin $DATA_BIN and writes checkpoints to $SAVE_DIR. Options can be repeated after the recipe's
# name, and the last one counts. With a budget, the schedules follow the clock and the run ends on time:
#   DATA_BIN=data-bin SAVE_DIR=checkpoints bash recipes/pretrain/tiny_modern.sh --budget-minutes 58
# docs/results/speedrun.md says what was measured. For a replication of the papers, use tiny_mlm.sh.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --task alibert_mlm --criterion alibert_mlm --arch alibert_modern_tiny
    --tokens-per-sample 128 --batch-size 32 --max-positions 1024  # 4,096 tokens per update
    --length-schedule 0.2:32,0.5:64              # in short blocks attention is useful sooner, and costs less
    --optimizer muon --lr 3e-3 --muon-lr 0.02 --muon-weight-decay 0.2 --clip-norm 1.0
    --mask-prob 0.3 --leave-unmasked-prob 0 --random-token-prob 0
    --lr-scheduler wsd --warmup-updates 20 --total-num-update 7000 --max-update 7000
    --seed 1
)
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
