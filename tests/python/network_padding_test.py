"""Whatever stands behind the mask changes nothing: tokens, numbers that are none, and the side of the padding. Needs PyTorch; parts
need transformers."""

import importlib.util
import itertools
import tempfile
import unittest
import warnings
from pathlib import Path

import h5py
import numpy as np

import headway

HAVE_TORCH = importlib.util.find_spec("torch") is not None
HAVE_ALL = HAVE_TORCH and importlib.util.find_spec("transformers") is not None
if HAVE_TORCH:
    import torch
if HAVE_ALL:
    import transformers
    from contributions_test import SIGNS, P, S, encoded, make_model

    from headway.heads.network_blocks import stack_of

READOUTS, FORMS = ("first_token", "last_token", "mean"), ("attention", "contributions")


def right_padded(count, tokens):
    mask = torch.ones(count, tokens, dtype=torch.long)
    mask[1, 4:] = mask[2, 2:] = mask[5, 3:] = 0
    return mask


def to_the_left(batch):
    """The same texts with their padding before them."""
    mask = batch["attention_mask"]
    shifts = (mask.shape[1] - mask.sum(1)).tolist()
    return {key: torch.stack([row.roll(shift) for row, shift in zip(value, shifts)]) for key, value in batch.items()}


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class Tokens(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "padded.h5"
        warnings.simplefilter("ignore")

    def measured(self, model, batch, readout):
        """Every number that Headway says of these examples."""
        options = {"readout": readout, "batch_size": 4, "penalty": 1.0}
        found = {mode: headway.ablate_heads(model, batch, SIGNS, mode=mode, **options)["loss_rise"] for mode in ("zero", "mean", "resample")}
        found["sensitivity"] = headway.gradient_sensitivity(model, batch, SIGNS, **options)["sensitivity"]
        found["entropy"] = headway.head_baselines(model, batch, batch_size=4)["attention_entropy"]
        ranking = headway.rank_heads(model, batch, SIGNS, theory=False, progress=False, **options)
        found |= {f"ranking: {name}": ranking[name] for name in ("removal_mean_refitted", "removal_zero_fixed", "gradient", "cut_without_theory")}
        for form in FORMS:
            headway.from_hugging_face(self.path, model, batch, SIGNS, form=form, layers=[-1], readout=readout, batch_size=4, dtype="float64",
                                      overwrite=True)
            with h5py.File(self.path) as file:
                if form == "contributions":
                    found[form] = file["train/path_features"][()]
                else:
                    real = batch["attention_mask"].numpy() == 1
                    attention = np.moveaxis(file["train/attention/layer_1"][()], 1, 3)  # [P, S, S, H]
                    found[form] = np.concatenate([one[own][:, own].reshape(-1) for one, own in zip(attention, real)])
        return found

    def assert_same(self, found, expected, tolerance):
        for name, values in expected.items():
            with self.subTest(name=name):
                self.assertGreater(np.abs(values).max(), 1e-6)
                np.testing.assert_allclose(found[name], values, rtol=0.0, atol=tolerance * np.abs(values).max())

    def test_tokens_behind_the_mask_and_its_side_change_nothing(self):
        """In double precision, but for Llama, whose softmax is in single. Of GPT-2 no position_ids are given: its own would count
        the padding."""
        for kind, readout in zip(("Bert", "GPT2", "Llama"), READOUTS):
            model, batch = make_model(kind), encoded() | {"attention_mask": right_padded(P, S)}
            model, tolerance = (model, 1e-3) if kind == "Llama" else (model.double(), 1e-8)
            other = torch.randint(3, 50, (P, S), generator=torch.Generator().manual_seed(5))
            other = torch.where(batch["attention_mask"] == 1, batch["input_ids"], other)
            expected = self.measured(model, batch, readout)
            with self.subTest(kind=kind, changed="tokens"):
                self.assert_same(self.measured(model, batch | {"input_ids": other}, readout), expected, tolerance)
            with self.subTest(kind=kind, changed="side"):
                self.assert_same(self.measured(model, to_the_left(batch), readout), expected, tolerance)

    def test_the_same_of_a_model_whose_heads_are_named(self):
        class Encoder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words = torch.nn.Embedding(50, 16)
                self.net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 4, 24, batch_first=True), 2,
                                                       enable_nested_tensor=False)

            def forward(self, ids, attention_mask):
                return self.net(self.words(ids), src_key_padding_mask=attention_mask == 0)
        torch.manual_seed(0)
        model, mask = Encoder().double(), right_padded(P, S)
        ids, other = (torch.randint(3, 50, (P, S), generator=torch.Generator().manual_seed(seed)) for seed in (1, 5))
        batch = {"ids": ids, "attention_mask": mask}

        def measured(given, readout):
            options = {"readout": readout, "batch_size": 4, "penalty": 1.0}
            found = {mode: headway.ablate_heads(model, given, SIGNS, mode=mode, **options)["loss_rise"] for mode in ("zero", "mean", "resample")}
            return found | {"gradient": headway.gradient_sensitivity(model, given, SIGNS, **options)["sensitivity"]}
        for readout in READOUTS:
            expected = measured(batch, readout)
            for given in (batch | {"ids": torch.where(mask == 1, ids, other)}, to_the_left(batch)):
                self.assert_same(measured(given, readout), expected, 1e-8)

    def test_resampling_takes_real_tokens_by_their_number(self):
        """With a batch of all examples each takes from the one before it in the order that the seed gives."""
        model, batch = make_model("Bert").double(), encoded() | {"attention_mask": right_padded(P, S)}
        options = {"readout": "mean", "batch_size": 16, "penalty": 1.0, "layers": [-1], "mode": "resample", "seed": 3}
        table = headway.ablate_heads(model, batch, SIGNS, **options)
        order = torch.randperm(P, generator=torch.Generator().manual_seed(3))
        batch, projection = {key: value[order] for key, value in batch.items()}, stack_of(model).blocks[-1].projection
        lengths = batch["attention_mask"].sum(1).tolist()
        whole = None

        def pooled(head):
            def replace(module, arguments):
                mixed, changed = arguments[0], arguments[0].clone()
                own = slice(6 * head, 6 * head + 6)
                for example, token in itertools.product(range(P), range(S)):
                    changed[example, token, own] = mixed[example - 1, token % lengths[example - 1], own]
                return (changed,)
            handle = projection.register_forward_pre_hook(replace) if head is not None else None
            with torch.no_grad():
                states = model(**batch).last_hidden_state
            if handle is not None:
                handle.remove()
            real = batch["attention_mask"][:, :, None]
            return ((states * real).sum(1) / real.sum(1)).numpy()

        from headway.heads.probes import fit_probe
        y = torch.tensor(SIGNS[order.numpy()])[:, None]
        whole = torch.tensor(pooled(None))
        probe = fit_probe("ridge", whole, y, 1.0)
        changes = [float((probe.losses(torch.tensor(pooled(head)), y) - probe.losses(whole, y)).mean()) for head in range(4)]
        np.testing.assert_allclose(table["loss_rise"], changes, rtol=1e-9)

    def test_positions_are_given_only_where_padding_moves_them(self):
        for kind, warned in (("GPT2", True), ("Bert", True), ("Llama", False)):
            for side, batch in (("right", encoded()), ("left", to_the_left(encoded()))):
                with self.subTest(kind=kind, side=side), warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    headway.ablate_heads(make_model(kind, "sdpa"), batch, SIGNS, layers=[-1])
                    told = [str(one.message) for one in said if "padding before" in str(one.message)]
                    self.assertEqual(len(told), int(warned and side == "left"), told)
                    if told:
                        self.assertRegex(told[0], f"train: encoded: has padding before its tokens, and {kind}Model counts it .* gives the model position_ids")
        own = {"position_ids": (encoded()["attention_mask"].cumsum(1) - 1).clamp(min=0)}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            headway.ablate_heads(make_model("GPT2"), to_the_left(encoded() | own), SIGNS, layers=[-1])

    def test_a_model_that_takes_no_positions_is_warned_of(self):
        class Other(transformers.BertModel):
            def forward(self, input_ids, attention_mask, output_attentions=False, output_hidden_states=False):
                return super().forward(input_ids, attention_mask, output_attentions=output_attentions,
                                       output_hidden_states=output_hidden_states)
        model = make_model("Bert")
        model.__class__ = Other
        with self.assertWarnsRegex(UserWarning, "Other says something else of them than without it. Pad the texts on the right"):
            headway.ablate_heads(model, to_the_left(encoded()), SIGNS, layers=[-1])


