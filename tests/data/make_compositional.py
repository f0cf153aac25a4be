"""Writes golden/compositional.h5: kernel ridge regression on the tasks of Lippl and Stachenfeld (arXiv 2405.16391).

    git clone https://github.com/sflippl/compositional-generalization && git -C compositional-generalization checkout 20de90e7
    python3 make_compositional.py compositional-generalization golden/compositional.h5

Tasks, splits and the kernel, which is a function of which components two inputs share, are theirs: configs cdm-kernel-1 and
cdm-kernel-3 (context dependence) and addition-kernel-dispersed-2. The regression is scikit-learn's. Each group has `components`,
`labels`, `train` (1 for training), `similarity` (a row for each pattern of shared components: the pattern, then the kernel), and
`mean` on all inputs; the attribute T is the ridge. Needs numpy, pandas, omegaconf, h5py and scikit-learn.
"""

import sys
import types

import h5py
import numpy as np
from sklearn.kernel_ridge import KernelRidge

RIDGE = 1e-3
CONTEXT = {"contexts": 2, "features": [6, 6], "context_to_feature": [0, 1], "feature_to_response": [[-1] * 3 + [1] * 3] * 2}
LEFT_OUT = {1: [{1: [0, 1, 2], 2: [3, 4, 5]}], 3: [{1: [0], 2: [3]}]}


def module(folder, name):
    """One module of theirs, without packages that only their command line needs."""
    for missing in ("hydra", "tqdm"):
        sys.modules.setdefault(missing, types.ModuleType(missing))
    sys.modules["tqdm"].tqdm = iter
    sys.modules.setdefault("simple_compositional_tasks.analysis.analysis_formats", types.SimpleNamespace(CSVDataFrame=dict))
    sys.path.insert(0, folder)
    return __import__(f"simple_compositional_tasks.{name}", fromlist=["."])


def main():
    folder, out = sys.argv[1:]
    machines = module(folder, "models.kernel_machines")
    context, addition = module(folder, "tasks.context_dependence"), module(folder, "tasks.addition")
    with h5py.File(out, "w") as file:
        for number, left_out in LEFT_OUT.items():
            task = context.ContextDependence(**CONTEXT, leftout_conjunctions=left_out)
            for one, two in ((0.2, 0.4), (0.1, 0.35)):  # the kernel of inputs that share one and two components
                write(file, f"context_{number}_{two}", machines, task, {0: 0.0, 1: one, 2: two, 3: 1.0}, [2, 6, 6])
        for seed in (1, 2):
            settings = types.SimpleNamespace(task_values=[list(range(-4, 5))] * 2, training_selection="dispersed",
                                             n_training_instances=3, instances_seed=seed)
            task = addition.Addition(values=settings.task_values, cfg=settings)
            write(file, f"addition_{seed}", machines, task, {0: 0.0, 1: 0.3, 2: 1.0}, [9, 9])


def write(file, name, machines, task, sims, components):
    sims = machines.complete_sims(sims, components)
    assert machines.is_pos_def(machines.kernel(task.x, task.x, sims))
    train = (task.df["split"] == "train").to_numpy()
    model = KernelRidge(alpha=RIDGE, kernel="precomputed")
    model.fit(machines.kernel(task.x[train], task.x[train], sims), task.y[train])
    group = file.create_group(name)
    group.attrs["T"] = RIDGE
    group["components"], group["labels"], group["train"] = task.x, task.y, train.astype(int)
    group["similarity"] = np.array([[*pattern, value] for pattern, value in sims.items()])
    group["mean"] = model.predict(machines.kernel(task.x, task.x[train], sims))


if __name__ == "__main__":
    main()
