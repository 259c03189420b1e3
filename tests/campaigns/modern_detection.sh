#!/usr/bin/env bash
# Replaced token detection beside masked language modelling, at equal minutes, on all French sets:
# docs/results/modern_detection.md.
#
#     bash tests/campaigns/modern_detection.sh DATA OUTPUT [mlm | detection | random ...]
#
# DATA, CORE, SEEDS, SETS: of speedrun.sh. OUTPUT: where everything goes; a second call resumes. Detection has half of
# its MINUTES for the masked language model that it starts from, which is also its frozen generator. Default: all three.
set -euo pipefail
minutes=${MINUTES:-20} core=${CORE:-0}
export SEEDS=${SEEDS:-3}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ $# -ge 2 ] || { echo "error: give DATA OUTPUT." >&2; exit 2; }
data=$(realpath "$1")
mkdir -p "$2" && cd "$2"
shift 2
command -v fairseq-train >/dev/null || . "$root/recipes/environment.sh"
. "$root/tests/campaigns/french_text.bash"
make_data_bin
half=$(python -c "print($minutes / 2)")
quick=()
if grep -q "amx_bf16\|avx512_bf16" /proc/cpuinfo; then quick=(--bf16-autocast --muon-bf16); fi
frozen=(--freeze-generator --embedding-sharing none --generator-temperature 2 --generator-temperature-end 1)

train() {  # name, minutes, options: a run of tiny_modern.sh, exported
    [ ! -e "$1/model" ] || return 0
    DATA_BIN=data-bin SAVE_DIR=$1/checkpoints taskset -c "$core" bash "$root/recipes/pretrain/tiny_modern.sh" \
        --budget-minutes "$2" --disable-validation "${quick[@]}" "${@:3}" >>"$1.log" 2>&1
    python -m alibert_fairseq.hf.export --checkpoint "$1/checkpoints/checkpoint_last.pt" --tokenizer tokenizer \
        --output "$1/model"
}

[ $# -gt 0 ] || set -- mlm detection random
for arm in "$@"; do
    random=
    case $arm in
        mlm) train mlm "$minutes" ;;
        detection)
            train half "$half"
            train detection "$half" --task electra --criterion electra --arch electra_modern_tiny \
                --finetune-from-model half/checkpoints/checkpoint_last.pt "${frozen[@]}" ;;
        random) train mlm "$minutes"; mkdir -p random; ln -sfn ../mlm/model random/model; random=yes ;;
    esac
    RANDOM_INIT=$random bash "$root/tests/campaigns/speedrun.sh" "$data" "$arm"
done
