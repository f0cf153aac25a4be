"""Does decodability foretell generalisation? The rule of the test, the test, and its tables.

The rule was committed before any network was trained. What it says:

1. Networks. Those of decodability-fuzzy-logic.toml and decodability-sraven.toml in data/studies: PLAN below. A network has
   several stages, which are its lengths of training. The number of seeds, the lengths and the size of the networks are set by
   time and by scores on training tasks alone. The test is made once, when all networks of the plan are there.
2. What is foretold. The score on held-out tasks at the end of a stage: R^2 for fuzzy logic, the share of right features for
   SRAVEN.
3. What is known without codes. The score on fresh examples of training tasks. A measure that says no more than this score is no
   news. So a straight line in this score is taken off the measure and off the held-out score, cell by cell.
4. Measures. Ten, MEASURES below, of codes of training tasks alone. `decoded` is how well terms or rules can be read from the
   codes of training tasks that the decoder has not seen, as it is or less that of the untrained network. `alike` is the mean
   cosine of codes that share a label less that of codes that share none, never of one task, as they are or centred. Both are
   taken in the last layer and as a mean over layers, `decoded` also from all layers together.
5. Cells. Networks of one task, one share held out and one stage are compared with each other, and with no others. So neither
   the length of training nor the choice of held-out tasks can make a correlation. In a cell what the lines leave becomes its rank.
6. The statistic S. For each task, the correlation of both ranks over all its cells. S is the mean over the two tasks.
7. Halves. Networks of one task, share and variant are sorted by the SHA-256 of their names, and go to half A and half B in turn.
   All stages of a network are in the same half.
8. The choice. The measure with the largest |S| on half A.
9. The test. S of this one measure on half B. The p-value is the share of PERMUTATIONS in which S is at least as large, in the
   direction of half A: the ranks of the measure are exchanged between networks of one task and share, all stages of a network
   together. The error is that of BOOTSTRAPS over networks, drawn within task and share.
10. The verdict. The measure foretells generalisation if p < LEVEL. It foretells it within a variant, too, if the same holds
    with each variant's mean taken off all three numbers of a cell, and exchanges between networks of one variant. These are two
    claims, and both are reported. Nothing else that the page shows is a claim.

Ranks are taken last. Ranks of the training score itself would lose how far apart two networks are, and what is lost there would
count as if the codes had told it: a measure without any news passed at twice the level or more (decodability_test.py).
"""

import functools
import hashlib
import math
import random
import statistics
from typing import NamedTuple

from recorded import RESULTS, load

DATA = "decodability"
VARIANTS = ("softmax", "linear", "linear_rms_head", "hyla")
PERMUTATIONS, BOOTSTRAPS = 9999, 1999
LEVEL = 0.05
DRAWS_SEED = 1


class Plan(NamedTuple):
    """The networks of one task."""

    study: str
    shares: tuple[float, ...]  # of the tasks that are held out
    seeds: tuple[int, ...]
    stages: tuple[int, ...]  # steps of training; one step is the untrained network
    score: str  # metric of both scores
    known: str  # the split with fresh examples of training tasks


PLAN = {
    "fuzzy_logic": Plan("decodability-fuzzy-logic", (0.5, 0.7), (1, 2, 3, 4, 5, 6), (1000, 2000, 4000), "r2", "validation"),
    "sraven": Plan("decodability-sraven", (0.25,), (1, 2, 3, 4, 5, 6), (1000, 2000, 4000), "accuracy_per_feature", "test"),
}
WHERE = {"last": "last layer", "mean": "mean over layers", "all": "all layers together"}
MEASURES = [("decoded", where, how) for where in ("last", "mean", "all") for how in ("as it is", "less untrained")] + [
    ("alike", where, how) for where in ("last", "mean") for how in ("as it is", "centred")]
TRAINING = ("training score",)


class Network(NamedTuple):
    task: str
    share: float
    variant: str
    seed: int

    @property
    def name(self):
        return f"{self.task} {self.share} {self.variant} {self.seed}"


def planned():
    """All networks, in the order in which they are trained: seed by seed, so that a part of them is balanced."""
    most = max(seed for plan in PLAN.values() for seed in plan.seeds)
    return [Network(task, share, variant, seed) for seed in range(1, most + 1) for task, plan in PLAN.items()
            if seed in plan.seeds for share in plan.shares for variant in VARIANTS]


def halves(networks):
    """{network: "A" or "B"}: in turn, sorted by a hash of their names."""
    found = {}
    for group in _groups(networks, lambda network: network[:3]).values():
        group.sort(key=lambda network: hashlib.sha256(network.name.encode()).hexdigest())
        found |= {network: "AB"[at % 2] for at, network in enumerate(group)}
    return found


def measured(stage, untrained, measure):
    """A measure of one network at one stage, from what is recorded of its layers."""
    what, where, how = measure
    if what == "alike":
        ends = ("same_centred", "different_centred") if how == "centred" else ("same", "different")
        values = [layer[ends[0]] - layer[ends[1]] for layer in stage["layers"]]
    else:
        values, before = ([layer["decoded"] for layer in (of["layers"] if where != "all" else [of["all_layers"]])]
                          for of in (stage, untrained))
        if how == "less untrained":
            values = [value - start for value, start in zip(values, before, strict=True)]
    return values[-1] if where == "last" else statistics.mean(values)


def network_of(record):
    return Network(record["task"], record["held_out_share"], record["variant"], record["seed"])


