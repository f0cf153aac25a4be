"""Every public name has a numpydoc docstring that names its parameters, with types; its examples do what they say.

numpydoc.validate reads them too, where it is installed. Examples that need the extension module, PyTorch or files are
skipped without them.
"""

import contextlib
import dataclasses
import doctest
import importlib.util
import inspect
import os
import re
import tempfile
import unittest
import warnings
from pathlib import Path

import headway
from headway import figures
from headway.results import heads_and_kernels, latent_results, network_predictions, network_results, prediction_results, result_points, training_results
from headway.base import signatures
from headway.results.display import Figures, Shown

HAVE_MODULE = importlib.util.find_spec("headway._native") is not None
#: Classes that are not exported, but whose objects are found in results.
FOUND_IN_RESULTS = [thing for module in (result_points, heads_and_kernels, latent_results, network_predictions, network_results, prediction_results,
                                         training_results)
                    for thing in vars(module).values()
                    if inspect.isclass(thing) and thing.__module__ == module.__name__ and not thing.__name__.startswith("_")]
SECTIONS = ("Parameters", "Returns", "Raises", "Warns", "Notes", "Examples", "Attributes")


def sections_of(text):
    """{section: its lines}, the summary and what follows it as ""."""
    found, name, lines = {"": []}, "", (text or "").splitlines()
    for at, line in enumerate(lines):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if line and below == "-" * len(line):
            name = line
            found[name] = []
        elif not (name and line == "-" * len(name)):
            found[name].append(line)
    return found


def entries_of(lines):
    """[(name, type, description)] of a section of parameters; several names may share a type."""
    entries = []
    for line in lines:
        if line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            entries += [[name.strip(), kind.strip(), ""] for name in names.split(",")]
            shared = len(names.split(","))
        elif line.strip():
            for entry in entries[-shared:]:
                entry[2] += line.strip() + " "
    return [tuple(entry) for entry in entries]


def parameters_of(thing):
    """The parameters that a caller gives, as a docstring spells them."""
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [marks.get(one.kind, "") + name for name, one in inspect.signature(thing).parameters.items() if name != "self"]


def public_things():
    """(name, thing) of every exported function and class, of classes in results, and of their public members."""
    things = {f"headway.{name}": getattr(headway, name) for name in headway.__all__
              if name not in ("__version__", "figures")}
    things |= {f"headway.{thing.__name__}": thing for thing in (*FOUND_IN_RESULTS, Figures)}
    for name, thing in list(things.items()):
        if inspect.isclass(thing):
            for base in thing.__mro__:
                members = vars(base) if base.__module__.startswith("headway") else {}
                for member, value in members.items():
                    if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                        things.setdefault(f"{name}.{member}", value)
    return things


def faults_of(name, thing):
    """What is wrong with one docstring."""
    text = inspect.cleandoc(thing.__doc__ or "")
    found, faults = sections_of(text), []
    if not text or not text.splitlines()[0].rstrip().endswith((".", '"', "...")) and not isinstance(thing, property):
        faults.append("has no summary line that ends with a full stop")
    faults += [f"has the unknown section {section}" for section in found if section and section not in SECTIONS]
    if isinstance(thing, property):
        if not re.match(r"[\w.]+.*: \S", text):
            faults.append("does not begin with its type: \"float: the ...\"")
        return faults
    section, wanted = "Parameters", None
    if dataclasses.is_dataclass(thing):
        section, wanted = "Attributes", [field.name for field in dataclasses.fields(thing)]
    elif not inspect.isclass(thing) or "__init__" in vars(thing):
        wanted = parameters_of(thing)
    entries = entries_of(found.get(section, []))
    if wanted is not None and [entry[0] for entry in entries] != wanted:
        faults.append(f"{section} are {[entry[0] for entry in entries]}, not {wanted}")
    for entry, kind, meaning in entries:
        if not kind or not meaning:
            faults.append(f"{entry} has no {'meaning' if kind else 'type'}")
    if inspect.isfunction(thing):
        if inspect.signature(thing).return_annotation not in (None, "None") and "Returns" not in found:
            faults.append("does not say what it returns")
        returned = entries_of(found.get("Returns", []))
        if not all(name and meaning for name, _, meaning in returned):
            faults.append("has a type without a meaning in Returns")
        missing = [parameter for parameter, one in inspect.signature(thing).parameters.items()
                   if one.annotation is one.empty and parameter != "self"]
        if missing or inspect.signature(thing).return_annotation is inspect.Signature.empty:
            faults.append(f"has no annotation of {missing or 'what it returns'}")
    return faults


