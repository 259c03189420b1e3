#!/usr/bin/env bash
# The tokenizers of AliBERT's study on real text, at several sizes, compared on documents held out.
#
#     bash tests/campaigns/tokenizer_study.sh RAW GENERAL OUTPUT [TOKENIZER...]
#
# RAW: folder with bdpm_notices.txt, pamj_cas_cliniques.txt, tico19_fr.txt, mesconseilscovid.txt and hpo_fr.txt; GENERAL:
# folder with eltec_fra_romans.txt; OUTPUT: where everything goes. A TOKENIZER is the folder of a published one to compare
# with. SIZES="8000" trains one size instead of four. A second call reuses what is done. OUTPUT/study-SIZE/study.html is
# the report of a size, OUTPUT/study-sizes/study.html that of AliBERT's own tokenizer at all sizes.
#
# Of the paper (section 3.3, Figure 1): `lower` is its Unigram_L, `cased` its Unigram, `not_normalised` its Unigram_N_N.
set -euo pipefail
sizes=(${SIZES:-8000 16000 32000 40000})  # 40,000 is AliBERT's, 32,000 CamemBERT's
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
raw=$(realpath "$1") general=$(realpath "$2") output=$3
shift 3
published=()
for folder in "$@"; do published+=("$(realpath "$folder")"); done
mkdir -p "$output" && cd "$output"
. "$root/recipes/environment.sh"

declare -A options=(
    [lower]="" [cased]="--cased" [not_normalised]="--mode none --cased" [clinical]="--mode clinical" [moses]="--mode moses"
    [wordpiece]="--model wordpiece" [bpe]="--model bpe"
)
names=(lower cased not_normalised clinical moses wordpiece bpe)

join() { local IFS=,; echo "$*"; }

# Leaflets weigh less and cases more, so that the one does not drown the other. The HPO is left out: its labels are terms
# that no tokenizer has seen as such.
weights=(bdpm_notices=0.2 pamj_cas_cliniques=6 tico19_fr=4 mesconseilscovid=4 eltec_fra_romans=1)
if [ ! -e mixed ]; then
    parts=()
    for part in "${weights[@]}"; do
        name=${part%=*} text="$raw/${part%=*}.txt"
        [ -e "$text" ] || text="$general/$name.txt"
        parts+=("$text")
    done
    python -m preprocess.ingest "${parts[@]}" --output documents
    python -m preprocess.clean documents --output clean
    python -m preprocess.deduplicate clean --output unique
    python -m preprocess.mix unique --output mixed --valid 0.02 --weights "$(join "${weights[@]}")"
fi

# The terms of the sample, and 100 labels of the Human Phenotype Ontology of at most four words, from all over it.
python - "$raw/hpo_fr.txt" "$root/recipes/sample/terms.tsv" >terms.tsv <<'END'
import sys
from pathlib import Path

from preprocess.documents import read_documents

labels = [document.lines[0].strip() for document in read_documents([Path(sys.argv[1])])]
labels = list(dict.fromkeys(label for label in labels if len(label.split()) <= 4 and "\t" not in label))
print(Path(sys.argv[2]).read_text(encoding="utf-8"), end="")
for label in labels[:: len(labels) // 100][:100]:
    print(f"{label}\tphenotype (HPO)")
END

compare() {  # output, names, tokenizers
    python -m preprocess.compare_tokenizers "${@:3}" --names "$2" --text mixed/valid --terms terms.tsv \
        --sentences "$root/recipes/sample/sentences.txt" --output "$1"
}
for size in "${sizes[@]}"; do
    tokenizers=()
    for name in "${names[@]}"; do
        # shellcheck disable=SC2086
        [ -e "$name-$size" ] || python -m preprocess.train_tokenizer mixed --output "$name-$size" \
            --vocab-size "$size" --no-duplicates ${options[$name]}
        tokenizers+=("$name-$size")
    done
    compare "study-$size" "$(join "${names[@]}" "${published[@]##*/}")" "${tokenizers[@]}" "${published[@]}"
done
[ ${#sizes[@]} = 1 ] || compare study-sizes "$(join "${sizes[@]/#/lower-}")" "${sizes[@]/#/lower-}"
