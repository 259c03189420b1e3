#!/usr/bin/env bash
# ouBioBERT's ablation (its Table 8) with small encoders: does a small core gain by simultaneous pre-training and by an
# amplified vocabulary?
#
#     bash tests/campaigns/oubiobert_ablation.sh OUTPUT DATA [CONDITION SEED]
#     python tests/campaigns/small_encoders_table.py OUTPUT      # what is there so far
#
# The core are 1.5 MB of clinical cases, the satellite 20 MB of novels. Simultaneous pre-training uses both as much
# (`preprocess.mix --core`), without it each document is used once an epoch; the amplified vocabulary is trained on that
# mix, the other on the text as it is. All else is the same: model, updates, batch, documents held out, words masked in
# them. small_encoders.bash says what the files are and how a stopped campaign goes on.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/small_encoders.bash"
core=pamj_cas_cliniques corpora=(pamj_cas_cliniques eltec_fra_romans)
conditions=(both simpt ampv neither)
enter "$@"

prepare() {
    mix_documents --core $core
    mask_words
    data_bin amplified
    data_bin plain --weights "$(join "${corpora[@]/%/=1}")"
    printf '%s\t%s\t%s\n' name SimPT AmpV both yes yes simpt yes no ampv no yes neither no no >conditions.tsv
}
data_bin_of() { case $1 in both | ampv) echo amplified ;; *) echo plain ;; esac; }
options_of() { case $1 in ampv | neither) echo --mix-weights "$(join "${corpora[@]/%/=1}")" ;; esac; }
campaign
