"""Pretrained transformers taken apart: contributions, removal of heads, sensitivity. Needs PyTorch and transformers."""

import importlib.util
import inspect
import os
import tempfile
import unittest
import warnings
from pathlib import Path

import h5py
import numpy as np

import headway

P, S, N, HEADS, LAYERS = 9, 7, 24, 4, 3
HAVE_ALL = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
if HAVE_ALL:
    import torch
    import transformers

    from headway.heads import probes
    from headway.heads.network_blocks import stack_of

SIGNS = np.resize([1.0, -1.0], P)


def with_parameters(model):
    """Sets parameters so that no bias is 0 and no norm the identity: code that forgets one then fails."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter += 0.4 * torch.randn(parameter.shape, generator=generator)
            else:
                parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return model.eval()


def make_model(kind, attention="eager", **changes):
    sizes = {"vocab_size": 50, "hidden_size": N, "num_hidden_layers": LAYERS,
             "num_attention_heads": HEADS, "intermediate_size": 16, "max_position_embeddings": 16}
    sizes |= {
        "Albert": {"embedding_size": 6},
        "DistilBert": {"vocab_size": 50, "dim": N, "n_layers": LAYERS, "n_heads": HEADS,
                       "hidden_dim": 16, "max_position_embeddings": 16},
        "GPT2": {"vocab_size": 50, "n_embd": N, "n_layer": LAYERS, "n_head": HEADS,
                 "n_positions": 16, "bos_token_id": 1, "eos_token_id": 2},
        "Gemma": {"head_dim": 6, "num_key_value_heads": 2}, "Llama": {"num_key_value_heads": 2},
        "Qwen2": {"num_key_value_heads": 2}}.get(kind, {}) | changes
    torch.manual_seed(2)
    config = getattr(transformers, f"{kind}Config")(attn_implementation=attention, **sizes)
    return with_parameters(getattr(transformers, f"{kind}Model")(config))


def encoded(count=P, seed=1):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.ones(count, S, dtype=torch.long)
    mask[1, 4:] = mask[2, 2:] = 0
    return {"input_ids": torch.randint(3, 50, (count, S), generator=generator), "attention_mask": mask}


def pooled(states, mask, readout):
    if readout == "first_token":
        return states[:, 0]
    if readout == "last_token":
        return states[torch.arange(len(states)), mask.sum(1) - 1]
    return (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)


def hidden(model, batch):
    """What the network says of every token."""
    with torch.no_grad():
        return model(**batch, output_hidden_states=True).hidden_states[-1].double()


class ModelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "parts.h5"
        warnings.simplefilter("ignore")

    def features(self, *arguments, call=headway.from_hugging_face, **options):
        """Path features of the training examples, and the names of the parts."""
        call(self.path, *arguments, form="contributions", batch_size=4, dtype="float64",
             overwrite=True, **options)
        self.assertEqual(headway.check_dataset(self.path), [])
        with h5py.File(self.path) as file:
            names = [list(file[f"names/{layer}"].asstr()) for layer in file["names"]]
            self.assertEqual(list(file["train/path_features"].attrs["heads"]), list(map(len, names)))
            return file["train/path_features"][()], names

    def assert_proportional(self, found, expected, tolerance=1e-5):
        """Checks that both are equal up to means over examples and one factor, which all parts share."""
        centred = expected - expected.mean(0)
        factor = np.sqrt((found ** 2).sum() / (centred ** 2).sum())
        np.testing.assert_allclose(found, factor * centred, atol=tolerance * np.abs(found).max())
        self.assertGreater(np.abs(found).max(), 1e-3)


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class Contributions(ModelTest):
    def test_parts_sum_up_to_the_readout(self):
        kinds = ["Albert", "Bert", "DistilBert", "GPT2", "Llama", "Roberta"]
        for kind in kinds + ["Qwen2"] * hasattr(transformers, "Qwen2Config"):
            model, batch = make_model(kind), encoded()
            readout = "last_token" if kind in ("GPT2", "Llama") else "mean"
            own = pooled(hidden(model, batch), batch["attention_mask"], readout).numpy()
            for layers, levels in ((None, 1), ([-1], 1), ([1], 1), ([1, 3], 2)):
                with self.subTest(kind=kind, layers=layers):
                    found, names = self.features(model, batch, SIGNS, layers=layers, readout=readout)
                    self.assertEqual(found.shape, (P, (HEADS + 2) ** levels, N))
                    self.assert_proportional(found.sum(1), own)
                    self.assertAlmostEqual((found ** 2).mean(), 1.0)
                    last = (layers or [-1])[-1] % (LAYERS + 1) or LAYERS
                    self.assertEqual(names[-1][:2], [f"L{last} residual", f"L{last}H1"])
                    self.assertEqual(names[-1][-1], f"L{last} feed-forward")

    def test_parts_of_bert_are_those_of_the_formula(self):
        """u = z + b + sum_h o_h, h1 = N_1 u, out = N_2(h1 + mlp), with frozen norms."""
        model, batch = make_model("Bert"), encoded()
        with torch.no_grad():
            said = model(**batch, output_attentions=True, output_hidden_states=True)
            layer, z = model.encoder.layer[-1], said.hidden_states[-2]
            values = layer.attention.self.value(z).reshape(P, S, HEADS, -1)
            mixed = torch.einsum("bhqk,bkhd->bhqd", said.attentions[-1], values)
            weight = layer.attention.output.dense.weight.reshape(N, HEADS, -1)
            heads = torch.einsum("bhqd,nhd->hbqn", mixed, weight)
            first, last = layer.attention.output.LayerNorm, layer.output.LayerNorm
            residual = z + layer.attention.output.dense.bias
            u = residual + heads.sum(0)
            between = first(u)
            mlp = layer.output.dense(layer.intermediate(between))

            def frozen(norm, x, stream):
                deviation = (stream.var(-1, unbiased=False, keepdim=True) + norm.eps).sqrt()
                return norm.weight * (x - x.mean(-1, keepdim=True)) / deviation

            def outer(x):
                return frozen(last, x, between + mlp)
            parts = [outer(frozen(first, residual, u) + first.bias) + last.bias,
                     *(outer(frozen(first, o, u)) for o in heads), outer(mlp)]
        expected = torch.stack([pooled(part, batch["attention_mask"], "mean") for part in parts], 1)
        found, _ = self.features(model, batch, SIGNS, readout="mean")
        self.assert_proportional(found, expected.double().numpy())

    def test_a_head_of_grouped_queries_is_the_loss_without_it(self):
        """Without its last norm and feed-forward block a Llama loses a head's part with the head."""
        model, batch = make_model("Llama"), encoded()
        layer = model.layers[-1]
        with torch.no_grad():
            layer.mlp.down_proj.weight.zero_()
            model.norm.weight.fill_(1.0)
        seen = []
        model.norm.register_forward_pre_hook(lambda module, x: seen.append(x[0].double()))
        hidden(model, batch)
        scale = (seen[0].square().mean(-1, keepdim=True) + model.norm.variance_epsilon).rsqrt()
        expected = []
        weight = layer.self_attn.o_proj.weight
        whole = weight.detach().clone()
        for head in range(HEADS):
            with torch.no_grad():
                weight.copy_(whole)
                weight[:, head * N // HEADS:(head + 1) * N // HEADS] = 0.0
            hidden(model, batch)
            expected.append(pooled((seen[0] - seen[-1]) * scale, batch["attention_mask"], "last_token"))
        with torch.no_grad():
            weight.copy_(whole)
        found, _ = self.features(model, batch, SIGNS, readout="last_token")
        np.testing.assert_array_equal(found[:, -1], 0.0)
        expected = torch.stack(expected, 1).detach().numpy()
        ours = found[:, 1:-1]
        self.assert_proportional(ours, expected, 1e-4)

    def test_two_layers_refine_one(self):
        """Paths summed over their upper parts are the contributions of the lower layer alone."""
        model, batch = make_model("GPT2"), encoded()
        both, _ = self.features(model, batch, SIGNS, layers=[2, 3], readout="mean")
        lower, _ = self.features(model, batch, SIGNS, layers=[2], readout="mean")
        upper, _ = self.features(model, batch, SIGNS, layers=[3], readout="mean")
        both = both.reshape(P, HEADS + 2, HEADS + 2, N)
        self.assert_proportional(both.sum(2), lower)
        self.assert_proportional(both.sum(1), upper)

    def test_real_labels_lose_their_mean_in_every_split(self):
        model, batch = make_model("Bert"), encoded()
        y = np.linspace(0.0, 2.0, P)
        headway.from_hugging_face(self.path, model, batch, y, form="contributions", readout="mean",
                                  test={"encoded": encoded(4, 2), "labels": [0, 1, 2, 3]},
                                  sets={"validation": {"encoded": batch, "labels": y}})
        with h5py.File(self.path) as file:
            np.testing.assert_allclose(file["train/labels"], y - 1.0)
            np.testing.assert_allclose(file["test/labels"], np.arange(4) - 1.0)
            np.testing.assert_allclose(file["train/path_features"][()].mean(0), 0.0, atol=1e-6)
            np.testing.assert_array_equal(file["sets/validation/path_features"],
                                          file["train/path_features"])
            self.assertEqual(file.attrs["readout"], "mean")
            self.assertIn("parts of layer 3 of BertModel", file.attrs["note"])

    def test_whole_numbers_without_classes_get_a_warning(self):
        """As from headway.solve, once, and where the caller is."""
        model, batch, numbers = make_model("Bert"), encoded(), np.resize([1, 2], P)
        x = torch.randn(P, S, 8)
        encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)
        given = {"form": "contributions", "readout": "mean", "overwrite": True}
        calls = (lambda **also: headway.from_hugging_face(self.path, model, batch, numbers, **given, **also),
                 lambda **also: headway.from_torch(self.path, encoder, x, numbers, **given, **also),
                 lambda **also: headway.ablate_heads(model, batch, numbers, layers=[-1], **also),
                 lambda **also: headway.gradient_sensitivity(model, batch, numbers, layers=[-1], **also),
                 lambda **also: headway.rank_heads(model, batch, numbers, layers=[-1], theory=False, progress=False,
                                                   **also))
        words = r"labels: hold whole numbers such as \[1, 2\].* subtract 1 and give classes=2; classes=0"
        for call in calls:
            with self.assertWarnsRegex(UserWarning, words) as caught:
                call()
            self.assertEqual(Path(caught.filename).name, Path(__file__).name)
            self.assertEqual(sum("whole numbers" in str(one.message) for one in caught.warnings), 1)
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message="labels: hold")
                call(classes=0)

    def test_parts_of_a_transformer_encoder_sum_up_to_its_answer(self):
        mask = encoded()["attention_mask"]
        for norm_first in (False, True):
            for batch_first in (False, True):
                torch.manual_seed(4)
                layer = torch.nn.TransformerEncoderLayer(
                    8, 2, 16, dropout=0.3, batch_first=batch_first, norm_first=norm_first,
                    activation="gelu")
                model = torch.nn.TransformerEncoder(
                    layer, 2, torch.nn.LayerNorm(8) if norm_first else None,
                    enable_nested_tensor=False)
                with_parameters(model)
                x = torch.randn(P, S, 8)
                turned = torch.nn.Module()
                turned.inner = model
                turned.forward = lambda src, padding: model(
                    src if batch_first else src.swapaxes(0, 1), src_key_padding_mask=padding)
                found, _ = self.features(turned, {"src": x, "padding": mask == 0}, SIGNS,
                                         call=headway.from_torch, readout="mean", layers=[-2, -1])
                with torch.no_grad():
                    own = turned.forward(x, mask == 0)
                own = own if batch_first else own.swapaxes(0, 1)
                self.assertEqual(found.shape, (P, 16, 8))
                self.assert_proportional(found.sum(1), pooled(own, mask, "mean").numpy())

    def test_bad_arguments_and_models_are_refused(self):
        batch = encoded()

        def refused(model, *words, error=headway.UsageError, **changes):
            options = dict(form="contributions", labels=SIGNS, encoded=batch) | changes
            with self.assertRaises(error) as caught:
                headway.from_hugging_face(self.path, model, **options)
            for word in words:
                self.assertIn(word, str(caught.exception))
            self.assertEqual(os.listdir(self.path.parent), [])

        bert = make_model("Bert")
        if hasattr(transformers.PreTrainedModel, "_supports_sdpa") and int(torch.__version__.split(".")[0]) > 1:  # from 4.36 on
            refused(make_model("Bert", "sdpa"), "returns no attention", "eager")
        if hasattr(transformers, "GemmaConfig"):
            refused(make_model("Gemma"), "sum up to the network's readout but for", "below 1e-05")
        refused(make_model("Bert").to(torch.bfloat16), "but for", "single or double precision")
        refused(torch.nn.Linear(2, 2), "Linear has no blocks that are known", "BERT")
        for several in ({"num_hidden_groups": 3}, {"inner_group_num": 2}):
            refused(make_model("Albert", **several), "ALBERT of several groups", "allowed: one")
        refused(bert, "layers: holds 4; the model has 3", layers=[4])
        refused(bert, "layers: is [-4]", layers=[-4])
        refused(bert, "layers: is [3, -1]", layers=[3, -1])
        refused(bert, "form: is 'parts'", form="parts")
        refused(bert, "head_names", head_names=[["a"]])
        refused(bert, "readout: is 'CLS'", readout="CLS")
        refused(bert, "labels[2]: 2.0; allowed with classes=2", "from 0 to 1", classes=2, labels=np.arange(P),
                error=headway.BadDataError)
        refused(bert, "train: encoded: have 9 examples, and labels have shape [3]", labels=[1, 2, 3],
                error=headway.BadDataError)
        none = {key: value[:0] for key, value in batch.items()}
        refused(bert, "train: encoded: 0 examples; allowed: at least 1", encoded=none, labels=[],
                error=headway.BadDataError)
        refused(bert, "test: encoded: 0 examples", test={"encoded": none, "labels": []}, error=headway.BadDataError)
        refused(bert, "the same on all examples", labels=SIGNS[:2], error=headway.BadDataError,
                encoded={"input_ids": torch.ones(2, S, dtype=torch.long)})


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class Removal(ModelTest):
    options = dict(readout="mean", batch_size=4, penalty=1.0)

    def probe_losses(self, model, batch, probe):
        """Squared error, or cross-entropy, of every example."""
        embedding = pooled(hidden(model, batch), batch["attention_mask"], "mean")
        return probe.losses(embedding, torch.tensor(SIGNS)[:, None]).numpy()

    def fitted(self, model, batch, kind="ridge"):
        embedding = pooled(hidden(model, batch), batch["attention_mask"], "mean")
        return probes.fit_probe(kind, embedding, torch.tensor(SIGNS)[:, None], 1.0)

    def test_zero_is_a_projection_without_the_head(self):
        for kind, probe in (("Bert", "ridge"), ("Llama", "logistic")):
            model, batch = make_model(kind), encoded()
            fitted = self.fitted(model, batch, probe)
            whole = self.probe_losses(model, batch, fitted)
            table = headway.ablate_heads(model, batch, SIGNS, mode="zero", probe=probe, **self.options)
            self.assertEqual((table.attributes["mode"], table.attributes["examples"]), ("zero", P))
            self.assertAlmostEqual(table.attributes["loss"], whole.mean(), places=6)
            grid = table.grid("loss_rise")
            self.assertEqual(grid.shape, (LAYERS, HEADS))
            weights = [block.projection.weight for block in stack_of(model).blocks]
            for layer, head in ((0, 0), (1, 3), (2, 2)):
                kept, part = weights[layer].detach().clone(), slice(head * 6, head * 6 + 6)
                with torch.no_grad():
                    weights[layer][:, part] = 0.0
                change = self.probe_losses(model, batch, fitted) - whole
                with torch.no_grad():
                    weights[layer].copy_(kept)
                self.assertAlmostEqual(grid[layer, head], change.mean(), delta=1e-5 * abs(change).max())
                self.assertAlmostEqual(table.grid("loss_rise_error")[layer, head],
                                       change.std(ddof=1) / P ** 0.5, delta=1e-5 * abs(change).max())

    def test_the_default_is_that_of_rank_heads(self):
        defaults = {inspect.signature(call).parameters["mode"].default for call in (headway.ablate_heads, headway.rank_heads)}
        self.assertEqual(defaults, {"mean"})
        model, batch = make_model("Bert"), encoded()
        tables = [headway.ablate_heads(model, batch, SIGNS, layers=[-1], **mode, **self.options) for mode in ({}, {"mode": "mean"})]
        np.testing.assert_array_equal(*(table["loss_rise"] for table in tables))
        self.assertEqual(tables[0].attributes["mode"], "mean")

    def test_mean_and_resample_agree_where_nothing_varies(self):
        """Heads whose output is the same for all tokens and examples can be replaced by either."""
        model, batch = make_model("Bert"), encoded()
        with torch.no_grad():
            for layer in model.encoder.layer:
                layer.attention.self.value.weight.zero_()
        for mode in ("mean", "resample"):
            table = headway.ablate_heads(model, batch, SIGNS, mode=mode, **self.options)
            np.testing.assert_allclose(table["loss_rise"], 0.0, atol=1e-6)
        zero = headway.ablate_heads(model, batch, SIGNS, layers=[-1], mode="zero", **self.options)
        self.assertGreater(np.abs(zero["loss_rise"]).max(), 1e-3)

    def test_losses_are_measured_on_the_test_set_with_classes(self):
        model, batch = make_model("GPT2"), encoded()
        held_out = {"encoded": encoded(6, 5), "labels": np.arange(6) % 3}
        for probe in ("ridge", "logistic"):
            table = headway.ablate_heads(model, batch, np.arange(P) % 3, classes=3, test=held_out,
                                         layers=[2], mode="resample", probe=probe, readout="last_token")
            self.assertEqual(table.names, ("L2H1", "L2H2", "L2H3", "L2H4"))
            self.assertEqual((table.attributes["set"], table.attributes["examples"]), ("test", 6))
            self.assertIn(table.attributes["penalty"], probes.PENALTIES)
            self.assertTrue(np.isfinite(table["accuracy_drop"]).all())

    def test_sensitivity_is_that_of_finite_differences(self):
        for kind in ("Albert", "Bert", "GPT2"):
            model, batch = make_model(kind).double(), encoded()
            fitted = self.fitted(model, batch)
            table = headway.gradient_sensitivity(model, batch, SIGNS, layers=[1, 3], **self.options)
            found = table.grid("sensitivity")
            self.assertEqual(found.shape, (2, HEADS))
            blocks = stack_of(model).blocks
            for row, layer, head in ((0, 1, 1), (1, 3, 2)):
                losses = []
                for factor in (1.0 + 1e-4, 1.0 - 1e-4):
                    calls = []

                    def scale(module, mixed):
                        calls.append(1)
                        if blocks[layer - 1].projection is blocks[0].projection is blocks[1].projection:
                            if len(calls) != layer:  # a projection that all layers share
                                return None
                        changed = mixed[0].clone()
                        changed[..., head * 6:head * 6 + 6] *= factor
                        return (changed,)
                    hook = blocks[layer - 1].projection.register_forward_pre_hook(scale)
                    losses.append(self.probe_losses(model, batch, fitted))
                    hook.remove()
                slope = np.abs(losses[0] - losses[1]) / 2e-4
                self.assertAlmostEqual(found[row, head], slope.mean(), delta=1e-5 * slope.max())
            np.testing.assert_allclose(np.square(table.grid("sensitivity_in_layer")).sum(1), 1.0)

    def test_baselines_are_norms_of_weights_and_entropies(self):
        model, batch = make_model("Llama"), encoded()
        table = headway.head_baselines(model, batch, layers=[2])
        attention = model.layers[1].self_attn
        v = attention.v_proj.weight.reshape(-1, 6, N)[-1]  # grouped queries or not, the last head reads the last value
        o = attention.o_proj.weight[:, 18:]
        self.assertAlmostEqual(table["weight_norm"][3], float((o @ v).norm().detach()), places=5)
        with torch.no_grad():
            a = model(**batch, output_attentions=True).attentions[1].double().numpy()
        real = batch["attention_mask"].numpy().astype(bool)
        rows = a.transpose(0, 2, 1, 3)[real]
        entropy = -(rows * np.log(np.where(rows > 0, rows, 1.0))).sum(-1).mean(0)
        np.testing.assert_allclose(table["attention_entropy"], entropy, atol=1e-6)

    def test_probes_minimise_their_loss(self):
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(40, 3, generator=generator, dtype=torch.float64)
        y = torch.sign(x[:, :1] + 0.5 * torch.randn(40, 1, generator=generator, dtype=torch.float64))
        for kind in ("ridge", "logistic"):
            probe = probes.fit_probe(kind, x, y, 2.0)
            z = (x - x.mean(0)) / x.std(0, unbiased=False)
            weights, offset = probe.weights.requires_grad_(), probe.offset.requires_grad_()
            loss = (probe.losses(x, y).mean() + 2.0 / 40 * weights.square().sum())
            for gradient in torch.autograd.grad(loss, (weights, offset)):
                self.assertLess(float(gradient.abs().max()), 1e-6)
            np.testing.assert_allclose((z @ weights + offset).detach(), probe.answers(x).detach())
            self.assertGreater(float(probe.right(x, y).mean()), 0.7)
        wide = torch.randn(10, 30, generator=generator, dtype=torch.float64)
        a, b = probes._ridge(wide, y[:10], 0.3)[0], probes._ridge(
            torch.cat([wide] + [torch.zeros(25, 30, dtype=torch.float64)]),
            torch.cat([y[:10] - y[:10].mean(), torch.zeros(25, 1, dtype=torch.float64)]), 0.3)[0]
        np.testing.assert_allclose(a, b, atol=1e-10)  # both sides of P = N

    def test_layers_that_share_their_weights(self):
        """In ALBERT all layers call one projection. Only the call that belongs to the layer loses the head."""
        model, batch = make_model("Albert"), encoded()
        fitted, projection = self.fitted(model, batch), stack_of(model).blocks[0].projection
        whole = self.probe_losses(model, batch, fitted)
        table = headway.ablate_heads(model, batch, SIGNS, mode="zero", **self.options)
        self.assertEqual(table.names[HEADS], "L2H1")
        for layer, head in ((0, 3), (1, 1), (2, 0)):
            calls = []

            def remove(module, mixed):
                calls.append(mixed[0].clone())
                calls[-1][..., head * 6:head * 6 + 6] = 0.0
                return (calls[-1],) if len(calls) == layer + 1 else None
            hook = projection.register_forward_pre_hook(remove)
            change = self.probe_losses(model, batch, fitted) - whole
            hook.remove()
            self.assertEqual(len(calls), LAYERS)
            self.assertGreater(abs(change).max(), 1e-3)
            self.assertAlmostEqual(table.grid("loss_rise")[layer, head], change.mean(),
                                   delta=1e-5 * abs(change).max())
        plain = headway.head_baselines(model, batch)
        norms, entropies = plain.grid("weight_norm"), plain.grid("attention_entropy")
        np.testing.assert_array_equal(norms[1:], norms[:-1])
        self.assertGreater(np.abs(np.diff(entropies, axis=0)).min(), 0.0)

    def test_what_has_no_heads_examples_or_readout_is_refused(self):
        model, batch = make_model("Bert"), encoded()
        encoder = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
        none = {key: value[:0] for key, value in batch.items()}
        few = {key: value[:2] for key, value in batch.items()}
        faults = [(headway.UsageError, "model: Linear has no heads that are known", torch.nn.Linear(2, 2), batch,
                   SIGNS),
                  (headway.UsageError, "model: str has no heads that are known", "bert", batch, SIGNS),
                  (headway.UsageError, "encoded: is Tensor; allowed: the mapping", model, batch["input_ids"], SIGNS),
                  (headway.BadDataError, "encoded: 0 examples; allowed: at least 1", model, none, SIGNS[:0])]
        unfit = [(headway.BadDataError, "labels: are [1.0] for all 9 examples", model, batch, np.ones(P)),
                 (headway.BadDataError, "labels: one class has 1 of 2 examples", model, few, SIGNS[:2])]
        measures = {headway.ablate_heads: faults + unfit, headway.gradient_sensitivity: faults + unfit,
                    lambda model, batch, labels: headway.head_baselines(model, batch): faults}
        for measure, cases in measures.items():
            for error, words, *arguments in cases:
                with self.subTest(measure=measure, words=words), self.assertRaises(error) as caught:
                    measure(*arguments)
                self.assertIn(words, str(caught.exception))
        with self.assertRaisesRegex(headway.UsageError, "model: TransformerEncoder has no heads that are known"):
            headway.head_baselines(encoder, batch)
        with self.assertRaisesRegex(headway.BadDataError, "test: encoded: 0 examples"):
            headway.ablate_heads(model, batch, SIGNS, test={"encoded": none, "labels": []})

    def test_its_attributes_are_those_of_the_documentation(self):
        table = headway.ablate_heads(make_model("Bert"), encoded(), SIGNS, layers=[-1], **self.options)
        self.assertEqual(list(table.attributes), ["loss", "accuracy", "examples", "mode", "probe", "penalty", "readout", "set"])
        for words in ("`attributes` has loss and accuracy", "mode, probe, penalty, readout", 'table.attributes["loss"]'):
            self.assertIn(words, headway.ablate_heads.__doc__)

    def test_bad_arguments_are_refused(self):
        model, batch = make_model("Bert"), encoded()
        for words, changes in (("mode: is 'half'", {"mode": "half"}), ("probe: is 'svm'", {"probe": "svm"}),
                               ("layers: holds 7", {"layers": [7]}), ("readout: is", {"readout": "x"}),
                               ("penalty: is 0", {"penalty": 0.0}), ("penalty: is 'a'", {"penalty": "a"}),
                               ("penalty: is nan", {"penalty": np.nan}), ("penalty: is True", {"penalty": True}),
                               ("seed: is -1", {"seed": -1}), ("seed: is 1.5", {"seed": 1.5}), ("batch_size", {"batch_size": 0}),
                               (r"test: is \['labels'\]", {"test": {"labels": SIGNS}}),
                               ("batch of one", {"mode": "resample", "batch_size": 1})):
            with self.assertRaisesRegex(headway.UsageError, words):
                headway.ablate_heads(model, batch, SIGNS, **changes)
        with self.assertRaisesRegex(headway.UsageError, "no classes"):
            headway.ablate_heads(model, batch, np.arange(P), probe="logistic")
        with self.assertRaisesRegex(headway.BadDataError, r"encoded: have 9 examples, and labels have shape \[3\]"):
            headway.gradient_sensitivity(model, batch, SIGNS[:3])
        with self.assertRaisesRegex(headway.UsageError, "penalty: is -1"):
            headway.gradient_sensitivity(model, batch, SIGNS, penalty=-1)
        torch.nn.init.constant_(model.encoder.layer[1].output.dense.bias, torch.nan)
        for measure in (headway.ablate_heads, headway.gradient_sensitivity):
            with self.assertRaisesRegex(headway.BadDataError, "embeddings: 9 of 9 are not finite"):
                measure(model, batch, SIGNS)


if __name__ == "__main__":
    unittest.main()
