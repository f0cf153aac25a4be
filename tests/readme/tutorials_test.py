"""Runs the tutorials (documents.py says how). If this machine lacks LibTorch, MPI or PyTorch, a page ends at the first block that
needs it, and the test shows as skipped."""

import ast
import inspect
import os
import re
import subprocess
import sys
import tempfile
import unittest

from documents import MACHINE, PACKAGE, PROGRAM, ROOT, TUTORIAL, DocumentTest, blocks, has_module

PAGES = ("first-study", "your-own-heads", "your-pytorch-model", "pretrained-network", "your-own-data", "compositions",
         "value-networks", "cluster-and-gpu")
MOST_LINES = 120
# Settings that take most of a minute, and shorter ones. All numbers of these blocks may differ, and the rows stay the same.
SHORTER = (("--set train.steps=1500 --set train.eval_every=500", "--set train.steps=300 --set train.eval_every=100"),
           ("--set latents.task.inputs=fixed_query", "--set latents.task.inputs=fixed_query --set latents.examples=1000"),
           ("--set prune.cumulative=false", "--set prune.cumulative=false --set prune.examples=250"))
HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"


def text_of(page):
    return (TUTORIAL / f"{page}.md").read_text()


def draw_network(folder, texts):
    """A BERT of 6 layers of 12 heads with random weights, and a tokenizer that knows the words of these texts."""
    import tokenizers
    import torch
    import transformers

    words = sorted(set(re.findall(r"\w+", texts)))
    numbers = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *words])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    torch.manual_seed(1)
    config = transformers.BertConfig(vocab_size=len(numbers), hidden_size=48, num_hidden_layers=6, num_attention_heads=12,
                                     intermediate_size=32, max_position_embeddings=64, initializer_range=0.3)
    transformers.BertModel(config).save_pretrained(folder)


class PageTest(DocumentTest):
    def run_page(self, page, text=None):
        with tempfile.TemporaryDirectory() as folder:
            self.assertGreater(self.run_document(text or text_of(page), folder), 0)


class TutorialsTest(PageTest):
    def test_first_study_prints_what_it_shows(self):
        self.run_page("first-study")

    def test_your_own_heads_prints_what_it_shows(self):
        self.run_page("your-own-heads")

    def test_compositions_prints_what_it_shows(self):
        text = text_of("compositions")
        for asked, shorter in SHORTER:
            self.assertEqual(text.count(asked), 1)
            text = text.replace(asked, shorter)
        self.run_page("compositions", text)

    def test_your_own_data_prints_what_it_shows(self):
        self.run_page("your-own-data")

    def test_value_networks_prints_what_it_shows(self):
        self.run_page("value-networks")

    def test_cluster_and_gpu_prints_what_it_shows(self):
        self.run_page("cluster-and-gpu")


@unittest.skipUnless(has_module("torch"), "needs PyTorch")
class PyTorchTest(PageTest):
    def test_your_pytorch_model_prints_what_it_shows(self):
        self.run_page("your-pytorch-model")

    def test_the_last_example_of_the_readme_prints_what_it_shows(self):
        """With model and data of the page that it names."""
        last = [block for block in blocks((ROOT / "README.md").read_text()) if "headway.rank_heads(" in block.text]
        self.assertEqual(len(last), 1)
        model, training, *_ = (block.text for block in blocks(text_of("your-pytorch-model")) if block.kind == "python")
        self.run_page("README", f"{MACHINE}\n```python\n{model}{training}x, y = draw(300)\n{last[0].text}```\n"
                                f"```text\n{last[0].shown}```\n")


