"""What the program says of itself: help, manual pages, completion in shells, studies, version, and what it answers to a
command line that it does not understand."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time
import unittest
import unittest.mock

from support import PROGRAM, STUDIES, ProgramTest, on_terminal, run
from train_support import can_train

ROOT = pathlib.Path(STUDIES).parents[1]
README = (ROOT / "apps/cli/README.md").read_text()


def verbs():
    """The verbs, from the list in the help."""
    listed = run("--help").stdout.partition("\nVerbs:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  ([\w-]+) {2,}\S", listed, re.MULTILINE)


def words_of(text):
    """`text` in one line, whatever its lines were."""
    return " ".join(text.split())


class Help(ProgramTest):
    def test_no_line_is_wider_than_the_terminal_or_100_columns(self):
        for columns in (60, 80, 100, 140, None):
            for verb in [None, *verbs()]:
                with self.subTest(columns=columns, verb=verb):
                    arguments = ([verb] if verb else []) + ["--help"]
                    text = on_terminal(columns, *arguments) if columns else run(*arguments).stdout
                    most = min(columns or 100, 100)
                    wide = [line for line in text.splitlines() if len(line) > most and " " in line.strip()[:most - 10]]
                    # A term stays whole, such as a command among the examples or a line of a study file.
                    terms = [line for line in wide if re.match(r"  \S", line) and "  " not in line.strip()]
                    self.assertEqual([line for line in wide if line not in terms], [])
                    self.assertLessEqual(len(terms), 3 if most < 80 else 0, terms)

    def test_it_has_every_option_key_and_column(self):
        text = run("solve", "--help").stdout
        for word in ("--set KEY=VALUE", "-o, --output FILE.h5", "--shard i/n", "stay_probability", "max_iterations",
                     "[task] with kind = \"dataset\"", "below the table", "chosen by", "default 0.01", "an integer from 1 to 1e9"):
            self.assertIn(word, text)
        self.assertNotIn("attention_dropout", text)
        self.assertIn("[sweep]", run("train", "--help").stdout)

    def test_a_verb_lists_its_own_tasks(self):
        theory = {"copy", "dataset", "hidden_markov_chain", "modules", "bilinear_sequence_regression", "in_context_regression"}
        training = {"fuzzy_logic", "sraven", "text", "omniglot", "arrays"}
        for verb, tasks in (("solve", theory), ("train", training), ("evaluate", training)):
            with self.subTest(verb=verb):
                text = run(verb, "--help").stdout
                self.assertEqual(set(re.findall(r'^\[task\] with kind = "(\w+)"', text, re.MULTILINE)), tasks)
                threads = words_of(text.partition("--threads N")[2].partition("\n  -")[0])
                self.assertEqual(threads.endswith("except with train.eager"), verb != "solve", threads)

    def test_help_is_a_verb_too(self):
        self.assertEqual(run("help").stdout, run("--help").stdout)
        self.assertEqual(run("help", "prune").stdout, run("prune", "--help").stdout)
        self.check(run("help", "pruen"), 64, "pruen", "did you mean prune?")

    def test_it_explains_keys_and_tables_of_study_files(self):
        text = run("help", "model.temperature").stdout
        self.assertTrue(text.startswith("[model]:\n"), text)
        self.assertIn("default 0.01", text)
        self.assertNotIn("widths", text.partition("\n")[2].partition("temperature  ")[2])
        both = run("help", "heads").stdout
        for table in ("[model]:", "[model.attention_prior]:", "[train]:", "[[task.layers]] heads ="):
            self.assertIn(table, both)
        self.assertIn(run("help", "model").stdout, run("help", "solve").stdout)
        head = run("help", "task.layers.heads").stdout
        for word in ("same_token", "perturbation", "required"):
            self.assertIn(word, head)
        self.assertEqual(run("help", "task.layers.heads.beta").stdout.count("default"), 1)
        self.assertIn("train.attention", run("help", "sweep").stdout)
        value = run("help", "hyla").stdout  # no key, but a value of one
        self.assertIn("[train]:\n", value)
        self.assertIn("  attention  ", value)
        self.assertNotIn("  layers  ", value)
        self.assertIn("[task] and [model] are in headway solve --help", words_of(run("sample", "--help").stdout))
        self.assertNotIn("headway solve --help", words_of(run("evaluate", "--help").stdout))
        self.check(run("help", "model.temprature"), 64, "did you mean model.temperature?")
        self.check(run("help", "model.widths", "--man"), 64, "--man", "a verb")

    def test_columns_of_printed_tables_are_explained(self):
        solved, trained = self.path("solved.h5"), self.path("sampled.h5")
        quick = ("--set", "sample.draws=50", "--set", "sample.warmup=50", "--set", "model.temperature=[0.1,1]")
        printed = {"solve": run("solve", self.study, "--set", "model.temperature=[0.1,1]", "-o", solved, "-q").stdout,
                   "align": run("align", solved, "-q").stdout, "prune": run("prune", solved, "-q").stdout,
                   "sample": run("sample", self.study, *quick, "-o", trained, "-q").stdout}
        for verb, text in printed.items():
            help_text = words_of(run(verb, "--help").stdout)
            headers = [line for line in text.splitlines() if re.match(r" *(widths +T|layer +head) ", line)]
            self.assertGreaterEqual(len(headers), 1, text)
            for column in {column for line in headers for column in re.split(r" {2,}", line.strip())}:
                with self.subTest(verb=verb, column=column):
                    for word in column.split(", "):
                        self.assertTrue(re.search(rf"(?<![\w-]){re.escape(word.split(' (')[0])}", help_text))


class Readme(unittest.TestCase):
    """apps/cli/README.md says of every verb what its help says."""

    def rows(self, title):
        section = README.partition(f"\n{title}\n")[2]
        return [[cell.strip().strip("`").replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                for line in re.split(r"\n#+ ", section)[0].splitlines() if line.startswith("| ")]

    def test_every_verb_has_a_section_with_its_columns(self):
        self.assertGreater(len(verbs()), 10)
        for verb in verbs():
            text = run(verb, "--help").stdout
            self.assertTrue(f"\n### `headway {verb}`\n" in README, verb)
            rows = self.rows(f"### `headway {verb}`")
            columns = re.findall(r"^  (\S.*?)(?: {2,}|$)", text.partition("What is printed:")[2].partition(
                "The study file:")[0].partition("Exit codes:")[0], re.MULTILINE)
            shown = [row[0] for row in rows]
            for column in columns[1:]:  # the first is the sentence above the tables
                with self.subTest(verb=verb, column=column):
                    self.assertIn(column, shown)
            for row in rows:
                with self.subTest(verb=verb, row=row):
                    if row[0] in columns:
                        self.assertTrue(row[1].replace("`", "") in words_of(text), row[1])

    def test_exit_codes_are_those_of_the_help(self):
        text = words_of(run("--help").stdout.partition("Exit codes:")[2])
        rows = [row for row in self.rows("## Exit codes") if row[0].isdigit()]
        self.assertEqual([int(row[0]) for row in rows], [0, 2, 64, 65, 66, 69, 70, 73, 78, 130])
        for code, meaning in rows:
            self.assertTrue(f"{code} {meaning}" in text, meaning)


class ManualPages(ProgramTest):
    def setUp(self):
        super().setUp()
        self.check(run("help", "--write", self.path("pages")), 0)
        self.pages = {path.stem: path for path in pathlib.Path(self.path("pages/man/man1")).glob("*.1")}

    def test_there_is_one_for_the_program_and_for_each_verb(self):
        self.assertEqual(set(self.pages), {"headway", *(f"headway-{verb}" for verb in verbs())})
        self.assertEqual(self.pages["headway-solve"].read_text(), run("help", "solve", "--man").stdout)
        self.check(run("help", "--write", "/proc/nowhere"), 73, "/proc/nowhere")

    def test_they_say_what_help_says(self):
        for name, path in self.pages.items():
            page = words_of(re.sub(r"\\\(dq", '"', re.sub(r"^\.(?:TP|B|br|SS|SH).?", "", path.read_text().replace("\\-", "-"),
                                                         flags=re.MULTILINE))).replace('"', "").lower()
            text = run(*name.split("-", 1)[1:], "--help").stdout.partition("\n\nUsage")[2]
            for line in text.splitlines()[1:]:
                for word in re.findall(r"[\w./\[\]-]{4,}", line):
                    self.assertTrue(word.lower() in page, f"{name}: {word}")

    def test_they_have_date_and_version(self):
        version = run("--version").stdout
        header = self.pages["headway"].read_text().splitlines()[0]
        self.assertIn(f'"headway {version.split()[1]}"', header)
        date = re.search(r"^commit .*, (\d{4}-\d\d-\d\d)$", version, re.MULTILINE)
        self.assertIn(f'1 "{date[1] if date else ""}"', header)

    @unittest.skipUnless(shutil.which("man") or shutil.which("groff") or shutil.which("mandoc"), "no formatter of manual pages")
    def test_they_are_formatted_without_a_warning(self):
        formatters = [command for command in (["man", "--warnings", "-E", "UTF-8", "-l"], ["groff", "-man", "-ww", "-z"],
                                              ["mandoc", "-T", "lint", "-W", "warning"]) if shutil.which(command[0])]
        broken = self.write("broken.1", '.TH X 1 "" "" ""\n.SH NAME\nx \\- y\n.SH B\n.TP\n.nosuchrequest\n.br\n')
        environment = dict(os.environ, LC_ALL="C.UTF-8", MANROFFOPT="-ww")
        for command in formatters:
            said = subprocess.run([*command, broken], capture_output=True, text=True, check=False, env=environment)
            self.assertTrue(said.stderr or command[0] == "mandoc" and said.stdout, command)  # a fault is noticed
            for path in self.pages.values():
                said = subprocess.run([*command, path], capture_output=True, text=True, check=False, env=environment)
                with self.subTest(command=command[0], page=path.name):
                    self.assertEqual((said.stderr, said.stdout if command[0] == "mandoc" else ""), ("", ""))


class Shell:
    """A shell at a terminal, which is typed at."""

    def __init__(self, command, directory, ready):
        environment = {"PATH": f"{os.path.dirname(PROGRAM)}:/usr/bin:/bin", "TERM": "vt100", "PS1": "$ ", "HOME": directory,
                       "LC_ALL": "C", "COLUMNS": "200", "LINES": "50"}
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(directory)
            os.execvpe(command[0], command, environment)
        self.says(ready, "stty -echo 2>/dev/null; echo re''ady\n", "ready")

    def says(self, setup, line, awaited, timeout=30):
        """All that is shown after `line` is typed, until `awaited` is there."""
        os.write(self.terminal, (setup + "\n" if setup else "").encode())
        os.write(self.terminal, line.encode())
        shown, end = "", time.monotonic() + timeout
        while awaited not in shown and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.2)[0]:
                shown += os.read(self.terminal, 65536).decode(errors="replace")
        return shown

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.child, 0)


class Completion(ProgramTest):
    CALL = """
