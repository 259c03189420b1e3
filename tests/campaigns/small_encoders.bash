# Small encoders that differ in one thing, trained alike and scored: what oubiobert_ablation.sh and text_rules.sh share.
#
# Source it with OUTPUT DATA [CONDITION SEED], set `corpora` (NAME=WEIGHT, or names with a `core`) and `conditions` (in
# the order of the table), define `prepare`, `data_bin_of` and `options_of`, then call `campaign`. DATA is a folder with
# fr_raw/NAME.txt, fr_general/NAME.txt and fr_ner/quaero (train, dev, test). A run is a condition and a seed; it leaves in
# OUTPUT/CONDITION-SEED a log, the model, masked_words, emea and medline, each made once: a call goes on where the last
# one was stopped, a training from its last checkpoint. The run `random` fine-tunes random weights with three seeds.
#
#   JOBS=1            runs at a time, a core each (default 2); kill -USR1 the xargs of a campaign adds one
#   UPDATES=1500      of each training (default 1500: 6.1 million tokens, two thirds of them after the plateau)
#   WORDS=3000        masked words to guess (default 3000)
#   SEEDS="1 2 3"     (default "1 2 3")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
updates=${UPDATES:-1500} words=${WORDS:-3000} seeds=(${SEEDS:-1 2 3})
settings="UPDATES=$updates WORDS=$words"

refuse() { echo "error: $1" >&2; exit 2; }

enter() {  # OUTPUT DATA [CONDITION SEED]
    [ $# = 2 ] || [ $# = 4 ] || refuse "give OUTPUT DATA, and CONDITION SEED for a single run."
    data=$(realpath "$2") only=("${@:3}")
    mkdir -p "$1" && cd "$1"
    command -v fairseq-train >/dev/null || . "$root/recipes/environment.sh"  # one that is entered already is used
    export PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH} HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1
    # glibc gives the large blocks of every batch back to the system and fetches them anew: up to a third of the time.
    export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_TOP_PAD_=268435456
}

join() { local IFS=,; echo "$*"; }

mix_documents() {  # WEIGHING...: the options of preprocess.mix; documents held out are the same whatever they say
    local name texts=()
    [ ! -e mixed ] || return 0
    for name in "${corpora[@]%=*}"; do
        texts+=("$data"/fr_*/"$name.txt")
    done
    python -m preprocess.ingest "${texts[@]}" --output documents
    python -m preprocess.clean documents --output clean
    python -m preprocess.deduplicate clean --output unique
    python -m preprocess.mix unique --output mixed --valid 0.05 "$@"
}

mask_words() {  # of the held-out cases, drawn before there is any tokenizer
    [ -e sentences.txt ] || python "$root/tests/campaigns/masked_sentences.py" mixed/valid --source pamj_cas_cliniques \
        --words "$words" --output sentences.txt
}

data_bin() {  # NAME, options of train_tokenizer...: tokenizer-NAME and data-bin-NAME
    [ -e "tokenizer-$1" ] || python -m preprocess.train_tokenizer mixed --output "tokenizer-$1" \
        --vocab-size 8000 --no-duplicates "${@:2}"
    [ -e "data-bin-$1" ] || python -m preprocess.binarize --tokenizer "tokenizer-$1" --mix mixed --output "data-bin-$1"
}

# lamb_adam.sh's masked language modelling by LAMB, with batches and a learning rate of half the size: at 2e-2 a training in
# two stayed on the plateau of word frequencies for 1,000 updates, at 1e-2 all left it at some 400.
pretrain() {  # CONDITION SEED
    local options
    read -ra options <<<"$(options_of "$1")"
    fairseq-train "data-bin-$(data_bin_of "$1")" --save-dir "$1-$2/checkpoints" --user-dir "$root/alibert_fairseq" \
        --task alibert_mlm --criterion alibert_mlm --arch alibert_tiny --mask-prob 0.3 \
        --tokens-per-sample 32 --batch-size 64 --update-freq 2 \
        --max-positions 128 --position-init sinusoidal --dropout 0 --attention-dropout 0 \
        --optimizer lamb --lamb-betas 0.9,0.98 --lamb-max-grad-norm 1.0 --lr 1e-2 --weight-decay 0.01 \
        --lr-scheduler polynomial_decay --warmup-updates 50 --total-num-update "$updates" --max-update "$updates" \
        --tokenizer alibert_normalizer --bpe alibert_subwords --seed "$2" --num-workers 0 --data-buffer-size 0 \
        --disable-validation --save-interval-updates 50 --keep-interval-updates 1 --no-epoch-checkpoints \
        --log-format simple --log-interval 50 "${options[@]}"
}

finetune() {  # FOLDER PART options...: the part of QUAERO, as the folder's emea or medline
    [ -e "$1/$2/metrics.json" ] || python -m downstream.finetune "$root/recipes/finetune/quaero_$2.yaml" \
        --data "$data/fr_ner/quaero" --output "$1/$2" "${@:3}"
}

run() {  # CONDITION SEED
    local folder=$1-$2 part
    mkdir -p "$folder"
    if [ "$1" = random ]; then
        for part in emea medline; do finetune "$folder" $part --model "${conditions[0]}-$2/model" --random-init; done
        return  # the size and the tokenizer are that model's
    fi
    if [ ! -e "$folder/model" ]; then
        pretrain "$1" "$2"
        python -m alibert_fairseq.hf.export --checkpoint "$folder/checkpoints/checkpoint_last.pt" \
            --tokenizer "tokenizer-$(data_bin_of "$1")" --output "$folder/model"
    fi
    [ -e "$folder/masked_words/masked_words.md" ] || python -m downstream.masked_words --model "$folder/model" \
        --sentences sentences.txt --top 1 --output "$folder/masked_words" >/dev/null
    for part in emea medline; do finetune "$folder" $part --model "$folder/model" --seeds 1; done
}

plan() {  # the runs in their order: a whole table of the first seed, then of the others
    local seed condition
    for seed in "${seeds[@]}"; do
        for condition in "${conditions[@]}"; do echo "$condition $seed"; done
    done
}

campaign() {
    local self
    self=$root/tests/campaigns/$(basename "$0")
    if [ ${#only[@]} = 2 ]; then
        mkdir -p "${only[0]}-${only[1]}"
        exec 3>&1 >>"${only[0]}-${only[1]}/log" 2>&1
        trap '[ $? = 0 ] && echo "$(date +%T) done: ${only[*]}" >&3 || echo "$(date +%T) failed: ${only[*]}" >&3' EXIT
        run "${only[@]}"
        return
    fi
    exec 9>lock  # held by the runs, too
    flock -n 9 || refuse "a campaign is running in $PWD; wait for it, or stop its process group."
    settings+=" ${corpora[*]} $(cksum <"$self")"
    [ -e settings ] || echo "$settings" >settings
    [ "$(<settings)" = "$settings" ] || refuse "$PWD has runs with $(<settings); give the same, or another OUTPUT."
    prepare
    local failed=0
    plan | xargs -P "${JOBS:-2}" -L 1 bash "$self" "$PWD" "$data" || failed=1
    [ $failed = 1 ] || bash "$self" "$PWD" "$data" random "${seeds[0]}" || failed=1  # when there is a model of its size
    python "$root/tests/campaigns/small_encoders_table.py" "$PWD"
    [ $failed = 0 ] || refuse "some runs failed; see their logs."
}