@unittest.skipUnless(HAVE_TORCH, "needs PyTorch")
class NotNumbers(unittest.TestCase):
    """A causal encoder, padded on the left: the first tokens may attend to none."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "nan.h5"
        torch.manual_seed(0)
        self.x, self.padding = torch.randn(12, 6, 8), torch.arange(6) < torch.arange(12)[:, None] % 3

    def encoder(self, layers):
        class Causal(torch.nn.Module):
            def __init__(self):
                super().__init__()
                layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
                self.net = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

            def forward(self, x, padding):
                return self.net(x, mask=torch.ones(6, 6).triu(1).bool(), src_key_padding_mask=padding)
        return Causal().eval()

    def test_rows_of_padding_that_are_no_numbers_are_not_read(self):
        for layers, form in itertools.product((1, 2), FORMS):
            model = self.encoder(layers)
            answer = model(self.x, self.padding)[:, -1].detach().double()  # with gradients, so not by the fused fast path
            if not bool(answer.isfinite().all()):
                self.skipTest("this PyTorch has no attention that takes a row without keys")
            with self.subTest(layers=layers, form=form):
                headway.from_torch(self.path, model, {"x": self.x, "padding": self.padding}, np.resize([1, -1], 12), readout="last_token",
                                   form=form, dtype="float64", overwrite=True)
                self.assertEqual(headway.check_dataset(self.path), [])
                with h5py.File(self.path) as file:
                    if form == "attention":
                        np.testing.assert_allclose(file["train/attention/layer_1"][0].sum(2), 1.0, atol=1e-6)
                        continue
                    found, expected = file["train/path_features"][()].sum(1), (answer - answer.mean(0)).numpy()
                np.testing.assert_allclose(found, np.sqrt((found ** 2).sum() / (expected ** 2).sum()) * expected, atol=1e-5 * np.abs(found).max())

    @unittest.skipUnless(HAVE_ALL, "needs transformers, too")
    def test_removal_gradient_and_entropy_do_not_read_them_either(self):
        """The last layer of a BERT leaves NaN at padding, and says the same of all real tokens."""
        model, batch = make_model("Bert").double(), encoded()
        attention = model.encoder.layer[-1].attention.self
        forward = attention.forward

        def spoilt(*arguments, **named):
            mixed, weights = forward(*arguments, **named)
            padding = batch["attention_mask"][:len(mixed)] == 0
            return mixed.masked_fill(padding[:, :, None], torch.nan), weights.masked_fill(padding[:, None, :, None], torch.nan)

        options = {"readout": "mean", "batch_size": 16, "layers": [-1]}
        calls = {**{mode: lambda mode=mode: headway.ablate_heads(model, batch, SIGNS, mode=mode, seed=1, **options)["loss_rise"]
                    for mode in ("zero", "mean")},
                 "gradient": lambda: headway.gradient_sensitivity(model, batch, SIGNS, **options)["sensitivity"],
                 "entropy": lambda: headway.head_baselines(model, batch, layers=[-1])["attention_entropy"],
                 "ranking": lambda: headway.rank_heads(model, batch, SIGNS, theory=False, progress=False, **options)["removal_mean_fixed"]}
        expected = {name: call() for name, call in calls.items()}
        attention.forward = spoilt
        for name, call in calls.items():
            with self.subTest(name=name):
                np.testing.assert_allclose(call(), expected[name], rtol=1e-9)


if __name__ == "__main__":
    unittest.main()
