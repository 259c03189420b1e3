# What differs from one computing centre to another. Copy this file, change the copy, and name it:
#   export CENTRE=my-centre.bash
# The scripts of this folder source it on the login node; Slurm carries the environment to the nodes.

# Only if your GPUs ask for it: torch brings its own CUDA, and Python is the environment's.
# module purge; module load cuda/12.4

# Folders that all nodes see: what is kept, and what may be deleted after some weeks but is read faster.
work=${WORK:-$PWD}
scratch=${SCRATCH:-$work}

# Nodes without internet: a name that is not here fails at once, instead of after a minute of silence on every rank.
export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1
export HF_HOME="${HF_HOME:-$work/huggingface}"  # filled on the login node: HF_HUB_OFFLINE=0 hf download almanach/camembert-base

# The network between the nodes: torch.distributed neither authenticates nor encrypts (docs/howto/cluster.md, Security).
# export NCCL_SOCKET_IFNAME=ib0 GLOO_SOCKET_IFNAME=ib0

# What a job of pretraining reserves; `python -m alibert_fairseq.launch --help` has the options.
reservation=(
    --gpus-per-node 4
    --cpus-per-process 10        # a quarter of a node of 40 cores: a data loader's workers and its GPU's process
    --time 20:00:00              # AliBERT's; a job that comes to its limit is started again
    # --partition a100 --account abc@a100 --sbatch qos=long --sbatch hint=nomultithread  # or h100: the default torch
    #   has no kernels for a V100 (sm_70), which has no bfloat16 either
)
one_gpu=(--gpus-per-node=1 --cpus-per-task=10 --time=04:00:00)  # what evaluate.sh reserves, in sbatch's options
