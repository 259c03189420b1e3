#!/usr/bin/env bash
# Continue a small general model on medical text by masked words, by the causal detour, by replaced token detection, or
# begin from random weights, at equal minutes, and score all on the French sets.
#
#     bash tests/campaigns/detour.sh DATA OUTPUT
#
# DATA: as for french_sets.sh, with fr_general/eltec_fra_romans.txt. OUTPUT: where everything goes; a second call
# resumes. A core for each training. Each seed has a general model of its own, so a seed can also run alone,
# about three hours on two cores. The results are in docs/results/detour.md.
#
#   MINUTES=30 GENERAL_MINUTES=60   of a training, and of a general model
#   SEEDS="1 2 3"                   of the trainings
#   RATE=0.25                       learning rate, relative to that of the general model's training
#   JOBS=2                          trainings at a time
set -euo pipefail
minutes=${MINUTES:-30} general_minutes=${GENERAL_MINUTES:-60} seeds=(${SEEDS:-1 2 3}) rate=${RATE:-0.25} jobs=${JOBS:-2}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
self=$(realpath "$0")
data=$(realpath "$1")
mkdir -p "$2" && cd "$2"
command -v fairseq-train >/dev/null || . "$root/recipes/environment.sh"
. "$root/tests/campaigns/french_text.bash"

options=(--cpu --tokens-per-sample 128 --batch-size 32 --update-freq 1)
options+=(--optimizer muon --muon-weight-decay 0.2 --clip-norm 1.0 --num-workers 0 --max-update 7000 --total-num-update 7000)
options+=(--warmup-updates 20 --lr "$(python -c "print(3e-3 * $rate)")" --muon-lr "$(python -c "print(0.02 * $rate)")")
options+=(--end-learning-rate "$(python -c "print(3e-4 * $rate)")" --save-interval-updates 500 --keep-interval-updates 1)

texts() {  # data-bins of the general text, and of the medical text with a tokenizer of its own
    if [ ! -e general/data-bin ]; then
        python -m preprocess.ingest "$data/fr_general/eltec_fra_romans.txt" --output general/documents
        python -m preprocess.clean general/documents --output general/clean
        python -m preprocess.deduplicate general/clean --output general/unique
        python -m preprocess.mix general/unique --output general/mixed --valid 0.02
        python -m preprocess.train_tokenizer general/mixed --output general/tokenizer --vocab-size 8000
        python -m preprocess.binarize --tokenizer general/tokenizer --mix general/mixed --output general/data-bin
    fi
    make_data_bin
}

text_of_general() {  # the medical text with the general tokenizer, as hf.load writes it: the same bytes for every seed
    [ -e data-bin-general ] || python -m preprocess.binarize --tokenizer "published-${seeds[0]}/start" --mix mixed \
        --output data-bin-general
}

train() {  # WAY SEED
    local folder=$1-$2 tokenizer=published-$2/start
    case $1 in
        published)  # the general model, which stands for a published one
            tokenizer=general/tokenizer
            DATA_BIN=general/data-bin SAVE_DIR=$folder/checkpoints bash "$root/recipes/pretrain/tiny_modern.sh" \
                --cpu --budget-minutes "$general_minutes" --seed "$2" ;;
        scratch)
            tokenizer=tokenizer
            DATA_BIN=data-bin SAVE_DIR=$folder/checkpoints bash "$root/recipes/pretrain/tiny_modern.sh" \
                --cpu --budget-minutes "$minutes" --seed "$2" ;;
        *)
            local variant=${1/mlm/} own=("${options[@]}" --leave-unmasked-prob 0 --random-token-prob 0)
            own+=(--arch alibert_modern_tiny)  # the masks and the precision of the general model
            [ "$1" != detection ] || own=("${options[@]}" --arch electra_modern_tiny)
            FROM=published-$2/start DATA_BIN=data-bin-general SAVE_DIR=$folder/checkpoints VARIANT=$variant \
                bash "$root/recipes/pretrain/continue.sh" "${own[@]}" --budget-minutes "$minutes" --seed "$2" ;;
    esac
    rm -rf "$folder/model" "$folder/start"
    python -m alibert_fairseq.hf.export --checkpoint "$folder/checkpoints/checkpoint_last.pt" --tokenizer "$tokenizer" \
        --output "$folder/model"
    [ "$1" != published ] || python -m alibert_fairseq.hf.load "$folder/model" --output "$folder/start"
    mv "$folder/model" "models/$folder"  # evaluate tells models by the names of their folders
}

score() {  # SETS MODEL...
    python -m downstream.evaluate "${@:2}" --data "$data" --protocol cpu --seeds 1 --only "$1" --output suite
}

jobs() {  # lines: train WAY SEED, or score WAY SEED SET
    xargs -P "$jobs" -L 1 bash "$self" "$data" "$PWD"
}

scores() {  # WAY...
    local set seed way
    for set in $sets; do
        for seed in "${seeds[@]}"; do
            for way in "$@"; do echo "score $way $seed $set"; done
        done
    done
}

sets="quaero_emea quaero_medline fracco refomed morfitt frenchmedmcqa"
if [ $# -gt 2 ]; then
    exec >>"$4-$5.log" 2>&1
    trap '[ $? = 0 ] || { touch stopped; exit 255; }' EXIT  # which ends xargs
    if [ "$3" = score ]; then
        until [ -e "models/$4-$5" ]; do [ ! -e stopped ] || exit 1; sleep 5; done  # another job trains it
        score "$6" "models/$4-$5"
    elif [ ! -e "models/$4-$5" ]; then
        train "$4" "$5"
    fi
    exit
fi
mkdir -p models
rm -f stopped
texts
{ for seed in "${seeds[@]}"; do printf 'train %s\n' "published $seed" "scratch $seed"; done; scores scratch; } | jobs
text_of_general
{ for seed in "${seeds[@]}"; do printf "train %s $seed\n" mlm detour detection; done; scores mlm detour detection; } | jobs
score "${sets// /,}" models/*-[0-9]*