class Docstrings(unittest.TestCase):
    @unittest.skipUnless(HAVE_MODULE, "the extension module, which knows the settings, is not built")
    def test_every_public_thing_is_described(self):
        things = public_things()
        self.assertGreater(len(things), 100)
        faults = [f"{name} {fault}" for name, thing in things.items() for fault in faults_of(name, thing)]
        self.assertEqual(faults, [], "\n" + "\n".join(faults))

    def test_the_main_ones_have_examples(self):
        lacking = [name for name, thing in public_things().items() if name.count(".") == 1 and not isinstance(thing, type)
                   and "Examples" not in sections_of(inspect.cleandoc(thing.__doc__)) and name != "headway.to_arviz"]
        self.assertEqual(lacking, [])

    def test_a_fault_is_noticed(self):
        def function(a: int, *rest: int, b: str = "") -> float:
            """{}"""

        whole = ("Do it.\n\nParameters\n----------\na : int\n    One.\n*rest : int\n    More.\nb : str, default: ''\n    Two.\n\n"
                 "Returns\n-------\nfloat\n    It.\n")
        function.__doc__ = whole
        self.assertEqual(faults_of("f", function), [])
        for old, new in (("b : str, default: ''\n    Two.\n", ""), ("a : int\n", "a\n"), ("    One.\n", ""), ("Do it.", "Do it"),
                         ("*rest", "rest"), ("a : int\n    One.\n*rest : int\n    More.\n", "*rest : int\n    More.\na : int\n    One.\n"),
                         ("    It.\n", ""), ("\nReturns\n-------\nfloat\n    It.\n", ""), ("Returns\n-------", "Result\n------")):
            function.__doc__ = whole.replace(old, new)
            self.assertNotEqual(faults_of("f", function), [], f"without {old!r}")
        function.__doc__ = None
        self.assertNotEqual(faults_of("f", function), [])

    def test_dir_has_what_users_call(self):
        found = [name for name in dir(headway) if not name.startswith("__")]
        self.assertEqual(found, [name for name in sorted(headway.__all__) if not name.startswith("__")])
        self.assertIn("__version__", dir(headway))
        self.assertTrue(callable(headway.api.verbs.solve) and callable(headway.api.datasets.write_dataset))  # modules stay where they were

    def test_names_that_documents_give_are_there(self):
        """`headway.results.ranking.combine`, help(headway.network_contributions): what a reader may type after `import headway`."""
        package = Path(headway.__file__).parent
        documents = [*package.rglob("*.py"), *package.parent.glob("README.md"), *package.parent.parent.glob("docs/**/*.md")]
        names = {name for file in documents for name in re.findall(r"(?:`|help\()(headway(?:\.[a-z_]+)+)[`)(]", file.read_text())}
        self.assertGreater(len(names), 20)
        for name in sorted(names):
            thing = headway
            with self.subTest(name=name):
                try:
                    for part in name.split(".")[1:]:
                        thing = getattr(thing, part)
                except headway.UnavailableError as error:
                    self.assertRegex(str(error), "needs PyTorch")
                self.assertTrue(thing.__doc__)

    def test_plot_takes_what_the_figures_take(self):
        options = [field.name for field in dataclasses.fields(figures.PlotOptions)]
        self.assertEqual(parameters_of(Shown.plot), ["*names", "others", *options, "point"])

    @unittest.skipUnless(HAVE_MODULE, "the extension module, which knows the settings, is not built")
    def test_groups_of_arguments_are_filled_in(self):
        for verb in ("solve", "align", "prune", "sample", "train", "latents", "evaluate", "prune_network", "action"):
            self.assertNotRegex(getattr(headway, verb).__doc__, r"^\{")
        self.assertIn(f"chains : int from 1 to 1000, default: {signatures.SETTINGS['sample']['chains']['default']}",
                      headway.sample.__doc__)

    @unittest.skipUnless(HAVE_MODULE, "the extension module, which knows the settings, is not built")
    def test_every_function_refuses_what_it_does_not_know(self):
        """With the nearest argument, as the README says."""
        for name in headway.__all__:
            if inspect.isfunction(getattr(headway, name)):
                with self.subTest(name=name), self.assertRaisesRegex(headway.UsageError, f"headway.{name}: unknown argument zzz"):
                    getattr(headway, name)(zzz=1)
        for call, words in ((lambda: headway.write_dataset("a.h5", input=1), "input; did you mean inputs"),
                            (lambda: headway.Dataset(train_labels=1), "headway.Dataset: unknown argument train_labels; did you mean labels"),
                            (lambda: headway.write_dataset("a.h5", test_input=1), "test_input; did you mean test_inputs"),
                            (lambda: headway.rank_heads(layer=1), "layer; did you mean layers"),
                            (lambda: headway.solve(train_labels=1), "train_labels; did you mean labels"),
                            (lambda: headway.solve(path_features=1), "path_features; did you mean features"),
                            (lambda: Shown().plot(width=1), "^plot: unknown argument width; did you mean widths")):
            with self.assertRaisesRegex(headway.UsageError, words):
                call()

    @unittest.skipUnless(importlib.util.find_spec("numpydoc"), "numpydoc is not installed")
    @unittest.skipUnless(HAVE_MODULE, "the extension module, which knows the settings, is not built")
    def test_numpydoc_agrees(self):
        from numpydoc.validate import validate
        codes = {"PR02", "PR04", "PR05", "PR07", "RT03", "SS01", "SS03", "GL06", "GL07", "PR10", "YD01"}
        found = []
        for name in headway.__all__:
            if name in ("__version__", "figures"):
                continue
            thing = getattr(headway, name)
            wanted = codes | ({"PR01", "PR03", "RT01"} if not inspect.isclass(thing) else set())
            found += [f"{name}: {code} {text}" for code, text in validate(f"headway.{name}")["errors"] if code in wanted]
        self.assertEqual(found, [], "\n" + "\n".join(found))


@unittest.skipUnless(HAVE_MODULE, "the extension module headway._native is not built")
class Examples(unittest.TestCase):
    def test_they_print_what_they_show(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        finder, runner, tried = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False), 0
        for name, thing in public_things().items():
            test = finder.get_doctest(inspect.cleandoc(thing.__doc__ or ""), {"headway": headway}, name, name, 0)
            if not test.examples:
                continue
            for file in os.listdir("."):
                os.unlink(file)
            said = []
            with warnings.catch_warnings(), contextlib.suppress(doctest.UnexpectedException):
                warnings.simplefilter("ignore")
                failed, count = runner.run(test, out=said.append)
            tried += count
            self.assertEqual(failed, 0, "".join(said))
        self.assertGreater(tried, 40)


if __name__ == "__main__":
    unittest.main()
