"""Data sets from networks: stand-ins for Hugging Face and PyTorch models, and the real ones where they are there."""

import importlib.util
import os
import tempfile
import unittest
import warnings
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np

import headway
from headway.heads import network_batches
from network_stand_ins import HEADS, P, S, FakeEncoder, FakeTransformer, draw, numbered, signs


class NetworkTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "network.h5"

    def read(self):
        self.assertEqual(headway.check_dataset(self.path), [])
        file = h5py.File(self.path)
        self.addCleanup(file.close)
        return file

    def assert_refused(self, error, call, *words):
        """The error has all these words, and nothing is left on the disk."""
        with self.assertRaises(error) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertEqual(os.listdir(self.path.parent), [])


class Attentions(NetworkTest):
    def test_arrays_arrive_as_they_are(self):
        inputs, attentions, _ = draw(1)
        test = dict(zip(("inputs", "attentions"), draw(2, 3)), labels=signs(3))
        validation = dict(zip(("inputs", "attentions"), draw(3, 4)), labels=signs(4), ids="abcd")
        headway.from_attentions(self.path, inputs=inputs, attentions=attentions, labels=signs(P),
                                readout="last_token", test=test, sets={"validation": validation},
                                dtype="float64")
        file = self.read()
        np.testing.assert_array_equal(file["train/inputs"], inputs)
        np.testing.assert_array_equal(file["train/labels"], signs(P))
        np.testing.assert_allclose(file["train/attention/layer_2"], attentions[1], atol=1e-15)
        np.testing.assert_array_equal(file["test/inputs"], test["inputs"])
        np.testing.assert_allclose(file["sets/validation/attention/layer_1"],
                                   validation["attentions"][0], atol=1e-15)
        self.assertEqual(list(file["sets/validation/ids"].asstr()), list("abcd"))
        self.assertEqual(file.attrs["readout"], "last_token")
        self.assertIn("takes as given", file.attrs["note"])
        self.assertEqual(list(file["names/layer_2"].asstr()),
                         ["L2H1", "L2H2", "L2H3"])
        self.assertNotIn("mask", file["train"])

    def test_padding_gets_no_attention(self):
        inputs, attentions, mask = draw(1, masked=True)
        inputs[1, 3] = np.nan  # what stands at padding does not matter
        attentions[0][1, :, 4] = np.nan
        headway.from_attentions(self.path, inputs=inputs, attentions=attentions, labels=signs(P),
                                mask=mask, readout="first_token")
        file = self.read()
        self.assertEqual(file["train/attention/layer_1"].dtype, np.float32)
        np.testing.assert_array_equal(file["train/mask"], mask)
        stored = file["train/attention/layer_2"][()]
        self.assertEqual(np.abs(stored[1, :, :, 3:]).max(), 0.0)
        self.assertEqual(np.abs(stored[1, :, 3:]).max(), 0.0)
        expected = attentions[1][1, :, :3, :3]
        np.testing.assert_allclose(stored[1, :, :3, :3],
                                   expected / expected.sum(axis=2, keepdims=True), rtol=1e-6)

    def test_blocks_make_no_difference(self):
        self.addCleanup(setattr, network_batches, "ROWS_IN_MEMORY", network_batches.ROWS_IN_MEMORY)
        inputs, attentions, mask = draw(1, masked=True)
        given = dict(inputs=inputs, attentions=attentions, labels=signs(P), mask=mask, readout="mean")
        headway.from_attentions(self.path, **given)
        whole = self.path.read_bytes()
        network_batches.ROWS_IN_MEMORY = 2 * 3 * S * S
        headway.from_attentions(self.path, **given, overwrite=True)
        self.assertEqual(self.path.read_bytes(), whole)

    def test_arrays_in_files_are_read_block_by_block(self):
        network_batches.ROWS_IN_MEMORY, before = 3 * S * S, network_batches.ROWS_IN_MEMORY
        self.addCleanup(setattr, network_batches, "ROWS_IN_MEMORY", before)
        inputs, attentions, _ = draw(1)
        with tempfile.TemporaryDirectory() as folder, h5py.File(f"{folder}/a.h5", "w") as source:
            lazy = [source.create_dataset(f"a{i}", data=a) for i, a in enumerate(attentions)]
            headway.from_attentions(self.path, inputs=source.create_dataset("x", data=inputs),
                                    attentions=lazy, labels=signs(P), readout="mean")
        np.testing.assert_allclose(self.read()["train/attention/layer_1"], attentions[0], rtol=1e-6)

    def test_classes_become_targets_of_the_theory(self):
        inputs, attentions, _ = draw(1)
        given = dict(inputs=inputs, attentions=attentions, readout="mean", overwrite=True)
        headway.from_attentions(self.path, **given, labels=np.arange(P) % 2, classes=2)
        np.testing.assert_array_equal(self.read()["train/labels"], -signs(P))
        headway.from_attentions(self.path, **given, labels=np.arange(P) % 3, classes=3)
        np.testing.assert_array_equal(self.read()["train/labels"], np.eye(3)[np.arange(P) % 3])

    def test_what_is_taken_with_a_warning(self):
        inputs, attentions, _ = draw(1)
        given = dict(inputs=inputs, readout="mean", overwrite=True)
        with self.assertWarnsRegex(UserWarning, "labels: hold whole numbers such as .* real targets"):
            headway.from_attentions(self.path, **given, attentions=attentions, labels=np.arange(P) % 3)
        with self.assertWarnsRegex(UserWarning, "train: attention: rows sum to 1 within 0.01 only"):
            headway.from_attentions(self.path, **given, attentions=[0.99 * attentions[0], attentions[1]],
                                    labels=signs(P))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            headway.from_attentions(self.path, **given, labels=signs(P),
                                    attentions=[a.astype(np.float16) for a in attentions])

    def test_bad_arrays_are_refused(self):
        inputs, attentions, mask = draw(1, masked=True)
        good = dict(inputs=inputs, attentions=attentions, labels=signs(P), readout="mean")

        def refused(error, changes, *words):
            self.assert_refused(error, lambda: headway.from_attentions(self.path, **good | changes),
                                *words)

        def broken(index, value, layer=1):
            arrays = [array.copy() for array in attentions]
            arrays[layer][index] = value
            return {"attentions": arrays}

        bad, usage = headway.BadDataError, headway.UsageError
        refused(bad, broken((4, 2, 1, 0), 0.9), "train: attention of layer 2: row [4, 2, 1]",
                "after the softmax")
        refused(bad, broken((4, 2, 1, 0), -0.01), "smallest entry is -0.01")
        hidden = np.ma.array(inputs, mask=np.zeros(inputs.shape))
        hidden[3, 1, 2] = np.ma.masked
        refused(bad, {"inputs": hidden}, "train: inputs[3, 1, 2]: is masked; allowed: numbers")
        refused(bad, {"labels": np.ma.masked_equal(signs(P), -1)}, "train: labels[", "is masked")
        refused(bad, broken((6, 0, 0, 0), np.nan, 0), "attention of layer 1: row [6, 0, 0]", "nan")
        only_padding = np.zeros((HEADS[0], S))
        only_padding[:, 4] = 1.0
        refused(bad, broken((2, slice(None), 0), only_padding, 0) | {"mask": mask},
                "layer 1: row [2, 0, 0]", "on masked tokens")
        refused(bad, {"attentions": [attentions[0][:3], attentions[1]]}, "layer 1: have shape [3, 2")
        refused(bad, {"attentions": [attentions[0], attentions[1][:, :, :, :3]]}, "allowed: [7, H, 5, 5]")
        refused(usage, {"attentions": attentions[0]}, "no list of layers")
        refused(usage, {"attentions": None}, "train: attentions is missing")
        refused(bad, {"inputs": inputs[:, :, 0]}, "inputs: have shape [7, 5]")
        refused(bad, {"inputs": np.where(inputs > 2, np.inf, inputs)}, "train/inputs[1, 2, 2]: inf")
        refused(bad, {"mask": mask[:3]}, "mask: has shape [3, 5]; allowed: [7, 5]")
        refused(bad, {"mask": mask[:, :3]}, "mask: has shape [7, 3]")
        refused(bad, {"mask": np.zeros((P, S))}, "train: mask[0]: no token is 1")
        refused(bad, {"labels": signs(3)}, "train: inputs: have 7 examples, and labels have shape [3]")
        refused(bad, {"labels": np.full(P, "a")}, "train: labels: have shape [7] and type <U1; allowed: numbers [7]")
        none = {"inputs": inputs[:0], "attentions": [array[:0] for array in attentions], "labels": signs(0)}
        refused(bad, none, "train: inputs: 0 examples; allowed: at least 1")
        refused(bad, {"test": none}, "test: inputs: 0 examples")
        refused(bad, {"labels": np.arange(P), "classes": 2}, "whole numbers from 0 to 1")
        refused(usage, {"classes": 1}, "classes: is 1")
        refused(usage, {"readout": "CLS"}, "readout: is 'CLS'; allowed: last_token")
        refused(usage, {"dtype": "float16"}, "dtype: is 'float16'")
        refused(bad, {"ids": ["a"]}, "train/ids: shape [1]")
        refused(bad, {"head_names": [["a", "b"]]}, "head_names: has 1 layers; the attention has 2")
        refused(bad, {"head_names": [["a", "b"], ["c"]]}, "names/layer_2: shape [1]", "H_2 = 3 as in")
        refused(usage, {"sets": {"a/b": {}}}, "'a/b' is not a valid set name")
        refused(usage, {"sets": {"a": {"inputs": inputs}}}, "sets/a: attentions is missing")
        refused(usage, {"test": {"input": inputs}}, "test: has the unknown key 'input'")
        refused(usage, {"test": inputs}, "test: is ndarray")
        other = dict(zip(("inputs", "attentions"), draw(2)), labels=signs(P))
        refused(bad, {"test": other | {"attentions": other["attentions"][::-1]}},
                "test: [S, N_0] = [5, 4] and heads [3, 2]; the first examples have")
        refused(bad, {"test": other | {"labels": np.ones((P, 2))}}, "test/labels: shape [7, 2]", "C = 1 as in train/labels")

    def test_an_existing_file_is_kept(self):
        inputs, attentions, _ = draw(1)
        given = dict(inputs=inputs, attentions=attentions, labels=signs(P), readout="mean")
        self.path.write_text("mine")
        with self.assertRaises(headway.CannotWriteError):
            headway.from_attentions(self.path, **given)
        with self.assertRaises(headway.BadDataError):
            headway.from_attentions(self.path, **given | {"labels": np.full(P, np.nan)}, overwrite=True)
        self.assertEqual(self.path.read_text(), "mine")
        self.assertEqual(os.listdir(self.path.parent), ["network.h5"])

    def test_many_paths_are_warned_of_and_too_many_refused(self):
        inputs = np.zeros((2, 2, 1))
        uniform = np.full((2, 12, 2, 2), 0.5)
        given = dict(inputs=inputs, labels=signs(2), readout="mean")
        with self.assertWarnsRegex(UserWarning, "make 1728 attention paths"):
            headway.from_attentions(self.path, attentions=[uniform] * 3, **given)
        self.path.unlink()
        self.assert_refused(headway.UsageError, lambda: headway.from_attentions(
            self.path, attentions=[uniform] * 12, **given), "8916100448256 attention paths", "layers")


