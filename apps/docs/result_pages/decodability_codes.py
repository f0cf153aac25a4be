"""What is measured on the codes of training tasks alone: how well their labels can be decoded, and how alike the codes of one
label are.

`headway latents` decodes held-out tasks. Here decoders see some of the training tasks and are asked about the others, so that
no held-out task has a say. The decoders are those of src/training/README.md, eq. 22, with two classes: is the label there or
not? Both classes weigh the same, and codes are standardised on the tasks of the fit.
"""

import numpy as np

FOLDS = 5
PENALTY = 0.01
NEWTON_STEPS = 8  # the loss changes in its seventh digit or later by then
FOLDS_SEED = 1


def task_folds(tasks):
    """The fold of each example. Tasks are dealt out in turn, in one fixed random order."""
    numbers, of_example = np.unique(tasks, return_inverse=True)
    folds = np.empty(len(numbers), dtype=int)
    folds[np.random.RandomState(FOLDS_SEED).permutation(len(numbers))] = np.arange(len(numbers)) % FOLDS
    return folds[of_example]


def standardised(fitted, others):
    """Both with the mean and the deviation of `fitted`; columns that do not vary there are 0."""
    mean, deviation = fitted.mean(axis=0), fitted.std(axis=0)
    scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 1e-6 * np.abs(mean) + 1e-12)
    return (fitted - mean) * scale, (others - mean) * scale


def logistic_scores(codes, there, others):
    """Scores of `others`, above 0 where the label is more likely there. `there` is a bool for each code. Newton's method."""
    if there.all() or not there.any():
        return np.full(len(others), 1.0 if there.all() else -1.0)
    x = np.column_stack([codes, np.ones(len(codes))])
    weights = np.where(there, 0.5 / there.sum(), 0.5 / (~there).sum())
    penalty = np.append(np.full(codes.shape[1], PENALTY), 1e-9)
    found = np.zeros(x.shape[1])
    for _ in range(NEWTON_STEPS):
        likely = 1.0 / (1.0 + np.exp(-x @ found))
        gradient = x.T @ (weights * (likely - there)) + penalty * found
        curvature = (x * (weights * likely * (1.0 - likely))[:, None]).T @ x + np.diag(penalty)
        found -= np.linalg.solve(curvature, gradient)
    return np.column_stack([others, np.ones(len(others))]) @ found


def scores_of_unseen(codes, tasks, labels):
    """Scores of each label on each code, [codes, labels], by decoders that have not seen its task. `labels` is a bool for each."""
    folds, found = task_folds(tasks), np.empty(labels.shape)
    for fold in range(FOLDS):
        unseen = folds == fold
        fitted, others = standardised(codes[~unseen], codes[unseen])
        for label in range(labels.shape[1]):
            found[unseen, label] = logistic_scores(fitted, labels[~unseen, label], others)
    return found


def f1(scores, labels):
    """2 TP / (2 TP + FP + FN), mean over labels."""
    said = scores > 0
    right = (said & labels).sum(axis=0)
    return float(np.mean(2.0 * right / np.maximum(said.sum(axis=0) + labels.sum(axis=0), 1)))


def balanced_accuracy(scores, labels):
    """The share of codes whose own label has the largest score: mean over the labels that occur."""
    answer, own = scores.argmax(axis=1), labels.argmax(axis=1)
    return float(np.mean([np.mean(answer[own == label] == label) for label in np.unique(own)]))


def cosines(codes, tasks, labels):
    """Mean cosine between two codes of different tasks: of those that share a label, and of those that share none.

    As `same_label` and `different_label` of a result of latents, but within training tasks: means over pairs for each label, or
    two labels, then over these.
    """
    length = np.linalg.norm(codes, axis=1, keepdims=True)
    unit = np.divide(codes, length, out=np.zeros_like(codes), where=length > 0)
    groups, of_code = np.unique(np.column_stack([tasks, labels]), axis=0, return_inverse=True)
    of_code = of_code.ravel()
    sums, count = np.zeros((len(groups), codes.shape[1])), np.bincount(of_code).astype(float)
    np.add.at(sums, of_code, unit)
    task, own = groups[:, 0], groups[:, 1:].astype(float)
    apart = task[:, None] != task[None, :]
    shared = own @ own.T > 0
    found = []
    for pairs, on_diagonal in ((apart & shared, True), (apart & ~shared, False)):
        total, number = (own.T @ (np.where(pairs, of, 0.0)) @ own for of in (sums @ sums.T, np.outer(count, count)))
        wanted = (number > 0) & (np.eye(len(number), dtype=bool) == on_diagonal)
        found.append(float(np.mean(total[wanted] / number[wanted])))
    return found


def centred(codes, places):
    """Codes less the mean code of their place."""
    out = codes.astype(float)
    for place in np.unique(places):
        out[places == place] -= out[places == place].mean(axis=0)
    return out


def measures(codes, tasks, labels, places):
    """What is recorded of one layer. `labels` is a bool for each code and label, `places` the feature that a code is of."""
    one_label = (labels.sum(axis=1) == 1).all()
    decoded = (balanced_accuracy if one_label else f1)(scores_of_unseen(codes, tasks, labels), labels)
    same, different = cosines(codes, tasks, labels)
    same_centred, different_centred = cosines(centred(codes, places), tasks, labels)
    return {"decoded": decoded, "same": same, "different": different, "same_centred": same_centred,
            "different_centred": different_centred}
