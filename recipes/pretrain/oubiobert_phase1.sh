#!/usr/bin/env bash
# ouBioBERT (Wada et al. 2020, section 4.1), first phase: 65,536 sequences of 128 tokens per update. The paper used
# two Quadro RTX 8000 of 48 GB, and states no duration:
#   python -m alibert_fairseq.launch recipes/pretrain/oubiobert_phase1.sh --gpus-per-node 2
# 64 sequences per GPU x 2 GPUs x 512; on G GPUs give -- --update-freq $((1024 / G)). Then oubiobert_phase2.sh.
# Corpus (sections 2.2, 2.3): core and satellite in equal shares, one sentence per line; the weight is the ratio of their
# sizes (Table 2: 18 GB and 1.8): python -m preprocess.mix unique --core core
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
    --batch-size 64 --update-freq 512           # section 4.1: 65,536 on two GPUs
    --optimizer lamb                            # section 4.1: NVIDIA's implementation, apex FusedLAMB
    --lamb-betas 0.9,0.999 --lamb-eps 1e-6 --weight-decay 0.01 --lamb-max-grad-norm 1.0  # its defaults, NVIDIA's decay
    --lr 6e-3                                   # section 4.1
    --lr-scheduler nvidia --power 0.5           # "we followed the NVIDIA implementation": its `schedulers.py`
    --warmup-updates 2001                       # NVIDIA `pretrain_config.sh`: 0.2843 of the updates
    --total-num-update 7038 --max-update 7038   # section 4.1
    --seed 1                                    # not in the paper; any number serves
)
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
