#!/bin/sh
# The runs of a training study ([sweep]: variants, seeds, ...) on one GPU for each part of a job array:
#
#   mkdir -p results
#   STUDY=data/studies/sraven-reference.toml OUT=results/sraven; export STUDY OUT
#   array=$(sbatch --parsable --array=0-7 apps/cluster/gpu-array.sh)
#   sbatch --dependency=afterok:"$array" --wrap "headway merge $OUT-*.part.h5 -o $OUT.h5"
#
# JOBS runs share the GPU of a part at a time. Needs a build with a LibTorch that has CUDA (make build TORCH=auto).
# DEVICE=cpu, submitted with --gpus-per-task=0, trains on processors.
#SBATCH --job-name=headway-train
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=4G
#SBATCH --time=12:00:00
#SBATCH --signal=TERM@300
#SBATCH --output=headway-train-%A_%a.log
set -eu

parts=${PARTS:-$SLURM_ARRAY_TASK_COUNT}
index=$SLURM_ARRAY_TASK_ID

code=0
srun --ntasks=1 headway train "$STUDY" --set "train.device=${DEVICE:-cuda}" --jobs "${JOBS:-1}" \
  --threads "${SLURM_CPUS_PER_TASK:-1}" --shard "$index/$parts" -o "$OUT-$index.part.h5" --quiet || code=$?
if [ "$code" -eq 130 ]; then # checkpoints are written: the same command goes on later
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$index"
  exit 0
fi
[ "$code" -eq 2 ] || exit "$code"
