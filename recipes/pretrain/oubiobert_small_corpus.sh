#!/usr/bin/env bash
# ouBioBERT's method on a small medical corpus mixed with general text (Wada et al. 2020, sections 2.3 and 4.1: BERT (prop sP
# + W + BC) and (prop jpCR + jpW)): 2,048 sequences of 128 tokens per update. On the paper's two GPUs:
#   python -m alibert_fairseq.launch recipes/pretrain/oubiobert_small_corpus.sh --gpus-per-node 2
# 64 sequences per GPU x 2 GPUs x 16; on G GPUs give -- --update-freq $((32 / G)). The paper states no duration.
# Corpus: the small one and the general one in equal shares; sP has 0.2 GB, W and BC have 18 (Table 2):
#   python -m preprocess.mix unique --core small --output mixed
# The baselines BERT (sP) and (jpCR) are this recipe on the small corpus alone.
# Vocabulary (section 4.1: 32K, uncased), of the same mix: python -m preprocess.train_tokenizer mixed --vocab-size 32000 \
#   --model wordpiece
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --task segment_pairs --criterion segment_pairs --sentence-objective nsp  # section 2.1.1
    --arch segment_bert_base                    # section 2: "essentially ... the same structures as that of BERT-Base"
    --mask-prob 0.15                            # section 2.1.1: 15 %
    --leave-unmasked-prob 0.1 --random-token-prob 0.1  # section 2.1.1: of them 80 % masked, 10 % random, 10 % the same
    --tokens-per-sample 128                     # section 4.1
    --batch-size 64 --update-freq 16            # section 4.1: 2,048 on two GPUs
    --optimizer lamb                            # section 4.1: NVIDIA's implementation, apex FusedLAMB
    --lamb-betas 0.9,0.999 --lamb-eps 1e-6 --weight-decay 0.01 --lamb-max-grad-norm 1.0  # its defaults, NVIDIA's decay
    --lr 7e-4                                   # section 4.1
    --lr-scheduler nvidia --power 0.5           # section 4.1: NVIDIA's implementation, its `schedulers.py`
    --warmup-updates 1250                       # not in the paper; 1 %, as BERT's 10,000 of 1M and NVIDIA's default
    --total-num-update 125000 --max-update 125000  # section 4.1
    --seed 1                                    # not in the paper; any number serves
)
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
