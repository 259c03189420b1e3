#!/usr/bin/env bash
# Masked language modelling, replaced token detection, random weights and baselines on all French sets: text to scores,
# docs/results/french_sets.md.
#
#     bash tests/campaigns/french_sets.sh DATA OUTPUT
#
# DATA: a folder with fr_raw/{bdpm_notices,pamj_cas_cliniques,tico19_fr,mesconseilscovid,hpo_fr}.txt and, anywhere below
# it, the sets of the tasks below (recipes/finetune says how their folders are called). OUTPUT: where everything goes. A
# second call goes on, and does not do again what is done. Two cores: an objective each, then two fine-tunings at a time.
set -euo pipefail
mlm_updates=${MLM_UPDATES:-14000} electra_updates=${ELECTRA_UPDATES:-12400}  # some 75 minutes each
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
data=$(realpath "$1")
mkdir -p "$2" && cd "$2"
command -v fairseq-train >/dev/null || . "$root/recipes/environment.sh"
. "$root/tests/campaigns/french_text.bash"
make_data_bin

pretrain() {  # objective, core, updates
    [ ! -e "$1.done" ] || return 0
    DATA_BIN=data-bin SAVE_DIR=checkpoints-$1 taskset -c "$2" bash "$root/recipes/pretrain/tiny_$1.sh" \
        --tokens-per-sample 128 --batch-size 16 \
        --max-update "$3" --total-num-update "$3" --log-interval 50 \
        --validate-interval-updates 500 --max-valid-steps 40 --save-interval-updates 2000 --keep-interval-updates -1 \
        >>"$1.log" 2>&1
    touch "$1.done"
}
trap 'kill $(jobs -p) 2>/dev/null || :' EXIT
pretrain mlm 0 "$mlm_updates" & pid=$!
pretrain electra 1 "$electra_updates"
wait $pid
python "$root/tests/campaigns/training_curves.py" mlm.log electra.log --output curves.png

export_checkpoint() {  # checkpoint, folder
    [ -e "$2" ] || python -m alibert_fairseq.hf.export --checkpoint "$1" --tokenizer tokenizer --output "$2"
}
for objective in mlm electra; do
    export_checkpoint checkpoints-$objective/checkpoint_last.pt $objective
    for checkpoint in checkpoints-$objective/checkpoint_*_*[02468]000.pt; do
        step=${checkpoint##*_}
        export_checkpoint "$checkpoint" "steps/$objective/step-${step%.pt}"
    done
done

sets=quaero_emea,quaero_medline,fracco,morfitt,frenchmedmcqa,refomed
python -m downstream.evaluate mlm electra --data "$data" --protocol cpu --jobs 2 --baselines all --only $sets \
    --pretraining-text "${texts[@]}" --output suite

quaero=$data/fr_ner/quaero
curve() {  # core, output, how, part of QUAERO, arguments of downstream.curves...
    taskset -c "$1" python -m downstream.curves "$3" "$root/recipes/finetune/quaero_$4.yaml" --data "$quaero" \
        --protocol cpu --seeds 3 --output "$2" "${@:5}" >"$2.log" 2>&1
}
curve 0 steps-emea steps emea --models steps/mlm steps/electra & pid=$!
sizes=50,100,200,400,all
curve 1 documents-medline documents medline --model mlm --model electra --sizes $sizes
curve 1 documents-medline-random documents medline --model mlm --sizes $sizes --random-init
wait $pid