class HuggingFace(NetworkTest):
    def test_all_layers_are_kept_by_default(self):
        model = FakeTransformer(masked=True)
        headway.from_hugging_face(self.path, model, model.encoded(), signs(P), batch_size=3)
        self.assertEqual(model.calls, [3, 3, 3, 1])  # the first batch also tells whether the model is causal
        self.assertTrue(model.training)
        file = self.read()
        np.testing.assert_array_equal(file["train/mask"], model.mask)
        real = model.mask.astype(bool)
        np.testing.assert_allclose(file["train/inputs"][()][real], model.inputs[real], rtol=1e-6)
        np.testing.assert_allclose(file["train/attention/layer_2"][0], model.attentions[1][0],
                                   rtol=1e-6)
        self.assertEqual(file.attrs["readout"], "first_token")
        for word in ("FakeTransformer", "all layers", "as given"):
            self.assertIn(word, file.attrs["note"])

    def test_the_inputs_are_those_of_the_first_layer_kept(self):
        model = FakeTransformer()
        headway.from_hugging_face(self.path, model, model.encoded(), signs(P), layers=[2],
                                  readout="last_token", note="mine")
        file = self.read()
        np.testing.assert_allclose(file["train/inputs"], model.inputs + 10, rtol=1e-6)
        self.assertEqual(list(file["train/attention"]), ["layer_1"])
        np.testing.assert_allclose(file["train/attention/layer_1"], model.attentions[1], rtol=1e-6)
        self.assertEqual(file["names/layer_1"].asstr()[2], "L2H3")
        self.assertEqual((file.attrs["note"], file.attrs["readout"]), ("mine", "last_token"))

    def test_further_splits_are_written_too(self):
        model = FakeTransformer(count=12)
        headway.from_hugging_face(
            self.path, model, model.encoded(range(6)), np.arange(6) % 2, classes=2,
            test={"encoded": model.encoded([6, 7]), "labels": [0, 1]},
            sets={"validation": {"encoded": model.encoded([11]), "labels": [1], "ids": ["last"]}})
        file = self.read()
        np.testing.assert_array_equal(file["test/labels"], [-1, 1])
        np.testing.assert_allclose(file["test/inputs"], model.inputs[6:8], rtol=1e-6)
        np.testing.assert_allclose(file["sets/validation/attention/layer_1"],
                                   model.attentions[0][11:], rtol=1e-6)

    def test_bad_arguments_and_models_are_refused(self):
        model = FakeTransformer()

        def refused(words, broken=model, error=headway.UsageError, **changes):
            arguments = dict(encoded=model.encoded(), labels=signs(P)) | changes
            self.assert_refused(error, lambda: headway.from_hugging_face(self.path, broken, **arguments),
                                *words)

        def answering(**answer):
            return lambda **kwargs: SimpleNamespace(**answer)

        hidden = [model.inputs]
        refused(["eager"], answering(attentions=None, hidden_states=hidden))
        refused(["eager"], answering(attentions=(None, None), hidden_states=hidden))
        refused(["get_encoder"], answering(encoder_attentions=(1,)))
        refused(["no hidden_states"], answering(attentions=model.attentions, hidden_states=None))
        refused(["allowed: [7, H, 5, 5]"], answering(attentions=[np.ones((P, S, S))], hidden_states=hidden),
                error=headway.BadDataError)
        refused(["answered for 2 of 7"], answering(attentions=[a[:2] for a in model.attentions],
                                                  hidden_states=[model.inputs[:2]]),
                error=headway.BadDataError)
        refused(["layers: holds 3; the model has 2"], layers=[1, 3])
        refused(["layers: is [2, 1]"], layers=[2, 1])
        refused(["layers: is []"], layers=[])
        refused(["batch_size: is 0"], batch_size=0)
        for wrong in ("a", [1.5], True, 1.5, ["1"], {1: 2}):
            refused([f"layers: is {wrong!r}; allowed: whole numbers"], layers=wrong)
        refused(["encoded: is list"], encoded=["a text"])
        refused(["train: encoded: 0 examples"], encoded=model.encoded([]), labels=signs(0), error=headway.BadDataError)
        refused(["train: encoded: have 7 examples, and labels have shape [3]"], labels=signs(3),
                error=headway.BadDataError)
        refused(["token_type_ids: has shape [6, 5], and input_ids has 7 examples"], encoded=model.encoded() | {"token_type_ids": np.ones((6, S))})
        refused(["test: encoded is missing"], test={"labels": signs(2)})
        self.assertTrue(model.training)

    def test_an_error_of_the_model_is_its_own(self):
        def lost(**kwargs):
            raise FileNotFoundError("weights.bin")

        encoded = FakeTransformer().encoded()
        self.assert_refused(FileNotFoundError, lambda: headway.from_hugging_face(
            self.path, lost, encoded, signs(P)), "weights.bin")

        def plain(input_ids):
            return input_ids

        words = "model: function cannot be asked for its attention"
        self.assert_refused(headway.UsageError, lambda: headway.from_hugging_face(self.path, plain, encoded, signs(P)), words)
        plain.config = None  # a model of transformers says itself what it does not take
        self.assert_refused(TypeError, lambda: headway.from_hugging_face(self.path, plain, encoded, signs(P)), "output_")


