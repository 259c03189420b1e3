#!/usr/bin/env bash
# The modern form, tiny: ModernBERT's body with 4 layers of 128, for 2 cores and some megabytes of text.
# It reads the data-bin $DATA_BIN and writes checkpoints to $SAVE_DIR. Options can be repeated after the recipe's
# name, and the last one counts. With a budget, the schedules follow the clock and the run ends on time:
#   DATA_BIN=data-bin SAVE_DIR=checkpoints bash recipes/pretrain/tiny_modern.sh --budget-minutes 58
# Such a model can train further by replaced token detection. It is then also the generator, which does not change:
#   VARIANT=detection FROM=checkpoints DATA_BIN=data-bin SAVE_DIR=detection bash recipes/pretrain/tiny_modern.sh
# docs/results/speedrun.md and modern_detection.md say what was measured. For a replication of the papers, use tiny_mlm.sh.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --tokens-per-sample 128 --batch-size 32 --max-positions 1024  # 4,096 tokens per update
    --length-schedule 0.2:32,0.5:64              # in short blocks attention is useful sooner, and costs less
    --optimizer muon --lr 3e-3 --muon-lr 0.02 --muon-weight-decay 0.2 --clip-norm 1.0
    --mask-prob 0.3
    --lr-scheduler wsd --warmup-updates 20 --total-num-update 7000 --max-update 7000
    --seed 1
)
case ${VARIANT:-} in
    '') options+=(
        --task alibert_mlm --criterion alibert_mlm --arch alibert_modern_tiny
        --leave-unmasked-prob 0 --random-token-prob 0
    ) ;;
    detection)
        options+=(
            --task electra --criterion electra --arch electra_modern_tiny --electra-leave-unmasked-prob 0
            --freeze-generator --embedding-sharing none --generator-temperature 2 --generator-temperature-end 1
            --discriminator-weight 10            # with 50, the encoder predicts words worse, and judges no better
        )
        start_from "${FROM:-}" "the checkpoint of this recipe to start from" ;;
    *) refuse "VARIANT=$VARIANT is not detection; leave it out for masked language modelling." ;;
esac
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