@unittest.skipUnless(has_module("torch") and has_module("transformers"), "needs PyTorch and transformers")
class PretrainedTest(PageTest):
    """This page asks for a network from a hub. Here it gets a small drawn one, so all numbers differ."""

    def test_pretrained_network_runs_on_a_drawn_one(self):
        self.run_with_drawn_network("pretrained-network")

    def run_with_drawn_network(self, page):
        text = text_of(page)
        self.assertEqual(text.count(f'"{HUB_NAME}"'), 1)
        with tempfile.TemporaryDirectory() as folder:
            draw_network(folder, (TUTORIAL.parents[2] / "data/texts/house_rules.txt").read_text())
            text = text.replace(HUB_NAME, folder)
            self.run_page(page, re.sub(rf"(?<!{MACHINE}\n)```(python|console)\n", rf"{MACHINE}\n```\1\n", text))


class PagesTest(unittest.TestCase):
    """What holds of every page, whatever this machine has."""

    def test_the_index_names_every_page(self):
        self.assertEqual({path.stem for path in TUTORIAL.glob("*.md")}, {*PAGES, "README"})
        index = text_of("README")
        self.assertEqual([page for page in PAGES if f"]({page}.md)" in index], list(PAGES))

    def test_they_are_short(self):
        for page in PAGES:
            self.assertLessEqual(len(text_of(page).splitlines()), MOST_LINES, page)

    def test_calls_of_headway_have_its_names_and_arguments(self):
        """This includes the page that is skipped without PyTorch."""
        sys.path.insert(0, str(PACKAGE))
        import headway

        calls = []
        for page in PAGES:
            for block in blocks(text_of(page)):
                if block.kind != "python":
                    continue
                for node in ast.walk(ast.parse(block.text)):
                    if isinstance(node, ast.Call) and re.fullmatch(r"headway\.\w+", ast.unparse(node.func)):
                        calls.append(node.func.attr)
                        self.check_call(headway, node.func.attr, node)
        self.assertGreaterEqual(set(calls), {"Dataset", "prune", "rank_heads"})

    def test_twenty_questions_have_a_command_each(self):
        rows = re.findall(r"^\| ([^|]*\?) \| `([^`]*)` \| ([^|]*\.) \|$", (TUTORIAL.parent / "questions.md").read_text(), re.MULTILINE)
        self.assertEqual(len(rows), 20)
        sys.path.insert(0, str(PACKAGE))
        import headway

        for question, command, _ in rows:
            with self.subTest(question):
                words = command.split()
                if command.startswith("headway."):
                    call = ast.parse(command, mode="eval").body
                    self.check_call(headway, call.func.attr, call)
                    continue
                program = [PROGRAM] if words[0] == "headway" else [sys.executable, "-m", "headway"]
                arguments = words[1:] if words[0] == "headway" else words[3:]
                help_text = subprocess.run([*program, arguments[0], "--help"], text=True, capture_output=True, check=True,
                                           env=os.environ | {"PYTHONPATH": str(PACKAGE)}).stdout
                for option in (word for word in arguments if word.startswith("-")):
                    self.assertIn(option, help_text)
                for key in re.findall(r"--set ([\w.]+)=", command):
                    done = subprocess.run([PROGRAM, "help", key], capture_output=True, check=False)
                    self.assertEqual(done.returncode, 0, key)

    def check_call(self, package, name, node):
        if name in ("ablate_heads", "gradient_sensitivity", "head_baselines") and not has_module("torch"):
            self.assertIn(name, package.__all__)
            tree = ast.parse((PACKAGE / "headway" / "heads" / "head_removal.py").read_text())
            (made,) = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name]
            known, open_ended = {one.arg for one in made.args.args + made.args.kwonlyargs}, False
        else:
            signature = inspect.signature(getattr(package, name))
            parameters = signature.parameters.values()
            known = {one.name for one in parameters}
            open_ended = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
            if all(keyword.arg for keyword in node.keywords):  # what has no default must be given
                signature.bind(*node.args, **{keyword.arg: keyword.value for keyword in node.keywords})
        for keyword in node.keywords:
            self.assertTrue(keyword.arg is None or open_ended or keyword.arg in known, f"{name}({keyword.arg}=)")


if __name__ == "__main__":
    unittest.main()
