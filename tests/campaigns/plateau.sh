#!/usr/bin/env bash
# When does masked language modelling leave the plateau of word frequencies? docs/results/leaving_the_plateau.md.
#
#     bash tests/campaigns/plateau.sh DATA_BIN OUTPUT
#
# Trains recipes/pretrain/tiny_mlm.sh and variants of it for UPDATES updates (default 700), two at a time, a core each.
# All drawn tokens are masked here: a token that is drawn and left visible can be copied, and a loss that falls because
# the model learned to copy is easily taken for one that left the plateau. OUTPUT/NAME.log is a variant's log.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
data=$(realpath "$1")
mkdir -p "$2" && cd "$2"
. "$root/recipes/environment.sh"
export OMP_NUM_THREADS=1

variant() {  # core, name, options
    local core=$1 name=$2
    shift 2
    [ ! -e "$name.done" ] || return 0
    DATA_BIN=$data SAVE_DIR=checkpoints-$name taskset -c "$core" bash "$root/recipes/pretrain/tiny_mlm.sh" \
        --leave-unmasked-prob 0 --random-token-prob 0 --total-num-update 6000 --max-update "${UPDATES:-700}" \
        --log-interval 100 --disable-validation --no-save "$@" >"$name.log" 2>&1
    touch "$name.done"
}
trap 'kill $(jobs -p) 2>/dev/null || :' EXIT
variant 0 recipe & pid=$!
variant 1 normal-positions --position-init normal
wait $pid
variant 0 mask-0.15 --mask-prob 0.15 & pid=$!
variant 1 128-tokens --tokens-per-sample 128 --batch-size 16
wait $pid
variant 0 lr-3e-3 --lr 3e-3
grep -H "| train_inner |" ./*.log | sed -E 's/^\.\/(.*)\.log:.* loss=([0-9.]+),.*num_updates=([0-9]+),.*/\1 \3 \2/'
