#!/usr/bin/env bash
# Run every step in one command: from raw French clinical text to a scored Hugging Face model.
usage="usage: bash recipes/quickstart.sh [options]     or: alibert quickstart [options]

  --corpus PATH       text to pretrain on: a file (.txt with a blank line between documents, or another format with its
                      usual ending), a folder, or the output of \`alibert ingest\`; repeatable
                      (default: the sample without its test documents)
  --ner PATH          annotations in the format of the recipe (default: the sample's, in brat format)
  --recipe FILE       fine-tuning recipe, for other entity types or formats (default: finetune/sample.yaml)
  --objective NAME    mlm (masked language modelling, the default) or electra (replaced token detection, which needs
                      more text than the sample)
  --vocab-size N      pieces of the vocabulary (default 3000, for the sample; AliBERT has 40000)
  --updates N         pretraining updates of 2,048 tokens (default 800)
  --output DIR        output folder (default: runs/quickstart-NAME in the project, or here with an installed wheel)

The same command resumes a stopped run and reuses what is finished."
set -euo pipefail

recipes=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sample=$recipes/sample
corpus=() ner=$sample/brat recipe=$recipes/finetune/sample.yaml objective=mlm vocab=3000 updates=800 output=
die() { echo "error: $*" >&2; exit 2; }
absolute() {
    [ -e "$1" ] || die "$1: no such file or directory; check the path."
    if [ -d "$1" ]; then (CDPATH= cd -- "$1" && pwd); else echo "$(CDPATH= cd -- "$(dirname "$1")" && pwd)/$(basename "$1")"; fi
}
number() { [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1 $2: give a whole number above 0."; echo "$2"; }
while [ $# -gt 0 ]; do
    case $1 in
        --help|-h) echo "$usage"; exit 0 ;;
        --corpus|--ner|--recipe|--objective|--vocab-size|--updates|--output) [ $# -ge 2 ] || die "$1 needs a value." ;;
        *) die "$1: unknown option; --help lists the options." ;;
    esac
    case $1 in
        --corpus) path=$(absolute "$2"); corpus+=("$path") ;;
        --ner) ner=$(absolute "$2") ;;
        --recipe) recipe=$(absolute "$2") ;;
        --objective) objective=$2 ;;
        --vocab-size) vocab=$(number "$1" "$2") ;;
        --updates) updates=$(number "$1" "$2") ;;
        --output) mkdir -p "$2"; output=$(absolute "$2") ;;
    esac
    shift 2
done
case $objective in
    mlm) pretraining=(tiny_modern.sh --batch-size 16 --warmup-updates "$((updates > 20 ? 20 : updates - 1))") ;;  # 2,048 tokens: the sample is small
    electra) pretraining=(tiny_electra.sh) ;;
    *) die "--objective $objective: choose electra or mlm." ;;
esac
[ ${#corpus[@]} -gt 0 ] || corpus=("$sample/text" "$sample/brat/train" "$sample/brat/dev")  # without the test documents
project=$(dirname "$recipes")
[ -f "$project/setup.py" ] || project=$PWD  # the recipes of a wheel
output=${output:-$project/runs/quickstart-$objective}
for path in "${corpus[@]}"; do
    case $output/documents/ in "$path"/*) die "$output: the output lies inside the corpus $path; give another --output." ;; esac
done

begin=$SECONDS
. "$recipes/environment.sh"
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=true
mkdir -p "$output"
cd "$output"

# stage NAME RESULT SETTINGS COMMAND...: run the command unless its result exists. After RESULT, other files may be named
# that an unfinished run leaves. settings/NAME holds the settings, and a checksum of them and of all earlier ones.
everything=(mixed tokenizer data-bin pretrained checkpoints model masked_words ner ner-tagger ner-random)  # in the order in which they are made
chain=
stage() {
    local name=$1 results=($2) settings=$3 note="settings/${1// /_}" start=$SECONDS file before now
    shift 3
    chain=$(echo "$chain, $settings" | cksum)
    now="$settings"$'\n'"$chain"
    before=$(cat "$note" 2>/dev/null || :)
    for file in "${results[@]}"; do
        [ ! -e "$file" ] || [ "$before" = "$now" ] || refuse_to_reuse "$file" "${before%$'\n'*}"
    done
    if [ -e "${results[0]}" ]; then echo "== $name: finished before"; return; fi
    mkdir -p settings
    echo "$now" >"$note"
    echo "== $name"
    "$@"
    echo "== $name: $((SECONDS - start)) s"
}
refuse_to_reuse() {  # RESULT SETTINGS: name also everything that was made from it
    local folder outdated=()
    for folder in "${everything[@]}"; do
        if [ "$folder" = "${1%%/*}" ] || [ ${#outdated[@]} -gt 0 ]; then [ ! -e "$folder" ] || outdated+=("$folder"); fi
    done
    die "$output/$1 was made with other settings or of other files${2:+ ($2)}; give another --output, or remove the" \
        "outdated folders: cd $(printf %q "$output") && rm -r ${outdated[*]}"
}
checksum() {  # print a checksum of the names and contents of the texts
    LC_ALL=C find -L "${corpus[@]}" -type f ! -name "*.ann" -exec cksum {} + | LC_ALL=C sort | cksum
}
not_read() {
    [ "$1" = 2 ] || exit "$1"
    die "the corpus was not read; if it needs options (--encoding, --text-field), run \`alibert ingest\` yourself," \
        "and give its output folder as --corpus."
}
documents() {
    python -m preprocess.ingest "${corpus[@]}" --output documents --source corpus || not_read $?
    python -m preprocess.clean documents --output clean
    python -m preprocess.deduplicate clean --output unique
    python -m preprocess.mix unique --output mixed --valid 0.05
}
pretrain() {
    DATA_BIN=$output/data-bin SAVE_DIR=$output/checkpoints bash "$recipes/pretrain/${pretraining[0]}" \
        --distributed-world-size 1 --max-update "$updates" --total-num-update "$updates" "${pretraining[@]:1}"
    touch pretrained
}

echo "== annotations"  # first, so that a wrong type or offset is found within seconds
annotated=$(python -m downstream.finetune "$recipe" --data "$ner" --check)
echo "$annotated"
annotated="$ner, $recipe, ${annotated##*$'\n'}"  # the last line has their SHA-256
texts=$(checksum 2>&1) || die "${corpus[*]}: some files cannot be read; check the permissions ($texts)."
stage "documents" mixed "${corpus[*]}, checksum $texts" documents
stage "tokenizer" tokenizer "$vocab pieces" \
    python -m preprocess.train_tokenizer mixed --output tokenizer --vocab-size "$vocab"
stage "data-bin" data-bin "" python -m preprocess.binarize --tokenizer tokenizer --mix mixed --output data-bin
stage "pretraining" "pretrained checkpoints" "${pretraining[0]}, $updates updates" pretrain
stage "Hugging Face model" model "" python -m alibert_fairseq.hf.export \
    --checkpoint checkpoints/checkpoint_last.pt --tokenizer tokenizer --output model
stage "masked words" masked_words "" python -m downstream.masked_words \
    --model model --sentences "$sample/masked.txt" --output masked_words
finetune=(python -m downstream.finetune "$recipe" --data "$ner" --model model --protocol quickstart)
stage "named entities" "ner/metrics.json ner" "$annotated" "${finetune[@]}" --output ner
stage "named entities, tagger" "ner-tagger/metrics.json ner-tagger" "$annotated" python -m downstream.finetune "$recipe" \
    --data "$ner" --model model --form tagger --protocol tagger --seeds 1 --output ner-tagger
stage "named entities, random weights" "ner-random/metrics.json ner-random" "$annotated" \
    "${finetune[@]}" --random-init --output ner-random
echo
python -m downstream.report ner ner-tagger ner-random masked_words --output report
cat <<END

The results are in $output:
  tokenizer/     tokenizer.json, dict.txt        data-bin/      input of fairseq-train
  checkpoints/   fairseq checkpoints             model/         the Hugging Face model
  masked_words*  predictions for masked words    ner/           scores, figures, the fine-tuned model (ner/model)
  ner-tagger/    the same of the tagger, the stronger form
  report/        report.html: the scores above, their intervals, errors, data, contamination
Total time: $((SECONDS - begin)) s.
END
