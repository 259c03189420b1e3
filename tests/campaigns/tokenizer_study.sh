#!/usr/bin/env bash
# The tokenizers of AliBERT's study on real text, at several sizes, with and without ouBioBERT's amplification of the core,
# compared on documents held out: docs/results/tokenizer_study.md.
#
#     bash tests/campaigns/tokenizer_study.sh RAW GENERAL OUTPUT [TOKENIZER...]
#
# RAW: folder with pamj_cas_cliniques.txt (clinical cases, the core), bdpm_notices.txt, tico19_fr.txt, mesconseilscovid.txt
# and hpo_fr.txt; GENERAL: folder with eltec_fra_romans.txt; OUTPUT: where everything goes. A TOKENIZER is the folder of a
# published one to compare with. It may be stopped and called again, and be done in parts, for what is there is left as it
# is (remove OUTPUT, or a part of it, to have it made anew by another version):
#
#     SIZES="8000 16000 32000 40000"    40,000 is AliBERT's, 32,000 CamemBERT's
#     DRAWS="plain amplified"           training lines as they are, or the core as often as all the others
#     NAMES="lower cased ..."           which tokenizers: the names below
#
# OUTPUT/DRAW/SIZE/NAME are the tokenizers, OUTPUT/studies/DRAW-SIZE/study.html compares those of one size, with terms and
# sentences in pieces; OUTPUT/summary/study.html (and .md, .json, pictures) is all of them; OUTPUT/seconds.tsv tells how
# long each took. Of the paper (Figure 1): `lower` is its Unigram_L, `cased` its Unigram, `not_normalised` its Unigram_N_N,
# with a space on both sides of every mark (section 3.3); `after` is `lower` with one behind it only (Figure 1).
set -euo pipefail
declare -A options=(
    [lower]="" [cased]="--cased" [not_normalised]="--mode none --cased" [after]="--punctuation after"
    [clinical]="--mode clinical" [moses]="--mode moses" [wordpiece]="--model wordpiece" [bpe]="--model bpe"
)
declare -A weights=([plain]="--alpha 1" [amplified]="")  # the latter are those of the mix
read -ra sizes <<<"${SIZES:-8000 16000 32000 40000}"
read -ra draws <<<"${DRAWS:-plain amplified}"
read -ra names <<<"${NAMES:-lower cased not_normalised after clinical moses wordpiece bpe}"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
raw=$(realpath "$1") general=$(realpath "$2") output=$3
shift 3
published=()
for folder in "$@"; do published+=("$(realpath "$folder")"); done
mkdir -p "$output" && cd "$output"
command -v fairseq-train >/dev/null || . "$root/recipes/environment.sh"  # one that is entered already is used
export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}

join() { local IFS=,; echo "$*"; }

# The HPO is no training text: its labels are terms that no tokenizer has seen as such. 5 % of the documents are held out,
# for 2 % of the cases would be 13.
core=pamj_cas_cliniques
if [ ! -e mixed ]; then
    python -m preprocess.ingest "$raw"/{$core,bdpm_notices,tico19_fr,mesconseilscovid}.txt \
        "$general/eltec_fra_romans.txt" --output documents
    python -m preprocess.clean documents --output clean
    python -m preprocess.deduplicate clean --output unique
    python -m preprocess.mix unique --output mixed --valid 0.05 --core $core
fi

# The terms of the sample, and 100 labels of the Human Phenotype Ontology of at most four words, from all over it.
python - "$raw/hpo_fr.txt" "$root/recipes/sample/terms.tsv" >terms.tsv <<'END_OF_PYTHON'
import sys
from pathlib import Path

from preprocess.documents.document import read_documents

labels = [document.lines[0].strip() for document in read_documents([Path(sys.argv[1])])]
labels = list(dict.fromkeys(label for label in labels if len(label.split()) <= 4 and "\t" not in label))
print(Path(sys.argv[2]).read_text(encoding="utf-8"), end="")
for label in labels[:: len(labels) // 100][:100]:
    print(f"{label}\tphenotype (HPO)")
END_OF_PYTHON

for size in "${sizes[@]}"; do
    for draw in "${draws[@]}"; do
        tokenizers=()
        for name in "${names[@]}"; do
            tokenizer=$draw/$size/$name
            tokenizers+=("$tokenizer")
            [ ! -e "$tokenizer" ] || continue
            mkdir -p "$draw/$size"
            begun=$SECONDS
            # shellcheck disable=SC2086
            python -m preprocess.train_tokenizer mixed --output "$tokenizer" --vocab-size "$size" --no-duplicates \
                ${weights[$draw]} ${options[$name]}
            printf '%s\t%s\t%s\t%s\n' "$draw" "$size" "$name" $((SECONDS - begun)) >>seconds.tsv
        done
        [ -e "studies/$draw-$size" ] || python -m preprocess.compare_tokenizers "${tokenizers[@]}" "${published[@]}" \
            --names "$(join "${names[@]}" "${published[@]##*/}")" --text mixed/valid --trained-on mixed \
            --terms terms.tsv --sentences "$root/recipes/sample/sentences.txt" --output "studies/$draw-$size"
    done
done
python "$root/tests/campaigns/tokenizer_study.py" studies --output summary
