#!/bin/sh
# A study over the ranks of one job, dealt unit by unit as ranks become free; the first rank writes and prints:
#
#   STUDY=data/studies/hmm-four-paths.toml OUT=results/hmm.h5 sbatch --ntasks=16 apps/cluster/mpi.sh
#
# What is finished lies in $OUT.checkpoint/: after a rank or a node has died the job is put back and goes on from there.
# With VERB=train and train.micro_batches in the study the ranks take every step of a run together.
# A script in Python that calls headway.solve, sample or train is run in the same way: mpirun ... python3 and its name.
# The program must have been built with MPI (libopenmpi-dev openmpi-bin, or the cluster's own OpenMPI module).
#SBATCH --job-name=headway-mpi
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=2G
#SBATCH --time=04:00:00
#SBATCH --output=headway-%j.log
set -eu

verb=${VERB:-solve}
# shellcheck disable=SC2086  # options split into words
mpirun ${MPIRUN_OPTIONS:-} -n "$SLURM_NTASKS" headway "$verb" "$STUDY" ${OPTIONS:-} \
  --threads "${SLURM_CPUS_PER_TASK:-1}" -o "$OUT"
