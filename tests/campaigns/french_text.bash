# The text of docs/results/french_sets.md, sourced by the campaigns that train on it. It reads $root and $data.

export HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 PYTHONPATH=$root${PYTHONPATH:+:$PYTHONPATH}
# glibc gives the large blocks of every batch back to the system and fetches them anew: up to a third of the time.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_TOP_PAD_=268435456

# Leaflets weigh less and cases more, so that the one does not drown the other: 29 MB.
weights=(bdpm_notices=0.2 pamj_cas_cliniques=6 tico19_fr=4 mesconseilscovid=4 hpo_fr=3)
texts=()
for part in "${weights[@]}"; do
    texts+=("$data/fr_raw/${part%=*}.txt")
done

make_data_bin() {  # in the working directory, unless it is there
    [ ! -e data-bin ] || return 0
    python -m preprocess.ingest "${texts[@]}" --output documents
    python -m preprocess.clean documents --output clean
    python -m preprocess.deduplicate clean --output unique
    python -m preprocess.mix unique --output mixed --valid 0.01 --weights "$(IFS=,; echo "${weights[*]}")"
    python -m preprocess.train_tokenizer mixed --output tokenizer --vocab-size 8000
    python -m preprocess.binarize --tokenizer tokenizer --mix mixed --output data-bin
}
