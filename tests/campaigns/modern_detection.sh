#!/usr/bin/env bash
# Replaced token detection beside masked language modelling, at equal minutes, on all French sets:
# docs/results/modern_detection.md.
#
#     bash tests/campaigns/modern_detection.sh DATA OUTPUT [mlm | detection | random ...]
#
# OUTPUT: where everything goes; a second call resumes. Detection is the record of speedrun.sh, whose variables count.
# Random weights have the form of mlm's model. Default: all three.
set -euo pipefail
export SEEDS=${SEEDS:-3}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tests/campaigns/one_core.bash"
make_data_bin
[ $# -gt 0 ] || set -- mlm detection random
for arm in "$@"; do
    export DETECTION=yes RANDOM_INIT=
    mkdir -p "$arm"
    ln -sfn ../data-bin ../tokenizer "$arm"
    case $arm in
        mlm) DETECTION=no ;;
        random) ln -sfn ../mlm/model random/model; RANDOM_INIT=yes ;;
    esac
    bash "$root/tests/campaigns/speedrun.sh" "$data" "$arm"
done
