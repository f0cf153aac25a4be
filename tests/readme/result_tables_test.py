"""The tables of data/results/README.md and data/studies/README.md say what the files in data/results hold."""

import json
import math
import os
import pathlib
import re
import statistics
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("HEADWAY_ROOT", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "apps" / "python"))
from headway.ranks import mean_correlation_p_value
RESULTS = ROOT / "data" / "results"


def words_of_results():
    """The page, whatever its lines."""
    return " ".join((RESULTS / "README.md").read_text().split())


def load(name):
    return json.loads((RESULTS / f"{name}.json").read_text())


def rows_of(document, section="", level=2):
    """Table rows as lists of cells, code marks left out; of one section where it is named."""
    text = document.read_text().replace("`", "")
    if section:
        mark = "#" * level
        text = text.split(f"\n{mark} {section}\n")[1].split("\n## ")[0]
    lines = text.splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def row_of(rows, *begin):
    return next(row for row in rows if row[:len(begin)] == list(begin))


def spearman(a, b):
    """Rank correlation, equal values at their mean rank."""
    ranks = [[sorted(values).index(value) + (values.count(value) - 1) / 2 for value in values] for values in (a, b)]
    return statistics.correlation(*ranks)


def mean_and_error(values):
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


def rounds_to(word, value):
    return abs(float(word) - value) <= 0.501 * 10.0 ** -len(word.partition(".")[2])


def says(text, mean, error):
    """Whether "m +- e" in `text` are these numbers to the digits shown."""
    shown = re.search(r"(-?\d*\.?\d+) \+- (\d*\.?\d+)", text)
    return all(map(rounds_to, shown.groups(), (mean, error)))


def runs_by_variant(file):
    groups = {}
    for result in file["results"]:
        for run in result["runs"]:
            groups.setdefault(run["variant"], []).append(run)
    return groups


def point_at(result, width, temperature):
    return next(p for p in result["points"] if (p["widths"][0], p["temperature"]) == (width, temperature))


def by_validation(result, width):
    """Accuracies in % on test and digits at the temperature that validation chooses; width None: Gaussian process."""
    kind = "gaussian_process" if width is None else "points"
    chosen = next(c["point"] for c in result["chosen"] if c["by"] == "validation" and
                  (c["model"] == "gaussian_process" if width is None else c.get("widths", [0])[0] == width))
    best = result[kind][chosen]
    return 100 * best["accuracy"], 100 * best["sets"]["digits"]["accuracy"]


