#!/usr/bin/env bash
# The baseline of ouBioBERT that continues a general BERT on the small medical corpus alone (Wada et al. 2020,
# sections 2.3 and 4.1: BERT (W + BC/ sP) and (jpW/ jpCR)): 2,048 sequences of 128 tokens per update. FROM is the folder
# that alibert_fairseq.hf.load makes of BERT-Base, DATA_BIN the data-bin of its tokenizer. On the paper's two GPUs:
#   python -m alibert_fairseq.launch recipes/pretrain/oubiobert_continual.sh --gpus-per-node 2
# 64 sequences per GPU x 2 GPUs x 16; on G GPUs give -- --update-freq $((32 / G)). The paper states no duration.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shared.bash"

options=(
    --task segment_pairs --criterion segment_pairs --sentence-objective nsp  # section 2.1.1
    --arch segment_bert_base                    # section 4.1: "initialized from BERT (W + BC: BaseVocab)"
    --mask-prob 0.15                            # section 2.1.1: 15 %
    --leave-unmasked-prob 0.1 --random-token-prob 0.1  # section 2.1.1: of them 80 % masked, 10 % random, 10 % the same
    --tokens-per-sample 128                     # section 4.1 refers to a model without stating it: as the others
    --batch-size 64 --update-freq 16            # the same: 2,048 on two GPUs
    --optimizer lamb                            # section 4.1: NVIDIA's implementation, apex FusedLAMB
    --lamb-betas 0.9,0.999 --lamb-eps 1e-6 --weight-decay 0.01 --lamb-max-grad-norm 1.0  # its defaults, NVIDIA's decay
    --lr 1e-4                                   # section 4.1
    --lr-scheduler nvidia --power 0.5           # section 4.1: NVIDIA's implementation, its `schedulers.py`
    --warmup-updates 250                        # not in the paper; 1 %, as BERT's 10,000 of 1M and NVIDIA's default
    --total-num-update 25000 --max-update 25000  # section 4.1, of the English one; the Japanese one "until the loss ...
                                                # stopped decreasing"
    --seed 1                                    # not in the paper; any number serves
)
start_from "${FROM:-}" "the folder that alibert_fairseq.hf.load made of a BERT"
complete_options
fairseq-train "$DATA_BIN" --save-dir "$SAVE_DIR" "${options[@]}" "$@"