class Torch(NetworkTest):
    def test_modules_are_recorded_in_the_order_of_their_calls(self):
        for batch_first in (True, False):
            model, x = FakeEncoder(batch_first), numbered()
            headway.from_torch(self.path, model, x, signs(P), readout="mean", batch_size=4,
                               overwrite=True)
            file = self.read()
            np.testing.assert_allclose(file["train/inputs"], x, rtol=1e-6)
            for layer in (1, 2):
                np.testing.assert_allclose(file[f"train/attention/layer_{layer}"],
                                           model.attentions[layer - 1], rtol=1e-6)
            self.assertNotIn("mask", file["train"])
            file.close()

    def test_the_model_sees_no_difference(self):
        model = FakeEncoder()
        model.layers[0].training = False
        forward = model.layers[0].forward
        headway.from_torch(self.path, model, numbered(), signs(P), readout="mean")
        nothing, averaged = model.seen[0]
        self.assertIsNone(nothing)
        np.testing.assert_allclose(averaged, model.attentions[1].mean(axis=1))
        self.assertEqual(model.modes, [False])
        self.assertEqual([module.training for module in model.modules()], [False, False, True])
        self.assertEqual(model.layers[0].forward, forward)
        self.assertNotIn("forward", vars(model.layers[0]))

    def test_padding_from_the_call_or_given(self):
        for padding, given in ((lambda m: m == 0, False), (lambda m: np.where(m, 0.0, -np.inf), False),
                               (lambda m: np.zeros(m.shape, bool), True)):
            model = FakeEncoder()
            inputs = {"x": numbered(), "padding": padding(model.mask)}
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                headway.from_torch(self.path, model, inputs, signs(P), readout="mean", overwrite=True, batch_size=2,
                                   mask=model.mask if given else None)
            self.assertEqual(len(caught), int(given))  # the stand-in attends to padding
            if given:
                self.assertRegex(str(caught[0].message), r"train: mask\[1, [34]\]: padding, yet attention module 1 gives it a weight of 0")
            with self.read() as file:
                np.testing.assert_array_equal(file["train/mask"], model.mask)
                self.assertEqual(np.abs(file["train/attention/layer_2"][1, :, :, 3:]).max(), 0.0)

    def test_a_layer_can_be_chosen_and_inputs_be_tuples(self):
        model, x = FakeEncoder(), numbered()
        headway.from_torch(self.path, model, (x,), signs(P), readout="mean", layers=[2],
                           test={"inputs": (x[:2],), "labels": signs(2)})
        file = self.read()
        np.testing.assert_allclose(file["test/attention/layer_1"], model.attentions[1][:2], rtol=1e-6)
        np.testing.assert_allclose(file["train/inputs"], (x + 100) % 100, rtol=1e-6)

    def test_cross_attention_to_as_many_tokens_is_no_layer(self):
        class Decoder(FakeEncoder):
            def __call__(self, x):
                first, second = self.layers
                return second(first(x, x, x)[0] % 100, x + 1, x + 1)

        model = Decoder()
        headway.from_torch(self.path, model, numbered(), signs(P), readout="mean")
        file = self.read()
        self.assertEqual(list(file["train/attention"]), ["layer_1"])
        np.testing.assert_allclose(file["train/attention/layer_1"], model.attentions[0], rtol=1e-6)

    def test_bad_arguments_and_models_are_refused(self):
        model = FakeEncoder()

        def refused(words, broken, inputs=numbered()):
            self.assert_refused(headway.UsageError, lambda: headway.from_torch(
                self.path, broken, inputs, signs(P), readout="mean"), words)

        class Bare(FakeEncoder):
            def modules(self):
                return [self]

        class Idle(FakeEncoder):
            def __call__(self, x):
                return x

        class Twice(FakeEncoder):
            def __call__(self, x):
                return super().__call__(super().__call__(x) % 100)

        class Cross(FakeEncoder):
            def __call__(self, x):
                return self.layers[0](x, x[:, :2], x[:, :2])

        class Extra(FakeEncoder):
            def __init__(self, name, value):
                super().__init__()
                setattr(self.layers[1], name, value)

        refused("has add_bias_kv or add_zero_attn", Extra("bias_k", np.zeros(4)))
        refused("has add_bias_kv or add_zero_attn", Extra("add_zero_attn", True))
        refused("holds no torch.nn.MultiheadAttention", Bare())
        refused("calls none of its", Idle())
        refused("calls none of its", Cross())
        refused("twice", Twice())
        refused("without a batch", FakeEncoder(), (numbered()[:, 0],))
        self.assertNotIn("forward", vars(model.layers[0]))