source "$1"; shift
PATH=$PROGRAM_FOLDER:$PATH
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_headway
printf '%s\\n' "${COMPREPLY[@]}"
"""

    def setUp(self):
        super().setUp()
        self.script = self.write("completion.bash", run("completion", "bash").stdout)

    def offered(self, *words):
        """What bash is offered for the last of the words, with "=" as a word of its own as bash has it."""
        done = subprocess.run(["bash", "--norc", "-c", self.CALL, "bash", self.script, *words], text=True, check=True,
                              capture_output=True, cwd=self.directory,
                              env=dict(os.environ, PROGRAM_FOLDER=os.path.dirname(PROGRAM)))
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_verbs_and_options_are_offered(self):
        self.assertEqual(set(self.offered("headway", "")), {*verbs(), "--help", "--version"})
        self.assertEqual(self.offered("headway", "so"), ["solve"])
        for verb in verbs():
            options = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", run(verb, "--help").stdout, re.MULTILINE))
            options |= set(re.findall(r"^  -\w, (--[\w-]+)", run(verb, "--help").stdout, re.MULTILINE))
            offered = [word for word in self.offered("headway", verb, "x", "-") if word.startswith("--")]
            self.assertEqual(sorted(offered), sorted(options), verb)
        self.assertEqual(self.offered("headway", "solve", "x", "--dr"), ["--dry-run"])
        self.assertEqual(self.offered("headway", "extract", "x", "--form", "con"), ["contributions"])
        self.assertEqual(self.offered("headway", "help", "sam"), ["sample"])
        self.assertEqual(self.offered("headway", "help", "mod"), ["model"])
        self.assertEqual(self.offered("headway", "help", "model.temp"), ["model.temperature"])
        self.assertEqual(self.offered("headway", "help", "see"), ["seed"])
        self.assertLessEqual({*verbs(), "model", "task", "seed"}, set(self.offered("headway", "help", "")))
        self.assertEqual(self.offered("headway", "completion", ""), ["bash", "zsh"])
        self.assertEqual(self.offered("headway", "solve", "x", "--seed", ""), [])

    def test_keys_of_set_and_their_values_are_offered(self):
        self.assertEqual(self.offered("headway", "solve", "x", "--set", "mod"), ["model."])
        self.assertIn("model.temperature=", self.offered("headway", "solve", "x", "--set", "model."))
        self.assertEqual(self.offered("headway", "solve", "x", "--set", "model.att"), ["model.attention=", "model.attention_prior="])
        self.assertEqual(self.offered("headway", "solve", "x", "--set", "see"), ["seed="])
        self.assertEqual(self.offered("headway", "solve", "x", "--set", "model.attention", "="), ["softmax", "hardmax"])
        self.assertEqual(self.offered("headway", "solve", "x", "--set", "model.attention", "=", "har"), ["hardmax"])
        self.assertEqual(self.offered("headway", "train", "x", "--set", "train.keep_weights", "=", ""), ["true", "false"])

    def test_studies_and_files_are_offered(self):
        self.write("hmm-mine.toml", "")
        shipped = run("studies", "--names").stdout.split()
        mine = [name for name in shipped if name.startswith("hmm")]
        self.assertEqual(self.offered("headway", "solve", "hmm"), [*mine, "hmm-mine.toml"])
        self.assertEqual(self.offered("headway", "evaluate", "x", "--task", "sraven-s"),
                         [name for name in shipped if name.startswith("sraven-s")])
        self.assertEqual(self.offered("headway", "validate", "hmm"), ["hmm-mine.toml"])
        self.assertEqual(self.offered("headway", "solve", "x", "-o", "sma"), ["small.toml"])
        self.assertEqual(self.offered("headway", "solve", "x", "--output", "=", "sma"), ["small.toml"])

    def test_names_with_brackets_are_offered_as_they_are(self):
        self.write("q[1].h5", "")
        self.write("q1.h5", "")
        self.assertEqual(self.offered("headway", "solve", "x", "-o", "q"), ["q1.h5", "q[1].h5"])

    def typed(self, command, ready):
        shell = Shell(command, self.directory, ready)
        self.addCleanup(shell.close)
        shown = shell.says("", "headway insp\thmm-four-p\t--set model.attention=hardm\t | grep '^attention'; echo do''ne\n", "done")
        self.assertIn('attention = "hardmax"', shown)
        shown = shell.says("", "headway help mod\t.temperat\t | head -3; echo do''ne\n", "done")
        self.assertIn("temperature  variance T of the label noise", shown)
        shown = shell.says("", "headway validate sma\t; echo do''ne\n", "done")
        self.assertIn("small.toml", shown)
        shown = shell.says("", "headway solve x --th\t0 --outp\tsma\t; echo do''ne\n", "done")
        self.assertIn("x: cannot be opened", shown)  # every option was whole

    @unittest.skipUnless(shutil.which("bash"), "no bash")
    def test_bash_completes_at_a_terminal(self):
        self.typed(["bash", "--norc", "--noprofile", "-i"], f"source {self.script}")

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_completes_at_a_terminal(self):
        os.mkdir(self.path("functions"))
        self.write("functions/_headway", run("completion", "zsh").stdout)
        self.typed(["zsh", "-f", "-i"], "fpath=($PWD/functions $fpath); autoload -Uz compinit; compinit -u -D; "
                                        "unsetopt beep list_beep auto_menu prompt_sp")


class Studies(ProgramTest):
    def test_every_shipped_study_says_what_it_is_and_how_long_it_takes(self):
        files = sorted(pathlib.Path(STUDIES).glob("*.toml"), key=lambda file: file.stem)
        listed = json.loads(run("studies", "--json").stdout)["studies"]
        self.assertEqual([study["name"] for study in listed], [file.stem for file in files])
        text = words_of(run("studies").stdout)
        for study, file in zip(listed, files):
            with self.subTest(name=study["name"]):
                self.assertTrue(os.path.samefile(study["file"], file))
                self.assertIn(f"# About: {study['about']}\n", file.read_text())
                self.assertIn(f"{study['name']} {study['about']} with {', '.join(study['verbs'])}; time: {study['time']}", text)
                self.assertLessEqual(set(study["verbs"]), set(verbs()))
                self.assertTrue(study["about"] and study["verbs"] and study["time"])
        self.assertEqual(run("studies", "--names").stdout.split(), [file.stem for file in files])

    def test_it_fits_the_terminal(self):
        self.assertLessEqual(max(map(len, on_terminal(70, "studies").splitlines())), 70)


class Version(ProgramTest):
    def test_it_has_a_date_where_its_commit_is_known(self):
        text = run("--version").stdout
        self.assertRegex(text, r"^headway \d+\.\d+\.\d+\ncommit \w+( with changes)?(, \d{4}-\d\d-\d\d)?\n")
        if not text.splitlines()[1].startswith("commit unknown"):
            self.assertRegex(text, r"\ncommit [0-9a-f]{40}( with changes)?, \d{4}-\d\d-\d\d\n")


class Instructions(ProgramTest):
    """HEADWAY_INSTRUCTIONS is the widest set that kernels may use."""

    def solved(self, allowed):
        found = run("solve", "hmm-four-paths", "-v", "--set", "model.widths=[10]", env=dict(os.environ, HEADWAY_INSTRUCTIONS=allowed))
        return found.returncode, found.stdout, found.stderr

    def test_it_takes_away_what_is_wider(self):
        status, table, said = self.solved("baseline")
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"instruction sets: sse\S+\n")
        self.assertIn("0.9510", table)

    @unittest.skipUnless(can_train(), "this build has no LibTorch")
    def test_kernels_keep_to_it(self):
        found = run("train", "fuzzy-logic-small", "--dry-run", "-v", env=dict(os.environ, HEADWAY_INSTRUCTIONS="baseline"))
        self.assertRegex(found.stderr, r"; attention kernels baseline\n")

    def test_another_word_is_refused(self):
        """Before anything else is said, also where the user chose the kernels of BLAS."""
        for chosen in ({}, {"OPENBLAS_CORETYPE": "Prescott"}):
            with unittest.mock.patch.dict(os.environ, chosen):
                status, _, said = self.solved("avx1")
            self.assertEqual((status, said), (64, 'headway: HEADWAY_INSTRUCTIONS = "avx1": must be baseline, avx2 or avx512\n'))


# (command line, words of the answer)
MISUNDERSTOOD = [
    ([], ["a verb is missing", "headway solve hmm-four-paths", "solve, align, prune"]),
    (["slove", "x"], ["slove: no such verb; did you mean solve?", "solve, align, prune"]),
    (["xyzzy"], ["xyzzy: no such verb\n"]),
    (["--wdth"], ["--wdth: no such option", "a verb comes first"]),
    (["solve"], ["solve needs FILE: study (TOML)", "for example: headway solve hmm-four-paths", "headway studies"]),
    (["prune"], ["prune needs FILE", "for example: headway prune"]),
    (["merge"], ["merge needs FILE: result of one part", "for example: headway merge"]),
    (["evaluate"], ["evaluate needs FILE: result of headway train"]),
    (["completion"], ["completion needs SHELL: bash or zsh"]),
    (["completion", "fish"], ["fish: must be bash or zsh"]),
    (["solve", "x", "--wdth", "3"], ["--wdth: solve has no such option; did you mean --set model.widths=3?"]),
    (["solve", "--wdth", "3"], ["did you mean --set model.widths=3?"]),
    (["solve", "x", "--temperature=0.1"], ["did you mean --set model.temperature=0.1?"]),
    (["solve", "x", "--widths", "[10, 20]"], ["did you mean --set 'model.widths=[10, 20]'?"]),
    (["solve", "x", "--model.width"], ["did you mean --set model.widths=...?"]),
    (["sample", "x", "--draws", "9"], ["did you mean --set sample.draws=9?"]),
    (["solve", "x", "--theads", "3"], ["--theads: solve has no such option; did you mean --threads?"]),
    (["solve", "x", "--jobs", "3"], ["--jobs: solve has no such option; it is an option of train"]),
    (["validate", "x", "--form"], ["it is an option of extract"]),
    (["solve", "x", "--bogus"], ["--bogus: solve has no such option\n"]),
    (["solve", "x", "-"], ["-: solve has no such option\n"]),
    (["solve", "x", "y"], ["y: one argument too many; usage: headway solve [OPTION]... FILE"]),
    (["studies", "x"], ["x: one argument too many"]),
    (["solve", "x", "--seed"], ["--seed: needs a value, --seed N"]),
    (["solve", "x", "--seed", "1.5"], ["--seed: 1.5: must be a whole number from 0 to 9223372036854775807"]),
    (["train", "x", "--jobs", "0"], ["--jobs: 0: must be a whole number from 1 to 4096"]),
    (["solve", "x", "-o", "a", "-o", "b"], ["--output: is given more than once"]),
    (["solve", "x", "-o", ""], ["--output: must not be empty"]),
    (["solve", "x", "-q", "-v"], ["--quiet and --verbose: only one of them can be given"]),
]


class CommandLine(ProgramTest):
    def test_what_is_misunderstood_is_answered(self):
        for arguments, words in MISUNDERSTOOD:
            with self.subTest(arguments=arguments):
                self.check(run(*arguments), 64, *words)


if __name__ == "__main__":
    unittest.main()
