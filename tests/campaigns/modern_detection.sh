#!/usr/bin/env bash
# Replaced token detection beside masked language modelling, at equal minutes, on all French sets:
# docs/results/modern_detection.md.
#
#     bash tests/campaigns/modern_detection.sh DATA OUTPUT [mlm | detection | random ...]
#
# DATA, CORE, SEEDS, SETS: of speedrun.sh. OUTPUT: where everything goes; a second call resumes. Detection has half of
# its MINUTES for the masked language model that it starts from, which is also its frozen generator. Default: all three.
set -euo pipefail
minutes=${MINUTES:-20}
export SEEDS=${SEEDS:-3}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tests/campaigns/one_core.bash"
make_data_bin
mlm=$root/recipes/pretrain/tiny_modern.sh
half=$(python -c "print($minutes / 2)")
# tiny_modern.sh for the task electra, which names two options of masking otherwise.
sed -e 's/--leave-unmasked-prob 0 --random-token-prob 0/--electra-leave-unmasked-prob 0/' \
    -e 's/--task alibert_mlm --criterion alibert_mlm --arch alibert_/--task electra --criterion electra --arch electra_/' \
    -e "s|^\. .*shared.bash.*|. \"$root/recipes/pretrain/shared.bash\"|" \
    "$root/recipes/pretrain/tiny_modern.sh" >tiny_electra_modern.sh
frozen=(--freeze-generator --embedding-sharing none --generator-temperature 2 --generator-temperature-end 1)

train() {  # recipe, name, minutes, options: a run, exported
    local recipe=$1
    shift
    [ ! -e "$1/model" ] || return 0
    DATA_BIN=data-bin SAVE_DIR=$1/checkpoints taskset -c "$core" bash "$recipe" \
        --budget-minutes "$2" --disable-validation "${precision[@]}" "${@:3}" >>"$1.log" 2>&1
    python -m alibert_fairseq.hf.export --checkpoint "$1/checkpoints/checkpoint_last.pt" --tokenizer tokenizer \
        --output "$1/model"
}

[ $# -gt 0 ] || set -- mlm detection random
for arm in "$@"; do
    random=
    case $arm in
        mlm) train "$mlm" mlm "$minutes" ;;
        detection)
            train "$mlm" half "$half"
            train tiny_electra_modern.sh detection "$half" \
                --finetune-from-model half/checkpoints/checkpoint_last.pt "${frozen[@]}" ;;
        random) train "$mlm" mlm "$minutes"; mkdir -p random; ln -sfn ../mlm/model random/model; random=yes ;;
    esac
    RANDOM_INIT=$random bash "$root/tests/campaigns/speedrun.sh" "$data" "$arm"
done
