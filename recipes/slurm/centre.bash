# Settings that differ between computing centres. Copy this file, edit the copy, and name it:
#   export CENTRE=my-centre.bash
# The scripts of this folder source it on the login node; Slurm carries the environment to the nodes.

# Only if your GPUs need it: torch has its own CUDA, and Python comes from the environment.
# module purge; module load cuda/12.4

# Folders that all nodes see: `work` is kept, `scratch` is faster but may be deleted after some weeks.
work=${WORK:-$PWD}
scratch=${SCRATCH:-$work}

# For nodes without internet: a model that is not in the cache fails at once, not after a minute on every rank.
export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1
export HF_HOME="${HF_HOME:-$work/huggingface}"  # filled on the login node: HF_HUB_OFFLINE=0 hf download almanach/camembert-base

# The network between the nodes: torch.distributed neither authenticates nor encrypts (docs/howto/cluster.md, Security).
# export NCCL_SOCKET_IFNAME=ib0 GLOO_SOCKET_IFNAME=ib0

# What a job of pretraining reserves; `python -m alibert_fairseq.launch --help` has the options.
reservation=(
    --gpus-per-node 4
    --cpus-per-process 10        # a quarter of a node of 40 cores: the process of a GPU and its data loader workers
    --time 20:00:00              # AliBERT's; a job that reaches its time limit is restarted
    # --partition a100 --account abc@a100 --sbatch qos=long --sbatch hint=nomultithread  # or h100: the default torch
    #   has no kernels for a V100 (sm_70), which has no bfloat16 either
)
one_gpu=(--gpus-per-node=1 --cpus-per-task=10 --time=04:00:00)  # what evaluate.sh reserves, in sbatch's options
