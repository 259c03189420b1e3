#!/usr/bin/env bash
# Does LAMB train faster than Adam, as Figure 4 of AliBERT's paper says? docs/results/lamb_adam.md.
#
#     bash tests/campaigns/lamb_adam.sh DATA_BIN OUTPUT
#
# Both objectives with recipes/pretrain/tiny_*.sh's model, data and schedule, by both optimizers. Masked language
# modelling gets 80 updates at every learning rate, 160 at the two with the lowest held-out loss then, 400 at the better
# of these; replaced token detection gets 80 at the same two, and the one with the lower loss of the generator goes on
# through ELECTRA_STOPS. (The whole loss is low early, while the generator's samples give themselves away.) The
# schedule has 400 updates from the start and a run is resumed, so nothing is trained twice. On the core CORE (default
# 0), one run at a time; a second call goes on where the first stopped. OUTPUT/OBJECTIVE-OPTIMIZER-RATE.log is a run's
# log, OUTPUT/cost.jsonl what an update costs, OUTPUT/lamb_adam.png the picture; the tables are printed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
data=$(realpath "$1")
mkdir -p "$2" && cd "$2"
. "$root/recipes/environment.sh"
export OMP_NUM_THREADS=1
# glibc gives the large blocks of every batch back to the system and fetches them anew: up to a third of the time.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_TOP_PAD_=268435456
core=${CORE:-0}
shared=(
    --user-dir "$root/alibert_fairseq" --tokenizer alibert_normalizer --bpe alibert_subwords
    --tokens-per-sample 32 --batch-size 64  # the recipes'; an update takes several, which the objective says
    --max-positions 128 --position-init sinusoidal --dropout 0 --attention-dropout 0 --weight-decay 0.01 --seed 1
    --lr-scheduler polynomial_decay --warmup-updates 50 --total-num-update 400
    --num-workers 0 --data-buffer-size 0  # no reader thread, which may abort the process as it ends
    --log-format simple --log-interval 20
)
declare -A objectives=(  # what tiny_mlm.sh and tiny_electra.sh differ in; 8,192 and 4,096 tokens an update
    [mlm]="--task alibert_mlm --criterion alibert_mlm --arch alibert_tiny --mask-prob 0.3 --update-freq 4"
    [electra]="--task electra --criterion electra --arch electra_tiny --mask-prob 0.2 --update-freq 2"
)
declare -A optimizers=(  # each with the clip at a global norm of 1 that it comes with
    [adam]="--optimizer alibert_adam --alibert-adam-betas 0.9,0.98 --clip-norm 1.0"
    [lamb]="--optimizer lamb --lamb-betas 0.9,0.98 --lamb-max-grad-norm 1.0"
)
declare -A measures=([mlm]=loss [electra]=generator_loss_nats)
declare -A rates=([adam]="5e-4 1e-3 2e-3 4e-3" [lamb]="5e-3 1e-2 2e-2 4e-2 8e-2")

train() {  # objective, optimizer, learning rate, updates
    local name=$1-$2-$3
    [ ! -e "$name.$4.done" ] || return 0
    # shellcheck disable=SC2086
    taskset -c "$core" fairseq-train "$data" --save-dir "checkpoints/$name" "${shared[@]}" \
        ${objectives[$1]} ${optimizers[$2]} --lr "$3" --max-update "$4" --no-epoch-checkpoints \
        --validate-interval-updates 20 --max-valid-steps 11 >>"$name.log" 2>&1  # 12 batches, the same ones each time
    touch "$name.$4.done"
}

best() {  # objective, optimizer, update, how many: the best learning rates then
    local rate log
    for rate in ${rates[$2]}; do
        log=$1-$2-$rate.log
        [ ! -e "$log" ] || sed -nE "s/.*'valid' subset .*\| ${measures[$1]} ([^ ]+) .* num_updates $3( .*)?$/\1 $rate/p" "$log" |
            tail -n 1
    done | sort -g | head -n "$4" | cut -d ' ' -f 2
}

cost() {  # objective, optimizer: a block of updates by the CPU's clock
    # shellcheck disable=SC2086
    taskset -c "$core" python "$root/tests/campaigns/lamb_adam_cost.py" cost.jsonl "$1-$2" "$data" "${shared[@]}" \
        ${objectives[$1]} ${optimizers[$2]} --lr 1e-3 --max-update 10 --disable-validation --no-save >>cost.log 2>&1
}

for optimizer in adam lamb; do
    for rate in ${rates[$optimizer]}; do train mlm $optimizer "$rate" 80; done
    for rate in $(best mlm $optimizer 80 2); do train mlm $optimizer "$rate" 160; done
    train mlm $optimizer "$(best mlm $optimizer 160 1)" 400
done
for optimizer in adam lamb; do
    for rate in $(best mlm $optimizer 80 2); do train electra $optimizer "$rate" 80; done
done
for updates in ${ELECTRA_STOPS:-160 240}; do
    for optimizer in adam lamb; do train electra $optimizer "$(best electra $optimizer 80 1)" "$updates"; done
done
if [ ! -e cost.done ]; then
    rm -f cost.jsonl
    for _ in 1 2; do  # in turns, so that a busy hour strikes all alike
        for objective in mlm electra; do
            for optimizer in adam lamb; do cost $objective $optimizer; done
        done
    done
    touch cost.done
fi
python "$root/tests/campaigns/lamb_adam_curves.py" "$data" . --output lamb_adam.png