class ResultTablesTest(unittest.TestCase):
    def setUp(self):
        self.results = rows_of(RESULTS / "README.md")
        self.studies = rows_of(ROOT / "data" / "studies" / "README.md")

    def check(self, text, values, scale=1.0):
        mean, error = mean_and_error([scale * value for value in values])
        self.assertTrue(says(text, mean, error), f"{text!r} is {mean:.4f} +- {error:.4f}")

    def test_fuzzy_logic(self):
        for variant, runs in runs_by_variant(load("fuzzy-logic-reference")).items():
            row = row_of(self.results, variant)
            study = next(r for r in self.studies if r[0] == variant and len(r) == 4)
            end = [run["final"]["held_out"]["r2"] for run in runs]
            best = [max(run["curves"]["held_out"]["r2"]) for run in runs]
            for text in (row[1], study[2]):
                self.check(text, end, 100)
            for text in (row[3], study[3]):
                self.check(text, best, 100)
            self.check(row[5], [run["final"]["unknown_terms"]["r2"] for run in runs], 100)
            self.assertAlmostEqual(float(row[6]), statistics.mean(run["train_loss"] for run in runs), delta=6e-6)
            self.assertEqual(row[2], ", ".join(f"{100 * value:.1f}" for value in end))

    def test_sraven(self):
        for variant, runs in runs_by_variant(load("sraven-small")).items():
            row = next(r for r in self.results if r[0] == variant and len(r) == 4 and "+-" in r[1])
            for cell, split in ((row[1], "test"), (row[2], "held_out")):
                self.check(cell, [run["final"][split]["accuracy"] for run in runs])
            self.assertEqual(row[3], " ".join(f"{run['final']['held_out']['accuracy']:.3f}" for run in runs))

    def test_latent_codes(self):
        networks, codes, of_all_queries = load("fuzzy-logic-latents")["results"]
        found = [row for row in rows_of(RESULTS / "README.md", "Latent codes") if "+-" in row[1]]
        self.assertEqual(len(found), 5)
        terms = [group["held_out"] for group in of_all_queries["groups"]
                 if (group["layer"], group["decoder"]) == (0, "term")]
        self.assertIn(f"F1 {min(terms):.2f} to {max(terms):.2f} in all five", words_of_results())
        for row in found:
            label = row[0].replace("one head", "heads = 1")
            decoded = {group["decoder"]: group for group in codes["groups"]
                       if group["label"] == label and group["layer"] == 0}
            network = next(group for group in networks["groups"] if group["label"] == label)
            for cell, group, name in ((row[1], decoded["term"], "held_out"), (row[2], decoded["term"], "untrained"),
                                      (row[3], decoded["term"], "shuffled"), (row[4], decoded["bits"], "held_out"),
                                      (row[5], network["splits"]["held_out"], "last")):
                self.assertTrue(says(cell, group[name], group[f"{name}_standard_error"]), f"{row[0]}: {cell}")

    def test_comments_of_small_studies(self):
        """Lines "# label   m +- e   m +- e" of the studies themselves."""
        for study in ("fuzzy-logic-small", "fuzzy-logic-encoder", "fuzzy-logic-latents"):
            text = (ROOT / "data" / "studies" / f"{study}.toml").read_text()
            results = load(study)["results"]
            for group in results[0]["groups"]:
                label = group["label"].replace("heads = 1", "one head")
                line = re.search(rf"^#   {label}  +(.*\+-.*)$", text, re.MULTILINE)[1]
                numbers = [(group, "train_loss"), (group["splits"]["held_out"], "last")]
                if study == "fuzzy-logic-latents":
                    decoded = {one["decoder"]: one for one in results[1]["groups"]
                               if one["label"] == group["label"] and one["layer"] == 0}
                    numbers = [(decoded["term"], name) for name in ("held_out", "untrained", "shuffled")]
                    numbers += [(decoded["bits"], "held_out"), (group["splits"]["held_out"], "last")]
                else:
                    numbers.append((group["splits"]["unknown_terms"], "last"))
                cells = re.findall(r"\S+ \+- \S+", line)
                for cell, (of, name) in zip(cells, numbers, strict=True):
                    self.assertTrue(says(cell, of[name], of[f"{name}_standard_error"]), f"{study}, {label}: {cell}")

    def test_texts(self):
        text = " ".join((ROOT / "data" / "studies" / "README.md").read_text().split())
        said = re.search(r"over three seeds they need (\S+ \+- \S+) and (\S+ \+- \S+) on the last tenth", text).groups()
        for words, study in zip(said, ("text-small", "text-bpe-small"), strict=True):
            (group,) = load(study)["results"][0]["groups"]
            held_out = group["splits"]["held_out"]
            self.assertEqual((held_out["metric"], held_out["last_count"]), ("bits_per_byte", 3))
            self.assertTrue(says(words, held_out["last"], held_out["last_standard_error"]), words)

    def test_latent_codes_of_sraven(self):
        rows = [row for row in rows_of(RESULTS / "README.md", "Codes of SRAVEN", level=3)
                if row[1].isdigit() and "+-" not in row[6]]
        shown = {f"codes of {row[0]}-{row[1]}": row for row in rows}
        results = load("sraven-latents")["results"]
        self.assertEqual(len(shown), len(results))
        for result in results:
            network = re.search(r"sraven-(\w+-\d)\.h5", result["made"]["command"])[1]
            row = shown[f"codes of {network}"]
            rule, answer = (next(group for group in result["groups"] if group["layer"] == 0 and group["decoder"] == name)
                            for name in ("rule", "answer"))
            for cell, group in ((row[2], rule), (row[5], answer)):
                self.assertTrue(says(cell, group["held_out"], group["standard_error"]), f"{network}: {cell}")
            self.assertEqual([row[3], row[4], row[6]],
                             [f"{value:.3f}" for value in (rule["untrained"], rule["shuffled"], answer["untrained"])])
            self.assertEqual(f"{rule['chance']:.3f}", "0.276")
            self.assertAlmostEqual(answer["chance"], 0.125, delta=0.001)

    def test_one_head_on_sraven(self):
        codes, networks, one_head = load("sraven-small-latents")["results"]
        shown = {(row[0], row[1]): row[2:] for row in rows_of(RESULTS / "README.md", "Codes of SRAVEN", level=3)
                 if row[1] in ("8", "1") and "+-" in row[6]}
        self.assertEqual(len(shown), 5)
        for (variant, heads), row in shown.items():
            trained = load("sraven-small")["results"][0] if heads == "8" else networks
            decoded = {group["decoder"]: group for group in (codes if heads == "8" else one_head)["groups"]
                       if group["label"] == variant and group["layer"] == 0}
            rule, answer = decoded["rule"], decoded["answer"]
            for cell, group in ((row[0], rule), (row[3], answer)):
                self.assertTrue(says(cell, group["held_out"], group["held_out_standard_error"]), f"{variant}: {cell}")
            self.assertEqual(row[1:3], [f"{rule['untrained']:.3f}", f"{rule['shuffled']:.3f}"])
            self.assertEqual([f"{rule['chance']:.3f}", f"{answer['chance']:.3f}"], ["0.262", "0.201"])
            split = next(group for group in trained["groups"] if group["label"] == variant)["splits"]["held_out"]
            self.assertTrue(says(row[4], split["last"], split["last_standard_error"]), f"{variant}: {row[4]}")

    def test_what_made_them(self):
        """All files have the keys of one exporter."""
        for file in RESULTS.glob("*.json"):
            if file.stem == "reproduce":  # what to run and to compare with
                continue
            found = json.loads(file.read_text())
            self.assertEqual(list(found), ["results"], file)
            for result in found["results"]:
                made = result["made"]
                self.assertTrue(result["kind"] and made["command"] and made["study"], file)
                self.assertTrue(all(made[key] for key in ("git_commit", "compiler", "blas", "study_hash")), file)
                self.assertNotIn("with changes", made["git_commit"], file)
                self.assertEqual(made["partial"], 0, file)

    def test_tokens_and_pairs_held_out(self):
        shown = {tuple(row[:2]): row[2:] for row in rows_of(RESULTS / "README.md", "Tokens and pairs held out", level=3)
                 if row[0].isdigit()}
        found, unknown = {}, {}
        for result in load("fuzzy-logic-scaling")["results"]:
            for run in result["runs"]:
                settings = dict(zip(run["settings"][::2], run["settings"][1::2]))
                cell = settings["task.sequence_length"], settings["task.held_out"]
                for kept, split in ((found, "held_out"), (unknown, "unknown_terms")):
                    kept.setdefault(cell, {}).setdefault(run["variant"], []).append(100 * run["final"][split]["r2"])
        names = ("softmax", "linear", "hyla")
        self.assertEqual(set(shown), set(found))
        leads, seeds = [], {}
        for cell, scores in found.items():
            for text, name in zip(shown[cell], names, strict=True):
                seeds.setdefault(cell[0], set()).add(len(scores[name]))
                if len(scores[name]) > 1:
                    self.check(text, scores[name])
                else:
                    self.assertEqual(text, f"{scores[name][0]:.1f}")
            means = {name: statistics.mean(values) for name, values in scores.items()}
            leads.append(means["hyla"] - max(means["softmax"], means["linear"]))
        self.assertEqual(seeds, {"16": {1}, "32": {3}, "64": {1}, "96": {1}})
        self.assertIn(f"{min(leads):.1f} to {max(leads):.1f} points before the next", words_of_results())
        before = [a - b for cell, scores in found.items() if cell[0] == "32"
                  for a, b in zip(scores["hyla"], scores["softmax"], strict=True)]
        self.assertIn(f"{min(before):.1f} to {max(before):.1f} before softmax", words_of_results())
        hyla = [statistics.mean(scores["hyla"]) / 100 for cell, scores in unknown.items() if cell[0] != "16"]
        self.assertIn(f"R^2 {min(hyla):.2f} to {max(hyla):.2f}", words_of_results())

    def test_ablation(self):
        """Seed 1 of all variants at full length: three of them are of the reference study."""
        runs = {run["label"].replace(", feed_forward = mixture", ", mixture of experts"): run
                for name in ("fuzzy-logic-reference", "attention-ablation") for result in load(name)["results"]
                for run in result["runs"] if run["seed"] == 1}
        rows = {row[0]: row[2:] for row in rows_of(RESULTS / "README.md", "Attention ablation") if row[0] in runs}
        self.assertEqual(set(rows), set(runs))
        studies = {row[0]: row for row in self.studies}
        comment = " ".join((ROOT / "data/studies/attention-ablation.toml").read_text().replace("#", "").split())
        for label, run in runs.items():
            self.assertEqual(run["steps"], 50000)
            end, curve = run["final"], run["curves"]["held_out"]
            best, step = max(zip(curve["r2"], curve["step"]))
            self.assertEqual(rows[label], [f"{100 * end['held_out']['r2']:.1f}", f"{100 * best:.1f} at {step:,.0f}",
                                           f"{100 * end['unknown_terms']['r2']:.1f}", f"{run['train_loss']:.5f}",
                                           f"{run['parameters']:,}"])
            self.assertIn(f" {label} {rows[label][0]} ", comment)
            if label not in ("softmax", "linear", "hyla"):  # three seeds there
                self.assertEqual(studies[label][2:], [f"{100 * end['held_out']['r2']:.1f} (one seed)",
                                                      f"{100 * best:.1f}"])
        closest = {f"{name}, mixture of experts" for name in ("softmax", "linear")} | {"softmax", "softmax_hyla"}
        self.assertEqual(set(sorted(runs, key=lambda label: runs[label]["train_loss"])[:4]), closest)  # as the text says
        peaks = {label: 100 * max(run["curves"]["held_out"]["r2"]) for label, run in runs.items()}
        early = ("softmax", "softmax, mixture of experts", "softmax_hyla")
        best, lost = ([f"{value(label):{form}}" for label in early] for value, form in (
            (peaks.get, ".1f"), (lambda label: peaks[label] - 100 * runs[label]["final"]["held_out"]["r2"], ".0f")))
        self.assertIn(f"{best[0]}, {best[1]} and {best[2]}, and lose {lost[0]}, {lost[1]} and {lost[2]} points",
                      words_of_results())
        for name in ("softmax", "linear", "hyla"):
            self.assertIn(f"({rows[f'{name}, mixture of experts'][0]} and {rows[name][0]})", words_of_results())

    def test_scores_of_heads(self):
        pruned = [result for result in load("omniglot-one-shot")["results"] if result["kind"] == "prune"]
        self.assertEqual(len(pruned), 5)
        rows = rows_of(RESULTS / "README.md", "One-shot images")

        def check(cells, scores):
            """Rank correlation, its p-value, and the accuracy with half of the heads gone, less random orders."""
            self.assertTrue(all(cells))
            self.check(cells[0], [score["accuracy_drop_spearman"] for score in scores])
            p = mean_correlation_p_value([(score["score"], result["network"]["accuracy_drop"])
                                          for score, result in zip(scores, pruned, strict=True)])
            below = cells[1].removeprefix("< ")
            self.assertTrue(p < float(below) if below != cells[1] else rounds_to(below, p), f"{cells[1]!r} is {p:.5f}")
            self.check(cells[2], [score["rising"]["accuracy"][4] - result["network"]["random"]["mean"][4]
                                  for score, result in zip(scores, pruned, strict=True)], 100)

        names = {"own_score": "score of the network's own U_1", "path_norm": "path norm",
                 "sensitivity": "gradient sensitivity", "weight_norm": "weight norm"}
        for name, said in names.items():
            check(row_of(rows, said)[1:], [result["network"]["scores"][name] for result in pruned])
        for name in ("score", "score_weighted"):
            for width in (10, 100, 1000):
                row = next(row for row in rows if row[0].partition(", T =")[0] == f"{name}, N = {width}")
                for at, temperature in enumerate((0.1, 0.25, 0.5)):
                    check([cell.split(" / ")[at] for cell in row[1:]],
                          [point_at(result, width, temperature)["network"]["scores"][name] for result in pruned])
        at_random, whole, greedy = (
            100 * statistics.mean(result["network"][name][key][at] for result in pruned)
            for name, key, at in (("random", "mean", 4), ("sets", "accuracy", 1), ("greedy", "accuracy", 4)))
        self.assertIn(f"random orders ({at_random:.1f} %; all heads {whole:.1f} %, greedy search {greedy:.1f} %)",
                      words_of_results())

    def test_one_shot_accuracies(self):
        results = load("omniglot-one-shot")["results"]
        networks = [result["network"]["sets"] for result in results if result["kind"] == "prune"]
        solved = [result for result in results if result["kind"] == "solve"]
        row = row_of(self.results, "the trained network")
        for cell, name in ((row[1], "test"), (row[2], "digits")):
            self.check(cell, [sets["accuracy"][sets["name"].index(name)] for sets in networks], 100)
        for begin, width in (("theory on its heads, N = 10", 10), ("N = 100", 100), ("N = 1000", 1000),
                             ("Gaussian process", None)):
            row = row_of(self.results, begin)
            for cell, column in zip(row[1:], zip(*[by_validation(result, width) for result in solved], strict=True),
                                    strict=True):
                self.check(cell, column)
        self.assertEqual(len(solved), 5)

    def test_one_shot_on_fresh_seeds(self):
        results = load("omniglot-one-shot-fresh")["results"]
        pruned = [result for result in results if result["kind"] == "prune"][:5]
        solved = [result for result in results if result["kind"] == "solve"][:5]
        self.assertEqual([r["made"]["seed"] for r in results if r["kind"] == "train"][:5], [6, 7, 8, 9, 10])
        rows = {row[0]: row for row in rows_of(RESULTS / "README.md", "The same on fresh seeds, and other shapes", level=3)}

        def both(cell, pairs):
            for text, column in zip(cell.split("; "), zip(*pairs), strict=True):
                self.check(text, column)

        self.check(rows["(1) rank correlation of score, N = 10, T = 0.25"][2],
                   [point_at(r, 10, 0.25)["network"]["scores"]["score"]["accuracy_drop_spearman"] for r in pruned])
        self.check(rows["(2) half of the heads by score_weighted, N = 100, T = 0.5, less random"][2],
                   [point_at(r, 100, 0.5)["network"]["scores"]["score_weighted"]["rising"]["accuracy"][4]
                    - r["network"]["random"]["mean"][4] for r in pruned], 100)
        for words, name in (("rank correlation of gradient sensitivity", "sensitivity"),
                            ("of the score of the network's own U_1", "own_score"), ("of the path norm", "path_norm")):
            self.check(rows[words][2], [r["network"]["scores"][name]["accuracy_drop_spearman"] for r in pruned])
        both(rows["the network: new characters; digits"][2],
             [[100 * r["network"]["sets"]["accuracy"][r["network"]["sets"]["name"].index(name)]
               for name in ("test", "digits")] for r in pruned])
        both(rows["theory, N = 10"][2], [by_validation(r, 10) for r in solved])
        both(rows["Gaussian process"][2], [by_validation(r, None) for r in solved])
        both(rows["N = 10 less Gaussian process"][2],
             [[narrow - limit for narrow, limit in zip(by_validation(r, 10), by_validation(r, None))] for r in solved])

    def test_exact_samples_on_a_fresh_seed(self):
        (result,) = [found for found in load("omniglot-one-shot-fresh")["results"] if found["kind"] == "sample"]
        (point,), (limit,) = result["points"], result["gaussian_process"]
        theory, corrected = point["theory"], point["theory"]["corrected"]
        numbers = [f"{point['rhat_max']:.3f}", f"{point['ess_bulk_min']:.0f}", f"{point['U_a_mean']:.3f}",
                   f"{point['U_a_mcse']:.3f}", f"{theory['U_a']:.3f}", f"{corrected['U_a']:.3f}"]
        numbers += [f"{100 * one:.1f}" for of in (point, theory, limit)
                    for one in (of["accuracy"], of["sets"]["digits"]["accuracy"])]
        numbers += [f"{of['test_mean_squared_error']:.4f}" for of in (point, theory, corrected)]
        said = words_of_results().partition("Exact samples at N = 10, ")[2].partition(" ## ")[0]
        self.assertEqual(re.findall(r"\d+\.\d+|\d{3}(?= effective)", said.partition("(R-hat")[2]), numbers)

    def test_sraven_at_the_settings_of_the_paper(self):
        runs = {(run["label"], run["seed"]): run for result in load("sraven-reference")["results"]
                for run in result["runs"]}
        shown = {(row[0], int(row[1])): row for row in rows_of(RESULTS / "README.md", "SRAVEN at the settings of the paper")
                 if row[1].isdigit()}
        self.assertEqual(set(shown), set(runs))
        for key, run in runs.items():
            values = [100 * run["final"]["test"]["accuracy"], 100 * run["final"]["held_out"]["accuracy"],
                      100 * run["final"]["held_out"]["accuracy_per_feature"]]
            self.assertEqual(shown[key][2:], [*(f"{value:.1f}" for value in values), f"{run['train_loss']:.3f}"], key)
        said = re.search(r"knows the rule sets, is (\S+) and (\S+) on `test` and (\S+) and (\S+) on `held_out`",
                         words_of_results()).groups()
        best = {(split, run["seed"]): f"{100 * run['ceiling'][split]['accuracy']:.1f}"
                for run in runs.values() for split in ("test", "held_out")}
        self.assertEqual(said, tuple(best[split, seed] for split in ("test", "held_out") for seed in (1, 2)))

    def test_heads_of_transformers(self):
        both, upper = [result for result in load("hyla-heads")["results"] if result["kind"] == "network_prune"]
        names = {"gradient sensitivity": "sensitivity", "weight norm": "weight_norm",
                 "the theory's rise": "theory error_rise", "score of U_1": "theory score"}

        def correlations(result, variant, name):
            """Of the runs of a variant; of scores that know no layers, over the ranked heads alone."""
            found = []
            for run in result["runs"]:
                if run["variant"] != variant:
                    continue
                scores = next(s for key, s in run["network"]["scores"].items() if re.sub(r" \S+-\d ", " ", key) == name)
                if result is both or name.startswith("theory"):
                    found.append(scores["error_rise_spearman"])
                else:
                    of = [i for i, layer in enumerate(run["heads"]["layer"]) if layer == 2]
                    found.append(spearman(*([values[i] for i in of]
                                            for values in (scores["score"], run["network"]["error_rise"]))))
            self.assertEqual(len(found), 2)
            return found

        found = [row for row in rows_of(RESULTS / "README.md", "Heads of trained transformers")
                 if row[0].partition(", N =")[0] in names]
        self.assertEqual(len(found), 6)
        for row in found:
            name, _, width = row[0].partition(", N = ")
            scores = [f"{names[name]} N = {width} T = {t}" for t in ("0.01", "0.1", "1")] if width else [names[name]]
            for cell, result, variant in zip(row[1:], (both, both, upper, upper), 2 * ("softmax", "hyla")):
                for text, score in zip(cell.split(" / "), scores, strict=True):
                    self.check(text, correlations(result, variant, score))

    def test_predictors_on_heads_of_transformers(self):
        results = load("hyla-heads")["results"]
        removed = next(result for result in results if result["kind"] == "network_prune")["runs"]
        sets = [run["network"]["sets"] for run in removed]
        networks = [values["loss"][values["name"].index("held_out")] for values in sets]
        errors = []
        for result in results:
            if result["kind"] != "prune":
                continue
            best = max(result["points"], key=lambda point: point["log_evidence"])
            self.assertEqual((best["widths"][0], best["temperature"]), (100, 0.01))
            chosen = min(result["points"], key=lambda point: point["sets"]["validation"]["mean_squared_error"])
            errors.append(chosen["test_mean_squared_error"])
        said = re.search(r"squared error (\S+), (\S+), (\S+), (\S+) on held-out pairs .*? the networks (\S+), (\S+), (\S+), "
                         r"(\S+);", words_of_results()).groups()
        self.assertEqual(list(said), [f"{value:.4f}" for value in errors + networks])

    def test_dearest_heads_of_transformers(self):
        """To the predictor, at the width and temperature of largest evidence, and to the networks themselves."""
        results = load("hyla-heads")["results"]
        removed = next(result for result in results if result["kind"] == "network_prune")["runs"]
        rises, needed = [], []
        for result in results:
            if result["kind"] == "prune":
                point = max(result["points"], key=lambda point: point["log_evidence"])
                names = [name for layer in sorted(result["names"]) for name in result["names"][layer]]
                without = zip(names, point["pruning"]["mean_squared_error_without"], strict=True)
                rise = {name: 100 * (error / point["test_mean_squared_error"] - 1) for name, error in without
                        if re.fullmatch(r"L\dH\d", name)}
                rises.append(max(rise.values()))
                needed.append(sorted(rise, key=rise.get)[-2:])
        losses = [-min(run["heads"]["r2_change"]) for run in removed]
        scores = [sets["r2"][sets["name"].index("held_out")] for sets in (run["network"]["sets"] for run in removed)]
        said = re.search(r"error rises by (\S+), (\S+) and (\S+) % in three .* lose (\S+), (\S+) and (\S+) of their R\^2 of "
                         r"(\S+), (\S+) and (\S+)\. Not so .*? it is (\S+) %", words_of_results()).groups()
        self.assertEqual(list(said), [f"{value:.1f}" for value in rises[:3]] + [f"{value:.2f}" for value in losses[:3]] +
                         [f"{value:.2f}" for value in scores[:3]] + [f"{rises[3]:.0f}"])
        heads = removed[3]["heads"]
        order = sorted(zip(heads["r2_change"], (f"L{layer}H{head}" for layer, head in zip(heads["layer"], heads["head"]))))
        self.assertLess(set(needed[3]), {name for _, name in order[:3]})

    def test_heads_of_pretrained_networks(self):
        groups = {}
        for row in load("pretrained-heads")["results"]:
            groups.setdefault(row["task"], []).append(row)

        def predicted(row, kind, key="squared_error_change", point=None):
            points = row["theory"][kind]
            best = max(points, key=lambda p: p["log_evidence"])
            return (best if point is None else next(p for p in points if (p["width"], p["temperature"]) == point))[key]

        def scores_of(row, name):
            if name in row["baselines"]:
                return row["baselines"][name]
            return predicted(row, name.partition(", ")[2], "score" if name.startswith("score") else "squared_error_change")

        def agreement(scores, rows, removed="mean"):
            return [spearman(scores(row), row["removed"][removed]["loss_change"]) for row in rows]

        checked, columns = 0, []
        for name, *cells in rows_of(RESULTS / "README.md", "Heads of pretrained networks"):
            name = name.partition(" (")[0]
            if name in ("score", "task"):
                columns = [cell.split(", ") for cell in cells if name == "score"]
            elif "+-" in cells[0] and columns:
                for cell, (task, removed) in zip(cells, columns, strict=True):
                    self.check(cell, agreement(lambda row: scores_of(row, name), groups[task], removed))
                    checked += 1
        self.assertEqual(checked, 7 * 10)

        hint = rows_of(RESULTS / "README.md", "A hint, tested", level=3)
        for task, rows in groups.items():
            old = 3 if task in ("packages", "fortunes") else 0
            _, *cells = row_of(hint, task)
            for cell, part, scores in zip(cells, (rows[:old], rows[old:], rows[old:], rows[old:]), (
                    lambda row: predicted(row, "all parts", point=(10, 1.0)),
                    lambda row: predicted(row, "all parts", point=(10, 1.0)),
                    lambda row: predicted(row, "all parts"),
                    lambda row: row["baselines"]["gradient sensitivity"]), strict=True):
                if part:
                    self.check(cell, agreement(scores, part))

        places = rows_of(RESULTS / "README.md", "A head whose work is known", level=3)[2:]
        for name, cell in places:
            orders = [row["removed"][name[9:]]["loss_change"] if name.startswith("removal") else scores_of(row, name)
                      for row in groups["copies"]]
            self.assertEqual(cell, " ".join(str(1 + sum(value > order[5] for value in order)) for order in orders), name)
        self.assertEqual(len(places), 9)

    def test_a_wrong_number_is_noticed(self):
        self.assertTrue(says("0.72 +- 0.04", 0.7248, 0.0449))
        self.assertFalse(says("0.72 +- 0.05", 0.7248, 0.0449))
        self.assertFalse(says("-41.3 +- 5.6", -41.4, 5.6))


if __name__ == "__main__":
    unittest.main()
