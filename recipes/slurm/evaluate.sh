#!/usr/bin/env bash
# Convert a checkpoint to a Hugging Face model and score it on NER, in one job on a GPU:
#   bash recipes/slurm/evaluate.sh CHECKPOINT TOKENIZER RECIPE ANNOTATIONS OUTPUT [--dry-run]
#   CENTRE     the file with the settings of your centre                 default: centre.bash in this folder
# OUTPUT is a new folder that all nodes see. It gets model/, ner/ with metrics.json, and the log of the job. The same
# command resumes a stopped run. With --dry-run it shows the job and submits nothing.
#   bash recipes/slurm/evaluate.sh $WORK/alibert/checkpoint_best.pt tokenizer recipes/finetune/quaero_emea.yaml quaero $WORK/emea
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { echo "error: $*" >&2; exit 2; }
dry=
[ "$#${6:-}" != 6--dry-run ] || { dry=yes; set -- "${@:1:5}"; }
[ $# -eq 5 ] || die "give CHECKPOINT TOKENIZER RECIPE ANNOTATIONS OUTPUT, and perhaps --dry-run behind them."
for path in "${@:1:4}"; do [ -e "$path" ] || die "$path: no such file or directory; check the path."; done
centre=${CENTRE:-$here/centre.bash}
[ -f "$centre" ] || die "CENTRE=$centre: no such file; copy $here/centre.bash and name the copy."
source "$here/../environment.sh"
source "$(realpath "$centre")"
paths=()
for path in "$@"; do paths+=("$(realpath -m "$path")"); done
quoted=$(printf '%q ' "${paths[@]}")
submission=(sbatch --parsable --job-name=evaluate --output="${paths[4]}/%j.log" "${one_gpu[@]}")
batch="#!/bin/bash
set -euo pipefail
export PATH=$(printf %q "$PATH")
set -- $quoted
"'[ -d "$5/model" ] || python -m alibert_fairseq.hf.export --checkpoint "$1" --tokenizer "$2" --output "$5/model"
[ -f "$5/ner/metrics.json" ] || python -m downstream.finetune "$3" --data "$4" --model "$5/model" --output "$5/ner"'

if [ "$dry" ]; then
    printf '%q ' "${submission[@]}"
    printf "<<'END'\n%s\nEND\n" "$batch"
    exit
fi
mkdir -p "${paths[4]}"
job=$("${submission[@]}" <<<"$batch")
echo "job ${job%%;*}; log: ${paths[4]}/${job%%;*}.log"  # 12;cluster where there are several
