#!/usr/bin/env bash
# The French encoder speedrun: what one core learns of a fixed text in MINUTES, docs/results/speedrun.md.
#
#     bash tests/campaigns/speedrun.sh DATA OUTPUT [options of fairseq-train]
#
# DATA: a folder with fr_raw/{bdpm_notices,pamj_cas_cliniques,tico19_fr,mesconseilscovid,hpo_fr}.txt and, below it,
# the sets of SETS. OUTPUT: where everything goes; a second call resumes. It runs the newest record: tiny_modern.sh, in
# bfloat16 where the processor has AMX or AVX512_BF16, half of the time for each objective, then the stronger forms on
# test. Options that follow are those of another entry. Nothing else should run on the core.
#
#   MINUTES=58        of pretraining; the making of the corpus and of the tokenizer does not count
#   DETECTION=yes     no: masked language modelling alone, as the earlier entries have it
#   SETS="quaero_emea_both quaero_medline_both fracco refomed morfitt frenchmedmcqa"   to fine-tune on
#   SEEDS=5           trainings of each
#   CORE=0            the core that pretrains and fine-tunes
#   RANDOM_INIT=      yes: random weights of the model's form are fine-tuned
set -euo pipefail
minutes=${MINUTES:-58} seeds=${SEEDS:-5}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tests/campaigns/one_core.bash"

train() {  # NAME MINUTES [options]: a run, exported
    [ ! -e "$1/model" ] || return 0
    DATA_BIN=data-bin SAVE_DIR=$1/checkpoints taskset -c "$core" bash "$root/recipes/pretrain/tiny_modern.sh" \
        --budget-minutes "$2" --disable-validation "${precision[@]}" "${@:3}" 2>&1 | tee -a "$1.log"
    python -m alibert_fairseq.hf.export --checkpoint "$1/checkpoints/checkpoint_last.pt" --tokenizer tokenizer \
        --output "$1/model"
}

if [ ! -e model ]; then
    make_data_bin
    if [ "${DETECTION:-yes}" = no ]; then
        last=mlm
        train mlm "$minutes" "$@"
    else
        last=detection half=$(python -c "print($minutes / 2)")
        train mlm "$half" "$@"
        VARIANT=detection FROM=mlm/checkpoints train detection "$half" "$@"
    fi
    python "$root/tests/campaigns/held_out_bits.py" data-bin "$last/model" | tee bits.txt
    ln -s "$last/model" model
fi
random=()
[ -z "${RANDOM_INIT:-}" ] || random=(--random-init)  # the weights of the model are not used
for set in ${SETS:-quaero_emea_both quaero_medline_both fracco refomed morfitt frenchmedmcqa}; do
    form=(--form tagger --protocol tagger)
    case $set in
        refomed) form=(--form bi-encoder --protocol bi-encoder) ;;
        morfitt) form=(--form label-attention --protocol label-attention) ;;
        frenchmedmcqa) form=(--protocol cpu) ;;
    esac
    taskset -c "$core" python -m downstream.finetune "$root/recipes/finetune/$set.yaml" --data "$data" --model model \
        "${form[@]}" "${random[@]}" --seeds "$seeds" --output "scores/$set"
done