def records():
    """{network: its record} of all that are there."""
    if not (RESULTS / f"{DATA}.json").exists():
        return {}
    return {network_of(one): one for one in load(DATA)}


def rows_of(networks, measure):
    """[(network, stage, measure, training score, held-out score)]. The measure TRAINING is the training score."""
    rows, found = [], records()
    for network in networks:
        untrained, *stages = found[network]["stages"]
        for stage in stages:
            value = stage["known"] if measure == TRAINING else measured(stage, untrained, measure)
            rows.append((network, stage["steps"], value, stage["known"], stage["held_out"]))
    return rows


# --- the statistic ---------------------------------------------------------------------------------


def _groups(items, key):
    found = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def ranks(values):
    """Ranks about their mean, with a standard deviation of 1. Equal values have their mean rank; 0 where all are equal."""
    order = sorted(values)
    places = {value: order.index(value) + (order.count(value) - 1) / 2 for value in set(values)}
    found = [places[value] - (len(values) - 1) / 2 for value in values]
    size = math.sqrt(sum(value * value for value in found) / len(found))
    return [value / size if size else 0.0 for value in found]


def _centred(values, groups):
    means = {group: statistics.fmean(value for value, of in zip(values, groups) if of == group) for group in set(groups)}
    return [value - means[group] for value, group in zip(values, groups)]


def _dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cell_ranks(cell, within, partial):
    """Ranks of measure and held-out score in one cell, of what is left of them after a straight line in the training score.
    `within`: all three less their means over networks of the same variant."""
    groups = [row[0].variant if within else None for row in cell]
    measure, known, held_out = (_centred([row[at] for row in cell], groups) for at in (2, 3, 4))
    size = _dot(known, known)
    left = []
    for values in (measure, held_out):
        slope = _dot(values, known) / size if partial and size else 0.0
        rest = [value - slope * given for value, given in zip(values, known)]
        nothing = 1e-9 * max(map(abs, values))  # what rounding leaves has no order
        left.append(ranks([0.0 if abs(value) <= nothing else value for value in rest]))
    return left


def block_of(network, within):
    """Networks of one block are exchanged with each other."""
    return network[:3] if within else network[:2]


def ranked(rows, within=False, partial=True):
    """{task: {block: {network: [(rank of the measure, rank of the held-out score) of each stage]}}}"""
    found = {}
    for cell in _groups(rows, lambda row: (row[0][:2], row[1])).values():
        for (network, *_), *pair in zip(cell, *cell_ranks(cell, within, partial)):
            of_task = found.setdefault(network.task, {})
            of_task.setdefault(block_of(network, within), {}).setdefault(network, []).append(pair)
    return found


def correlation(found, order=None):
    """S: the mean over tasks of the correlation of both ranks. `order` gives each network the measure of another one."""
    of_tasks = []
    for blocks in found.values():
        pairs = [(own[0], other[1]) for networks in blocks.values() for network, stages in networks.items()
                 for own, other in zip(networks[order[network]] if order else stages, stages)]
        measure, held_out = zip(*pairs)
        size = math.sqrt(_dot(measure, measure) * _dot(held_out, held_out))
        of_tasks.append(_dot(measure, held_out) / size if size else 0.0)
    return statistics.fmean(of_tasks)


def statistic(rows, within=False, partial=True):
    return correlation(ranked(rows, within, partial))


def p_value(rows, sign, within=False, permutations=PERMUTATIONS):
    """How often exchanged measures give an S as large, in this direction; the real one counts as one of them."""
    found, draws = ranked(rows, within), random.Random(DRAWS_SEED)
    blocks = [list(networks) for blocks in found.values() for networks in blocks.values()]
    real, as_large = sign * correlation(found), 1
    for _ in range(permutations):
        order = {}
        for block in blocks:
            order.update(zip(block, draws.sample(block, len(block))))
        as_large += sign * correlation(found, order) >= real - 1e-12
    return as_large / (permutations + 1)


def bootstrap_error(rows, within=False, partial=True, draws_made=BOOTSTRAPS):
    """Standard deviation of S over networks drawn with replacement within each block."""
    draws, by_network = random.Random(DRAWS_SEED), _groups(rows, lambda row: row[0])
    blocks = list(_groups(by_network, lambda network: block_of(network, within)).values())
    found = []
    for _ in range(draws_made):
        drawn = []
        for block in blocks:
            for copy, network in enumerate(draws.choices(block, k=len(block))):
                drawn += [(network._replace(seed=(network.seed, copy)), *row[1:]) for row in by_network[network]]
        found.append(statistic(drawn, within, partial))
    return statistics.stdev(found)


# --- the test --------------------------------------------------------------------------------------


def networks_of(half):
    side = halves(planned())
    return [network for network in planned() if side[network] == half]


def missing():
    """Networks of the plan that are not recorded yet."""
    found = records()
    return [network for network in planned() if network not in found]


@functools.cache
def chosen():
    """The measure with the largest |S| on half A."""
    return max(MEASURES, key=lambda measure: abs(statistic(rows_of(networks_of("A"), measure))))


class Test(NamedTuple):
    on_a: float
    on_b: float
    error: float
    p: float

    @property
    def passed(self):
        return self.p < LEVEL


@functools.cache
def tested(within=False):
    """The one test of the chosen measure, over all networks, or within variants."""
    on_a, on_b = (rows_of(networks_of(half), chosen()) for half in "AB")
    sign = 1 if statistic(on_a) > 0 else -1
    return Test(statistic(on_a, within), statistic(on_b, within), bootstrap_error(on_b, within), p_value(on_b, sign, within))
