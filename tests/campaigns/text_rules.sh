#!/usr/bin/env bash
# AliBERT's text rules with small encoders: what is each mode of the normalizer, and lower case, worth to a model?
#
#     bash tests/campaigns/text_rules.sh OUTPUT DATA [CONDITION SEED]
#     python tests/campaigns/small_encoders_table.py OUTPUT      # what is there so far
#
# The paper trains its models with one tokenizer and says that its rules improve "overall performance" (section 1) and
# that lower case is better (section 6): `paper` is its Unigram_L, `cased` its Unigram, `not_normalised` its Unigram_N_N.
# `--punctuation after` is left out: no figure of tokenizer_study.md tells it from `paper`. Text and weights are those of
# french_sets.sh; a default is chosen by the dev parts. small_encoders.bash says how a stopped campaign goes on.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/small_encoders.bash"
corpora=(bdpm_notices=0.2 pamj_cas_cliniques=6 tico19_fr=4 mesconseilscovid=4 hpo_fr=3)
conditions=(paper cased not_normalised clinical moses)
declare -A rules=(
    [paper]="" [cased]="--cased" [not_normalised]="--mode none --cased"
    [clinical]="--mode clinical" [moses]="--mode moses"
)
enter "$@"

prepare() {
    local condition
    mix_documents --weights "$(join "${corpora[@]}")"
    mask_words
    printf 'name\toptions\n' >conditions.tsv
    for condition in "${conditions[@]}"; do
        # shellcheck disable=SC2086
        data_bin "$condition" ${rules[$condition]}
        printf '%s\t%s\n' "$condition" "${rules[$condition]:-(defaults)}" >>conditions.tsv
    done
}
data_bin_of() { echo "$1"; }
options_of() { :; }
campaign