@unittest.skipUnless(importlib.util.find_spec("torch"), "needs PyTorch")
class RealTorch(NetworkTest):
    def test_tensors_with_gradients_and_in_bf16_are_arrays(self):
        import torch
        rows = torch.tensor(np.random.default_rng(1).standard_normal((P, 4, 5)), dtype=torch.float32)
        for tensor in (rows.clone().requires_grad_(), rows.bfloat16().requires_grad_(), list(rows.clone().requires_grad_())):
            headway.write_dataset(self.path, train_path_features=tensor, train_labels=torch.tensor(signs(P)), heads=[2, 2],
                                  overwrite=True)
            with self.read() as file:
                np.testing.assert_allclose(file["train/path_features"], rows, rtol=1e-2)

    def test_one_layer_may_be_given_as_a_number(self):
        import torch
        model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
        headway.from_torch(self.path, model, torch.randn(P, S, 8), signs(P), readout="mean", layers=-1)
        with self.read() as file:
            self.assertEqual([name for name in file["names/layer_1"].asstr()], ["L2H1", "L2H2"])
            self.assertIn("TransformerEncoder, layer 2, ", file.attrs["note"])

    def test_what_does_not_fit_the_model_is_named(self):
        import torch
        x = torch.randn(P, S, 8)
        first, second = (torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=one), 2)
                         for one in (True, False))
        for form in ("attention", "contributions"):
            for error, words, model, inputs, layers in (
                    (headway.UsageError, ["model: is 3; allowed: a torch.nn.Module"], 3, x, None),
                    (headway.UsageError, ["model: has no blocks with attention", "layers=[-1]"], torch.nn.Linear(8, 8), x, [-1]),
                    (headway.BadDataError, ["saw 5 examples in a batch of 7", "batch_first=False"], second, x, None),
                    (headway.UsageError, ["inputs: is list; allowed: a tensor, a tuple of tensors, or"], first,
                     list(x), None),
                    (headway.UsageError, ["inputs: is a tuple that holds list"], first, tuple(x.tolist()), None),
                    (headway.UsageError, ["inputs: hold something without examples"], first, torch.tensor(1.0), None),
                    (headway.BadDataError, ["inputs: have 5 examples, and labels have shape [7]"], first, x[0], None),
                    (headway.BadDataError, ["inputs: have 5 examples, and labels have shape [7]"], first,
                     x.transpose(0, 1), None),
                    (headway.BadDataError, ["train: inputs: 0 examples; allowed: at least 1"], first, x[:0], None),
                    (headway.UsageError, ["inputs: are of type torch.float64", "weights of the model of torch.float32"],
                     first, x.double(), None)):
                with self.subTest(form=form, words=words), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.assert_refused(error, lambda: headway.from_torch(self.path, model, inputs, signs(P), readout="mean",
                                                                          form=form, layers=layers), *words)

    def test_a_transformer_encoder_is_written(self):
        import torch
        torch.manual_seed(1)
        for norm_first in (False, True):
            layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True,
                                                     norm_first=norm_first)
            model = torch.nn.TransformerEncoder(layer, 2)
            model.train()
            x, mask = torch.randn(P, S, 8), torch.tensor(draw(1, masked=True)[2])
            inputs = {"src": x, "src_key_padding_mask": mask == 0}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                headway.from_torch(self.path, model, inputs, signs(P), readout="mean", batch_size=3,
                                   dtype="float64", overwrite=True)
                self.assertTrue(all(module.training for module in model.modules()))
                model.eval()
                first = model.layers[0]
                seen = first.norm1(x) if norm_first else x
                expected = first.self_attn(seen, seen, seen, mask == 0, average_attn_weights=False)[1]
            with self.read() as file:
                self.assertEqual(sorted(file["train/attention"]), ["layer_1", "layer_2"])
                np.testing.assert_array_equal(file["train/mask"], mask)
                np.testing.assert_allclose(file["train/inputs"][0], seen[0].detach(), atol=1e-6)
                real = mask.bool().numpy()[:, None, :, None]
                np.testing.assert_allclose(file["train/attention/layer_1"],
                                           np.where(real, expected.detach(), 0), atol=1e-6)


