#!/bin/sh
# A study in the parts of a job array, and a job that puts them together when all are there:
#
#   mkdir -p results
#   STUDY=data/studies/hmm-four-paths.toml VERB=solve OUT=results/hmm; export STUDY VERB OUT
#   array=$(sbatch --parsable --array=0-3 apps/cluster/array.sh)
#   sbatch --dependency=afterok:"$array" --wrap "headway merge $OUT-*.part.h5 -o $OUT.h5"
#
# The number of parts never changes a result. A part that was killed goes on from its checkpoints when it is put
# back: by Slurm itself after a node failed or was taken away (--requeue), or by
# `scontrol requeue JOB_INDEX`, or by submitting `--array=INDEX` alone with PARTS=4.
# Slurm then no longer starts the job that waited for all to succeed: merge by hand.
# OPTIONS may hold further options of the program, "--set model.temperature=0.1" say.
# PATH must have `headway` on the nodes; STUDY and OUT lie where all nodes see them.
#SBATCH --job-name=headway
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=2G
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
#SBATCH --output=headway-%A_%a.log
set -eu

verb=${VERB:-solve}
parts=${PARTS:-$SLURM_ARRAY_TASK_COUNT}
index=$SLURM_ARRAY_TASK_ID

# srun hands the early SIGTERM on to the program, which saves and stops. Exit code 2 says that the numbers are there but a
# point is not usable; merge says so again.
code=0
# shellcheck disable=SC2086  # options split into words
srun --ntasks=1 headway "$verb" "$STUDY" ${OPTIONS:-} --threads "${SLURM_CPUS_PER_TASK:-1}" --shard "$index/$parts" \
  -o "$OUT-$index.part.h5" --quiet || code=$?
if [ "$code" -eq 130 ]; then # time is nearly over, or the node is wanted: the same command goes on later
  scontrol requeue "${SLURM_ARRAY_JOB_ID}_$index"
  exit 0
fi
[ "$code" -eq 2 ] || exit "$code"
