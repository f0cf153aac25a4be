"""Removal of heads in any PyTorch model: modules that a user names, and hooks written by hand beside them. Needs PyTorch; parts
need transformers."""

import functools
import importlib.util
import unittest
import warnings

import numpy as np

import headway

HAVE_ALL = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
if HAVE_ALL:
    import torch
    from contributions_test import HEADS, LAYERS, SIGNS, encoded, make_model, with_parameters
    from torch import nn
    from torch.nn import functional

P, S, N, SIZE = 9, 7, 24, 6
REAL = np.ones((P, S), int)
REAL[1, 4:] = REAL[2, 2:] = 0


def left(mask):
    """The same lengths, padded on the left."""
    return mask[:, ::-1].copy()


if HAVE_ALL:
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.proj = nn.Linear(N, 3 * N), nn.Linear(N, N)

        def forward(self, x, mask):
            q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, SIZE)).permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
            return self.proj(mixed.transpose(1, 2).flatten(2))

    class HandWritten(nn.Module):
        """Attention as anybody writes it, with dropout, and a norm before each layer."""

        def __init__(self, layers=2):
            super().__init__()
            self.blocks = nn.ModuleList(nn.ModuleDict({"norm": nn.LayerNorm(N), "attn": Attention(), "drop": nn.Dropout(0.5)})
                                        for _ in range(layers))

        def forward(self, x, mask=None):
            mask = torch.ones(x.shape[:2], dtype=torch.bool) if mask is None else mask
            for block in self.blocks:
                x = x + block["drop"](torch.tanh(block["attn"](block["norm"](x), mask)))
            return x

    class SequenceFirst(nn.Module):
        """An encoder that wants the token as its first index, inside a model that wants the example."""

        def __init__(self):
            super().__init__()
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(N, HEADS, 16), 2, enable_nested_tensor=False)

        def forward(self, x, padding):
            return self.encoder(x.transpose(0, 1), src_key_padding_mask=padding).transpose(0, 1)

    class Pooled(nn.Module):
        """Shares one attention module between its layers, and answers for the whole example."""

        def __init__(self):
            super().__init__()
            self.attention = Attention()

        def forward(self, x, mask):
            for _ in range(3):
                x = x + torch.tanh(self.attention(x, mask))
            return (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)


def drawn(make, seed=1):
    torch.manual_seed(seed)
    return with_parameters(make())


def tokens(seed=4):
    return torch.randn(P, S, N, generator=torch.Generator().manual_seed(seed))


def embedding(answer, mask, readout):
    """What the readout reads, written a second time."""
    answer, mask = answer.detach().double().numpy(), np.asarray(mask)
    rows = np.arange(len(answer))
    if readout == "first_token":
        return answer[rows, mask.argmax(1)]
    if readout == "last_token":
        return answer[rows, mask.shape[1] - 1 - mask[:, ::-1].argmax(1)]
    return np.where(mask[:, :, None] == 1, answer, 0.0).sum(1) / mask.sum(1, keepdims=True)