@unittest.skipUnless(importlib.util.find_spec("transformers") and importlib.util.find_spec("torch"),
                     "needs PyTorch and transformers")
class RealHuggingFace(NetworkTest):
    def model(self, precision="float32"):
        import torch
        import transformers
        torch.manual_seed(2)
        config = transformers.BertConfig(
            vocab_size=50, hidden_size=12, num_hidden_layers=3, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=16, attn_implementation="eager")
        return transformers.BertModel(config).to(getattr(torch, precision))

    def encoded(self):
        import torch
        return {"input_ids": torch.randint(0, 50, (P, S), generator=torch.Generator().manual_seed(1)),
                "attention_mask": torch.tensor(draw(1, masked=True)[2])}

    def test_a_bert_is_written(self):
        import torch
        for precision, tolerance in (("float32", 1e-6), ("bfloat16", 2e-2)):
            model, encoded = self.model(precision), self.encoded()
            model.train()
            headway.from_hugging_face(self.path, model, encoded, signs(P), layers=[2, 3], batch_size=2,
                                      overwrite=True)
            self.assertTrue(model.training)
            model.eval()
            with torch.no_grad():
                said = model(**encoded, output_attentions=True, output_hidden_states=True)
            real = encoded["attention_mask"].bool().numpy()
            with self.read() as file:
                np.testing.assert_allclose(file["train/inputs"][()][real],
                                           said.hidden_states[1].float().numpy()[real], atol=tolerance)
                np.testing.assert_allclose(
                    file["train/attention/layer_2"],
                    np.where(real[:, None, :, None], said.attentions[2].float(), 0), atol=tolerance)
                self.assertIn("BertModel, layers 2, 3", file.attrs["note"])


if __name__ == "__main__":
    unittest.main()
