#!/usr/bin/env bash
# Masked language modelling, replaced token detection and random weights on QUAERO: text to scores, docs/results/quaero.md.
#
#     bash tests/campaigns/quaero.sh RAW QUAERO OUTPUT
#
# RAW: folder with bdpm_notices.txt, pamj_cas_cliniques.txt, tico19_fr.txt, mesconseilscovid.txt and hpo_fr.txt; QUAERO:
# the corpus' folder with train, dev and test; OUTPUT: where everything goes. A second call reuses what is done. Both
# objectives train at the same time, on a core each (0 and 1), and stop after the same time.
set -euo pipefail
hours=${HOURS:-1.05} mlm_updates=${MLM_UPDATES:-10000} electra_updates=${ELECTRA_UPDATES:-8600}  # ends of the schedules
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
raw=$(realpath "$1") quaero=$(realpath "$2")
mkdir -p "$3" && cd "$3"
. "$root/recipes/environment.sh"
export HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1

# Leaflets weigh less and cases more, so that the one does not drown the other: 29 MB.
weights=(bdpm_notices=0.2 pamj_cas_cliniques=6 tico19_fr=4 mesconseilscovid=4 hpo_fr=3)
if [ ! -e data-bin ]; then
    parts=()
    for part in "${weights[@]}"; do
        parts+=("$raw/${part%=*}.txt")
    done
    python -m preprocess.ingest "${parts[@]}" --output documents
    python -m preprocess.clean documents --output clean
    python -m preprocess.deduplicate clean --output unique
    python -m preprocess.mix unique --output mixed --valid 0.01 --weights "$(IFS=,; echo "${weights[*]}")"
    python -m preprocess.train_tokenizer mixed --output tokenizer --vocab-size 8000
    python -m preprocess.binarize --tokenizer tokenizer --mix mixed --output data-bin
fi

pretrain() {  # objective, core, updates
    [ ! -e "$1.done" ] || return 0
    DATA_BIN=data-bin SAVE_DIR=checkpoints-$1 taskset -c "$2" bash "$root/recipes/pretrain/tiny_$1.sh" \
        --tokens-per-sample 128 --batch-size 16 \
        --max-update "$3" --total-num-update "$3" --stop-time-hours "$hours" --log-interval 50 \
        --validate-interval-updates 500 --max-valid-steps 40 --save-interval-updates 500 >>"$1.log" 2>&1
    touch "$1.done"
}
trap 'kill $(jobs -p) 2>/dev/null || :' EXIT
pretrain mlm 0 "$mlm_updates" & pid=$!
pretrain electra 1 "$electra_updates"
wait $pid
python "$root/tests/campaigns/training_curves.py" mlm.log electra.log --output curves.png

for objective in mlm electra; do
    [ -e "$objective" ] || python -m alibert_fairseq.hf.export \
        --checkpoint "checkpoints-$objective/checkpoint_last.pt" --tokenizer tokenizer --output "$objective"
done

finetune() {  # part of QUAERO, core
    local recipe=$root/recipes/finetune/quaero_$1.yaml
    for run in mlm electra "mlm --random-init"; do
        # shellcheck disable=SC2086
        taskset -c "$2" python -m downstream.finetune "$recipe" --data "$quaero" --model $run --output "$1-${run// --/-}"
    done
    python -m downstream.report "$1-mlm-random-init" "$1-mlm" "$1-electra" --output "$1-report" >"$1.md"
}
finetune emea 0 >emea.log 2>&1 & pid=$!
finetune medline 1 >medline.log 2>&1
wait $pid
cat emea.md medline.md