class NamedTest(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def changes(self, embed, own, table):
        """Checks a table of ablate_heads to the relative error `own`: embed(layer, head) gives embeddings by a removal that was written
        by hand, and embed() those of the whole network."""
        from headway.heads.probes import fit_probe
        y = torch.as_tensor(SIGNS)[:, None]
        whole = torch.as_tensor(embed())
        probe = fit_probe("ridge", whole, y, 1.0)
        before = probe.losses(whole, y)
        self.assertAlmostEqual(table.attributes["loss"], float(before.mean()), delta=own)  # labels are 1 and -1
        largest = 0.0
        for row, (layer, head) in enumerate(zip(table.layers, table.heads)):
            after = probe.losses(torch.as_tensor(embed(layer, head)), y)
            largest = max(largest, abs(float((after - before).mean())))
            self.assertAlmostEqual(table["loss_rise"][row], float((after - before).mean()), delta=own * max(1.0, float(after.mean())))
        self.assertGreater(largest, 1e-3)


def by_hand(model, run, modules, readout, mask, count=None, means=None):
    """embed(layer, head) with a hook in front of the projection of that layer. count: calls of a module in a pass, where it is
    shared. means: of what enters each projection; default: zero."""
    def embed(layer=0, head=0):
        calls = []

        def hook(module, arguments):
            calls.append(1)
            if count is not None and len(calls) != layer:
                return None
            mixed = arguments[0].clone()
            part = slice((head - 1) * SIZE, head * SIZE)
            mixed[..., part] = 0.0 if means is None else means[layer - 1][part]
            return (mixed,)
        handle = modules[layer - 1].register_forward_pre_hook(hook) if layer else None
        with torch.no_grad():
            answer = run(model)
        if handle:
            handle.remove()
        return embedding(answer, mask, readout) if answer.ndim == 3 else answer.double().numpy()
    return embed


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class AgreesWithHooks(NamedTest):
    options = dict(penalty=1.0, batch_size=4)
    zero = options | {"mode": "zero"}

    def test_a_hand_written_module_padded_right_and_left_in_train_mode(self):
        for mask in (REAL, left(REAL)):
            model, x, real = drawn(HandWritten).double(), tokens().double(), torch.as_tensor(mask == 1)
            heads = {f"blocks.{i}.attn.proj": HEADS for i in range(2)}
            embed = by_hand(model, lambda one: one(x, real), [block["attn"].proj for block in model.blocks], "mean", mask)
            for how in ((x, real), {"x": x, "mask": real}):
                model.train()
                table = headway.ablate_heads(model, how, SIGNS, heads=heads, mask=mask, readout="mean", **self.zero)
                self.assertTrue(all(module.training for module in model.modules()))
                model.eval()
                self.assertEqual(table.names[HEADS], "blocks.1.attn.proj H1")
                self.changes(embed, 1e-9, table)
            projections, entered = [block["attn"].proj for block in model.blocks], []
            handles = [one.register_forward_pre_hook(lambda module, given: entered.append(given[0].detach())) for one in projections]
            model(x, real)
            for handle in handles:
                handle.remove()
            embed = by_hand(model, lambda one: one(x, real), projections, "mean", mask, means=[one[real].mean(0) for one in entered])
            self.changes(embed, 1e-9, headway.ablate_heads(model, (x, real), SIGNS, heads=heads, mask=mask, readout="mean", mode="mean",
                                                           **self.options))

    def test_a_transformer_encoder_whose_projection_is_never_called(self):
        """torch.nn.MultiheadAttention hands the weights of out_proj to a function. Columns that are zero do by hand what removal does."""
        batch_first = nn.TransformerEncoder(nn.TransformerEncoderLayer(N, HEADS, 16, batch_first=True), 2)
        for mask in (REAL, left(REAL)):
            padding = torch.as_tensor(mask == 0)
            for make, prefix, given in ((lambda: batch_first, "", {"src": tokens(), "src_key_padding_mask": padding}),
                                        (SequenceFirst, "encoder.", (tokens(), padding))):
                model = drawn(make).double()
                given = {key: value.double() if value.is_floating_point() else value for key, value in given.items()} if isinstance(
                    given, dict) else (given[0].double(), padding)
                layers = model.get_submodule(prefix[:-1]).layers if prefix else model.layers

                def embed(layer=0, head=0):
                    weight = layers[layer - 1].self_attn.out_proj.weight
                    kept, part = weight.detach().clone(), slice((head - 1) * SIZE, head * SIZE)
                    with torch.no_grad():
                        if layer:
                            weight[:, part] = 0.0
                        answer = model(**given) if isinstance(given, dict) else model(*given)
                        weight.copy_(kept)
                    return embedding(answer, mask, "mean")
                own = {} if isinstance(given, dict) else {"mask": mask}
                names = [{f"{prefix}layers.{i}.self_attn{end}": HEADS for i in range(2)} for end in ("", ".out_proj")]
                for heads in (None, *names):
                    table = headway.ablate_heads(model, given, SIGNS, heads=heads, readout="mean", **own, **self.zero)
                    self.changes(embed, 1e-9, table)

    def test_models_of_transformers_by_name_and_by_kind(self):
        for kind, name, of in (("GPT2", "h.{}.attn.c_proj", lambda m, i: m.h[i].attn.c_proj),
                               ("Llama", "layers.{}.self_attn.o_proj", lambda m, i: m.layers[i].self_attn.o_proj)):
            for padded in ("right", "left"):
                model, batch = make_model(kind, "sdpa"), encoded()
                if padded == "left":
                    batch["attention_mask"] = batch["attention_mask"].flip(1)
                    batch["position_ids"] = (batch["attention_mask"].cumsum(1) - 1).clamp(min=0)
                heads = {name.format(i): HEADS for i in range(LAYERS)}
                modules = [of(model, i) for i in range(LAYERS)]
                embed = by_hand(model, lambda one: one(**batch).last_hidden_state, modules, "last_token", batch["attention_mask"])
                named = headway.ablate_heads(model, batch, SIGNS, heads=heads, **self.zero)
                known = headway.ablate_heads(model, batch, SIGNS, **self.zero)
                self.assertEqual((named.attributes["readout"], known.attributes["readout"]), ("last_token", "last_token"))
                for table in (named, known):
                    self.changes(embed, 1e-6, table)
                for mode in ("mean", "resample"):
                    two = [headway.ablate_heads(model, batch, SIGNS, mode=mode, **one, **self.options)["loss_rise"]
                           for one in ({}, {"heads": heads})]
                    np.testing.assert_allclose(*two, rtol=1e-4, atol=1e-5)
                slopes = [headway.gradient_sensitivity(model, batch, SIGNS, **one, **self.options)["sensitivity"]
                          for one in ({}, {"heads": heads})]
                np.testing.assert_allclose(*slopes, rtol=1e-4, atol=1e-6)

    def test_shared_layers_lose_a_head_in_one_call_or_in_all(self):
        albert, batch = make_model("Albert"), encoded()
        name = "encoder.albert_layer_groups.0.albert_layers.0.attention.dense"
        dense, mask = albert.get_submodule(name), batch["attention_mask"]
        run = lambda one: one(**batch).last_hidden_state  # noqa: E731
        each = headway.ablate_heads(albert, batch, SIGNS, heads={name: HEADS}, readout="mean", **self.zero)
        self.assertEqual((len(each), each.names[HEADS]), (LAYERS * HEADS, f"{name} call 2 H1"))
        self.changes(by_hand(albert, run, [dense] * LAYERS, "mean", mask, LAYERS), 1e-6, each)
        known = headway.ablate_heads(albert, batch, SIGNS, readout="mean", **self.zero)
        np.testing.assert_allclose(known["loss_rise"], each["loss_rise"], atol=1e-5)
        together = headway.ablate_heads(albert, batch, SIGNS, heads={name: HEADS}, shared="all", readout="mean", **self.zero)
        self.assertEqual((len(together), together.names[1]), (HEADS, f"{name} H2"))
        self.changes(by_hand(albert, run, [dense], "mean", mask), 1e-6, together)

        pooled, x, real = drawn(Pooled).double(), tokens().double(), torch.as_tensor(REAL == 1)
        for shared, count in (("each", 3), ("all", None)):
            table = headway.ablate_heads(pooled, (x, real), SIGNS, heads={"attention.proj": HEADS}, shared=shared, mask=REAL, **self.zero)
            self.assertEqual(table.attributes["readout"], "answer")
            self.changes(by_hand(pooled, lambda one: one(x, real), [pooled.attention.proj] * 3, "", None, count), 1e-9, table)

    def test_bf16(self):
        for model, given, heads in ((drawn(HandWritten), tokens(), {f"blocks.{i}.attn.proj": HEADS for i in range(2)}),
                                    (nn.TransformerEncoder(nn.TransformerEncoderLayer(N, HEADS, 16, batch_first=True), 2), tokens(), None),
                                    (make_model("Llama", "sdpa"), encoded(), {f"layers.{i}.self_attn.o_proj": HEADS for i in range(LAYERS)})):
            model = model.to(torch.bfloat16)
            given = given if isinstance(given, dict) else given.to(torch.bfloat16)
            table = headway.ablate_heads(model, given, SIGNS, heads=heads, readout="mean", **self.zero)
            names = list(heads or [f"layers.{i}.self_attn.out_proj" for i in range(2)])
            whole = torch.ones(P, S) if not isinstance(given, dict) else given["attention_mask"]

            def embed(layer=0, head=0):
                kept = None
                if layer:
                    weight = model.get_submodule(names[layer - 1]).weight
                    kept = weight.detach().clone()
                with torch.no_grad():
                    if layer:
                        weight[:, (head - 1) * SIZE:head * SIZE] = 0.0
                    said = model.eval()(**given).last_hidden_state if isinstance(given, dict) else model.eval()(given)
                    if layer:
                        weight.copy_(kept)
                return embedding(said.float(), whole.numpy(), "mean")
            from headway.heads.probes import fit_probe
            y = torch.as_tensor(SIGNS)[:, None]
            probe = fit_probe("ridge", torch.as_tensor(embed()), y, 1.0)
            before = probe.losses(torch.as_tensor(embed()), y).mean()
            for row, (layer, head) in enumerate(zip(table.layers, table.heads)):
                after = probe.losses(torch.as_tensor(embed(layer, head)), y).mean()
                self.assertAlmostEqual(table["loss_rise"][row], float(after - before), delta=0.05 * float(after + before))

    def test_rank_heads_and_remove_in_order(self):
        model, x, heads = drawn(HandWritten), tokens(), {f"blocks.{i}.attn.proj": HEADS for i in range(2)}
        options = dict(heads=heads, mask=REAL, progress=False)
        ranking = headway.rank_heads(model, (x, torch.as_tensor(REAL == 1)), SIGNS, readout="mean", penalty=1.0, **options)
        self.assertEqual(ranking.names[-1], "blocks.1.attn.proj H4")
        self.assertIn("weight_norm", ranking.attributes["left out"])
        self.assertEqual(ranking.passes["removal_mean_fixed"], 1 + 2 * HEADS)
        one_by_one = headway.rank_heads(model, (x, torch.as_tensor(REAL == 1)), SIGNS, readout="mean", penalty=1.0, batch_size=1, **options)
        np.testing.assert_allclose(one_by_one["estimate"], ranking["estimate"], atol=1e-4)
        cheapest = ranking.to_prune_heads(3)
        with headway.remove_heads(model, cheapest) as gone:  # the ranking knows how many heads its modules have
            self.assertEqual(str(gone).count("H"), 3)
        self.assertIsNotNone(ranking.plot())
        bert, batch = make_model("Bert", "sdpa"), encoded()
        names = {f"encoder.layer.{i}.attention.output.dense": HEADS for i in range(LAYERS)}
        known, named = (headway.rank_heads(bert, batch, SIGNS, readout="mean", penalty=10.0, theory=False, progress=False, heads=one)
                        for one in (None, names))
        for column in ("estimate", "removal_zero_refitted", "gradient"):
            np.testing.assert_allclose(named[column], known[column], atol=1e-5)
        curves = [headway.remove_in_order(bert, batch, SIGNS, ranking, random=0, most=3, progress=False, heads=one,
                                          test={"inputs": encoded(seed=5), "labels": SIGNS}).curves["estimate"]
                  for ranking, one in ((known, None), (named, names))]
        self.assertEqual(curves[0].order, curves[1].order)
        np.testing.assert_allclose(curves[0].rise, curves[1].rise, atol=1e-5)
        other = {f"encoder.layer.{i}.output.dense": HEADS for i in range(LAYERS)}
        for ranking, one in ((named, None), (known, names), (named, other)):
            with self.assertRaisesRegex(headway.UsageError, "heads: names .*, and the ranking is of .*; allowed: what the ranking was made with"):
                headway.remove_in_order(bert, batch, SIGNS, ranking, heads=one, progress=False)

    def test_the_models_own_loss(self):
        """Against heads that are removed one by one, of a module and of a language model."""
        model, x, heads = drawn(HandWritten), tokens(), {f"blocks.{i}.attn.proj": HEADS for i in range(2)}
        target = torch.linspace(-1.0, 1.0, P)
        gpt, batch = make_model("GPT2"), encoded()
        ids = torch.as_tensor(np.random.default_rng(3).integers(0, N, (P, S)))
        words = lambda said, labels: functional.cross_entropy(  # noqa: E731
            said.last_hidden_state.transpose(1, 2), labels, reduction="none").mean(1)
        for model, given, labels, loss, named in ((model, x, target, lambda said, y: (said[:, 0, 0] - y) ** 2, heads),
                                                  (gpt, batch, ids, words, None)):
            table = headway.ablate_heads(model, given, labels, loss=loss, mode="zero", heads=named, batch_size=4)
            ask = lambda: loss(model(**given) if isinstance(given, dict) else model(given), labels).double().numpy()  # noqa: E731
            with torch.no_grad():
                whole = ask()
                self.assertAlmostEqual(table.attributes["loss"], whole.mean(), 5)
                for row, (layer, head) in enumerate(zip(table.layers, table.heads)):
                    with headway.remove_heads(model, {layer - 1: [head - 1]}, heads=named):
                        rise = ask() - whole
                    self.assertAlmostEqual(table["loss_rise"][row], rise.mean(), 5)
                    self.assertAlmostEqual(table["loss_rise_error"][row], rise.std(ddof=1) / P**0.5, 5)
            self.assertEqual(set(table.columns), {"loss_rise", "loss_rise_error"})
        module, forward = drawn(HandWritten), HandWritten.forward
        rise = headway.ablate_heads(module, x, target, heads=heads, loss=lambda said, y: (said[:, 0, 0] - y) ** 2)["loss_rise"]
        for answer, loss in ((lambda said: said[:, 0, 0], lambda said, y: (said - y) ** 2),
                             (lambda said: {"loss": said.sum(), "first": said[:, :1, :1, None]}, lambda said, y: (said["first"].flatten() - y) ** 2)):
            module.forward = lambda x: answer(forward(module, x))
            np.testing.assert_allclose(headway.ablate_heads(module, x, target, heads=heads, loss=loss)["loss_rise"], rise, atol=1e-6)
        call = functools.partial(headway.ablate_heads, drawn(HandWritten), x, heads=heads)
        for given, words in (({"loss": lambda said, y: (said[:, 0, 0] - y).mean()}, r"loss: gives something of shape \[\] for 9 examples"),
                             ({"loss": "mse"}, "loss: is 'mse'; allowed: a function"),
                             ({"loss": lambda said, y: y, "probe": "logistic"}, "loss: is given, so no readout is fitted")):
            with self.assertRaisesRegex(headway.UsageError, words):
                call(target, **given)
        with self.assertRaisesRegex(headway.BadDataError, "labels: are 8 for 9 examples"):
            call(target[1:], loss=lambda said, y: y)
        with self.assertRaisesRegex(headway.BadDataError, "loss: gives a number that is not finite"):
            call(target, loss=lambda said, y: y / 0.0)

    def test_models_without_gradients_without_heads_and_with_noise(self):
        model, heads = drawn(HandWritten), {f"blocks.{i}.attn.proj": HEADS for i in range(2)}
        rank = lambda: headway.rank_heads(model, tokens(), SIGNS, heads=heads, readout="mean", theory=False, progress=False)  # noqa: E731
        whole, forward = rank(), model.forward
        model.forward = lambda x: torch.no_grad()(forward)(x)
        ranking = rank()
        self.assertIn("gradient (no gradient reaches its heads", ranking.attributes["left out"])
        np.testing.assert_array_equal(ranking["estimate"], whole["estimate"])
        model.forward = lambda x: forward(x) + torch.randn(())
        with self.assertRaisesRegex(headway.UsageError, "answers differently when it is called again"):
            rank()
        model.forward = forward
        headway.remove_heads(model, {1: range(HEADS)}, heads=heads)
        with self.assertRaisesRegex(headway.UsageError, "'blocks.1.attn.proj'.*its projection adds nothing, as after all of its heads"):
            rank()

    def test_projections_that_are_more_than_a_matrix(self):
        """A projection with an adapter, one that is followed by dropout, one in mixed precision, and a compiled model."""
        class Adapted(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base, self.down, self.up = base, nn.Linear(N, 3, bias=False), nn.Linear(3, N, bias=False)

            def forward(self, mixed):
                return self.base(mixed) + self.up(self.down(mixed))

        class Mixed(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = HandWritten()

            def forward(self, x):
                with torch.autocast("cpu", torch.bfloat16):
                    return self.inner(x).float()
        model, x = drawn(HandWritten), tokens()
        model.blocks[0]["attn"].proj = drawn(lambda: Adapted(model.blocks[0]["attn"].proj))
        model.blocks[1]["attn"].proj = nn.Sequential(model.blocks[1]["attn"].proj, nn.Dropout(0.5)).eval()
        model = model.double()
        heads = {f"blocks.{i}.attn.proj": HEADS for i in range(2)}
        embed = by_hand(model, lambda one: one(x.double()), [block["attn"].proj for block in model.blocks], "mean", np.ones((P, S), int))
        self.changes(embed, 1e-9, headway.ablate_heads(model, x.double(), SIGNS, heads=heads, readout="mean", **self.zero))
        mixed, names = drawn(Mixed), {f"inner.{name}": count for name, count in heads.items()}
        embed = by_hand(mixed, lambda one: one(x), [block["attn"].proj for block in mixed.inner.blocks], "mean", np.ones((P, S), int))
        self.changes(embed, 0.02, headway.ablate_heads(mixed, x, SIGNS, heads=names, readout="mean", **self.zero))
        if hasattr(torch, "compile"):
            plain = drawn(HandWritten)
            compiled = torch.compile(plain, backend="eager")
            compiled(x)
            found = [headway.ablate_heads(one, x, SIGNS, heads=heads, readout="mean", **self.zero)["loss_rise"] for one in (plain, compiled)]
            np.testing.assert_array_equal(*found)
            with headway.remove_heads(compiled, {"blocks.0.attn.proj": [2]}, heads=heads), torch.no_grad():
                np.testing.assert_allclose(compiled(x), plain(x), atol=1e-5)

    def test_windows_and_their_tokens_belong_to_an_example(self):
        """Attention inside windows: several rows enter the projection for each example, and a set may have another length."""
        class Windows(nn.Module):
            def __init__(self):
                super().__init__()
                self.attention = Attention()

            def forward(self, x):
                inside = x.reshape(-1, 2, N)
                return x + torch.tanh(self.attention(inside, torch.ones(inside.shape[:2], dtype=torch.bool))).reshape(x.shape)
        model, x = drawn(Windows).double(), torch.cat([tokens(), tokens(5)[:, :1]], 1).double()
        table = headway.ablate_heads(model, x, SIGNS, heads={"attention.proj": HEADS}, readout="mean", **self.zero)
        self.changes(by_hand(model, lambda one: one(x), [model.attention.proj], "mean", np.ones((P, 8), int)), 1e-9, table)
        slopes = headway.gradient_sensitivity(model, x, SIGNS, heads={"attention.proj": HEADS}, readout="mean", **self.options)
        self.assertGreater(slopes["sensitivity"].min(), 0.0)
        longer = {"encoded": torch.cat([x, x], 1), "labels": SIGNS}
        headway.ablate_heads(model, x, SIGNS, heads={"attention.proj": HEADS}, readout="mean", test=longer, mode="mean", **self.options)


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class Refusals(NamedTest):
    def test_names_and_counts(self):
        model, x = drawn(HandWritten), tokens()
        good = "blocks.0.attn.proj"
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(N, HEADS, 16, batch_first=True), 1)
        unused = drawn(HandWritten)
        unused.spare = nn.Linear(N, N)
        for words, one, heads in (
                ("heads: is ['a']; allowed: a mapping", model, ["a"]),
                ("heads: is {}; allowed: a mapping", model, {}),
                (f"heads: 'blocks.0.attn.prj' is no module of the model; allowed: a name that model.named_modules() has, such as '{good}'", model,
                 {"blocks.0.attn.prj": 4}),
                ("heads: 3 is no module of the model", model, {3: 4}),
                (f"heads: '{good}' has 5, and 24 numbers of each token enter it; allowed: a number of heads that divides 24", model, {good: 5}),
                (f"heads: '{good}' has 0; allowed: its number of heads, an integer from 1", model, {good: 0}),
                (f"heads: '{good}' has True", model, {good: True}),
                (f"heads: '{good}' has '4'", model, {good: "4"}),
                ("heads: 'blocks.0.drop' is a Dropout without weights", model, {"blocks.0.drop": 4}),
                ("heads: 'blocks.0.attn' takes more than its heads", model, {"blocks.0.attn": 4}),
                ("the heads sum up to the output of their projection\" ('blocks.0.norm')", model, {"blocks.0.norm": 4}),
                ("heads: 'spare' is never called", unused, {"spare": 4}),
                ("heads: 'layers.0.self_attn' has 3; allowed: 4, the heads of this MultiheadAttention", encoder, {"layers.0.self_attn": 3}),
                ("model: Linear has no heads that are known", nn.Linear(N, N), None),
                ("model: is str; allowed: a torch.nn.Module", "bert", {good: 4})):
            with self.subTest(words=words), self.assertRaises(headway.UsageError) as caught:
                headway.ablate_heads(one, x, SIGNS, heads=heads, readout="mean")
            self.assertIn(words, str(caught.exception))

    def test_masks_and_answers(self):
        model, heads = drawn(HandWritten), {"blocks.0.attn.proj": HEADS}
        bert, batch = make_model("Bert"), encoded()
        hidden = REAL.copy()
        hidden[3] = 0
        scalar = nn.Sequential(nn.Linear(N, N), nn.Flatten(0))
        for error, words, one, given, more in (
                (headway.BadDataError, "train: encoded: mask[3]: no token is 1", model, tokens(), {"mask": hidden}),
                (headway.BadDataError, "mask: has 5 tokens, and the model answers for 7", model, tokens(), {"mask": REAL[:, :5]}),
                (headway.BadDataError, "train: encoded: mask: has shape [3, 7]", model, tokens(), {"mask": REAL[:3]}),
                (headway.UsageError, "mask: is given, and BertModel has its own", bert, batch, {"mask": REAL, "heads": None}),
                (headway.UsageError, "train: encoded: is list; allowed: a tensor, a tuple", model, [1.0] * P, {}),
                (headway.UsageError, "inputs: are of type torch.float64, and the weights of the model of torch.float32", model,
                 tokens().double(), {}),
                (headway.UsageError, "model: calls 'embeddings.word_embeddings' without heads", bert, batch,
                 {"heads": {"embeddings.word_embeddings": 4}}),
                (headway.UsageError, "shared: is 'some'; allowed: each, all", model, tokens(), {"shared": "some"}),
                (headway.UsageError, "answers with a tensor of shape [504] for 3 examples", scalar, tokens(), {"heads": {"0": HEADS}})):
            with self.subTest(words=words), self.assertRaises(error) as caught:
                headway.ablate_heads(one, given, SIGNS, **{"heads": heads, "readout": "mean"} | more)
            self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
