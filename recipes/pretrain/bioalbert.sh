#!/usr/bin/env bash
# BioALBERT (Naseem et al. 2022), one of the eight models of its Table 4. VARIANT names it:
#   VARIANT=base1 python -m alibert_fairseq.launch recipes/pretrain/bioalbert.sh --gpus-per-node 8
# The paper trained on a TPU v3-8. On 8 GPUs the sequences of one GPU x 8 x --update-freq are its 1,024 (base) or 256
# (large); on G GPUs give -- --update-freq such that the product is the same.
# The paper starts from ALBERT's weights: set FROM to the folder that alibert_fairseq.hf.load makes of them, and use a
# data-bin of their tokenizer. Without FROM the weights are random and the vocabulary is your own:
# Vocabulary (Table 3: 30k, SentencePiece; lower case): python -m preprocess.train_tokenizer --vocab-size 30000
# Text (Methods): one sentence per line, without blank lines and lines of fewer than 20 characters.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

# Table 4: size, updates, corpora; Table 8: days; "Pre-training BioALBERT": batch, here one GPU's x --update-freq
variants="
base1   base   200000  32 x 4   3.00 days  Wikipedia, BooksCorpus, PubMed
base2   base   470000  32 x 4   4.08 days  Wikipedia, BooksCorpus, PubMed, PMC
large1  large  200000  16 x 2   2.83 days  Wikipedia, BooksCorpus, PubMed
large2  large  470000  16 x 2   3.88 days  Wikipedia, BooksCorpus, PubMed, PMC
base3   base   200000  32 x 4   4.02 days  Wikipedia, BooksCorpus, PubMed, MIMIC-III
base4   base   200000  32 x 4   4.45 days  Wikipedia, BooksCorpus, PubMed, PMC, MIMIC-III
large3  large  270000  16 x 2   4.62 days  Wikipedia, BooksCorpus, PubMed, MIMIC-III
large4  large  270000  16 x 2   4.67 days  Wikipedia, BooksCorpus, PubMed, PMC, MIMIC-III"
read -r _ size updates batch _ update_freq _ < <(grep "^${VARIANT:-none} " <<<"$variants") ||
    refuse "VARIANT=${VARIANT:-} is none of these; set it to one.$variants"
case $size in
    base) lr=8.8e-4 layers=12 ;;   # not in the paper; ALBERT's 1.76e-3 at batch 4,096 by the square root (You et al.),
    large) lr=4.4e-4 layers=24 ;;  # at 1,024 and 256
esac

options=(
    --task segment_pairs --criterion segment_pairs --sentence-objective sop  # "ALBERT": sentence order prediction
    --arch "albert_$size"                       # Table 3; its embeddings are 128 wide in both sizes, see docs/reference/papers.md
    --mask-prob 0.15 --mask-unit ngram          # not in the paper; google-research/albert
    --max-predictions 20                        # Table 3; of 512 tokens they are 3.9 %, where --mask-prob asks for 77
    --tokens-per-sample 512                     # Table 3
    --batch-size "$batch" --update-freq "$update_freq"
    --optimizer lamb --lamb-no-bias-correction  # Table 3; google-research/albert `lamb_optimizer.py`
    --lamb-betas 0.9,0.999 --lamb-eps 1e-6 --weight-decay 0.01 --clip-norm 1.0  # its `optimization.py`
    --lr "$lr" --lr-scheduler bert              # the schedule of google-research/albert `optimization.py`
    --warmup-updates 3125                       # Table 3
    --total-num-update "$updates" --max-update "$updates"
    --seed 1                                    # not in the paper; any number serves
)
if [ -n "${FROM:-}" ]; then
    start_from "$FROM" "the folder that alibert_fairseq.hf.load made of ALBERT's weights"
    case " ${options[*]} " in  # the sizes that hf.load wrote come after those of VARIANT
        *" --encoder-layers $layers "*) ;;
        *" --encoder-layers "*)
            [ -n "$toy" ] ||
                refuse "FROM=$FROM: not an ALBERT-$size of $layers layers; set it to one, or VARIANT to its size." ;;
    esac
fi
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
