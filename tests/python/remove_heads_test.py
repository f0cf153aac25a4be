"""headway.remove_heads: heads that are gone inside a block or for good, and that come back to the last bit. Needs PyTorch and transformers."""

import copy
import importlib.util
import io
import pickle
import tempfile
import unittest
import warnings

import numpy as np

import headway

HAVE_ALL = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
if HAVE_ALL:
    import torch
    import transformers
    from contributions_test import HEADS, SIGNS, encoded, make_model
    from named_heads_test import N, REAL, SIZE, HandWritten, Pooled, drawn, tokens
    from torch import nn

    from headway.heads.network_blocks import stack_of


def state(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def hooks_of(model):
    return [name for name, module in model.named_modules() if module._forward_pre_hooks or module._forward_hooks]


def without(modules, heads, run, at=None):
    """What the model says with heads silenced by a hook that was written by hand; at: one call of a pass."""
    calls = []

    def hook(module, arguments):
        calls.append(1)
        if at is not None and len(calls) - 1 != at:
            return None
        mixed = arguments[0].clone()
        for head in heads:
            mixed[..., head * SIZE:(head + 1) * SIZE] = 0.0
        return (mixed,)
    handles = [module.register_forward_pre_hook(hook) for module in modules]
    with torch.no_grad():
        said = run()
    for handle in handles:
        handle.remove()
    return said


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class RemoveHeads(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def same(self, one, other, tolerance=2e-6):
        np.testing.assert_allclose(one, other, atol=tolerance * float(other.abs().max()))

    def unchanged(self, model, before):
        now = model.state_dict()
        self.assertEqual(list(now), list(before))
        for name, value in before.items():
            self.assertTrue(torch.equal(now[name], value), name)
        self.assertEqual(hooks_of(model), [])

    def check(self, model, run, removed, modules, gone, **options):
        """A block without heads says what the hook says, and leaves the model as it was, also after an error."""
        before, expected = state(model), without(modules, gone, run)
        with torch.no_grad():
            whole = run()
        with headway.remove_heads(model, removed, **options) as known:
            with torch.no_grad():
                self.same(run(), expected)
            for head in gone:
                self.assertIn(f"H{head + 1}", str(known))
        self.unchanged(model, before)
        with torch.no_grad():
            self.assertTrue(torch.equal(run(), whole))
        self.assertGreater(float((whole - expected).abs().max()), 1e-3)
        with self.assertRaises(ZeroDivisionError):
            with headway.remove_heads(model, removed, **options):
                raise ZeroDivisionError
        self.unchanged(model, before)

    def test_kinds_of_transformers(self):
        for kind in ("Bert", "DistilBert", "GPT2", "Llama"):
            for dtype in (torch.float32, torch.bfloat16):
                model, batch = make_model(kind, "sdpa").to(dtype), encoded()
                place = stack_of(model).blocks[1].projection
                with self.subTest(kind=kind, dtype=dtype):
                    if dtype == torch.bfloat16:
                        with headway.remove_heads(model, {1: [0, 3]}), torch.no_grad():
                            found = model(**batch).last_hidden_state.float()
                        expected = without([place], [0, 3], lambda: model(**batch).last_hidden_state.float())
                        self.same(found, expected, 0.02)
                    else:
                        self.check(model, lambda: model(**batch).last_hidden_state, {1: [3, 0]}, [place], [0, 3])

    def test_models_of_pytorch(self):
        model, x, real = drawn(HandWritten), tokens(), torch.as_tensor(REAL == 1)
        names, modules = [f"blocks.{i}.attn.proj" for i in range(2)], [block["attn"].proj for block in model.blocks]
        for removed, heads in (({names[1]: [2]}, {names[1]: HEADS}), ({1: 2}, dict.fromkeys(names, HEADS))):
            self.check(model, lambda: model(x, real), removed, [modules[1]], [2], heads=heads)
        encoder = drawn(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(N, HEADS, 16, batch_first=True), 2))
        padding = torch.as_tensor(REAL == 0)
        table = headway.ablate_heads(encoder, {"src": x, "src_key_padding_mask": padding}, SIGNS, penalty=1.0, readout="mean",
                                     mode="zero")
        for removed in ({1: [2]}, {"layers.1.self_attn": [2]}, {"layers.1.self_attn.out_proj": [2]}):
            before = state(encoder)
            with headway.remove_heads(encoder, removed):
                gone = headway.ablate_heads(encoder, {"src": x, "src_key_padding_mask": padding}, SIGNS, penalty=1.0, readout="mean",
                                     mode="zero")
            self.unchanged(encoder, before)
            self.assertLess(abs(gone.grid("loss_rise")[1, 2]), 1e-9)  # it is gone already
            self.assertGreater(abs(table.grid("loss_rise")[1, 2]), 1e-3)

    def test_a_ranking_is_applied(self):
        """Grouped queries go together, as the ranking counts them."""
        model, batch = make_model("Llama", "sdpa"), encoded()
        ranking = headway.rank_heads(model, batch, SIGNS, mode="zero", theory=False, progress=False)
        layer, head = ranking.cheapest(1)[0]
        with headway.remove_heads(model, ranking.to_prune_heads(1)):
            weight = model.layers[layer - 1].self_attn.o_proj.weight
            self.assertEqual(float(weight[:, (head - 1) * 2 * SIZE:head * 2 * SIZE].abs().max()), 0.0)
            self.assertGreater(float(weight.abs().sum()), 0.0)
        named = headway.rank_heads(model, batch, SIGNS, mode="zero", progress=False, heads={
            f"layers.{i}.self_attn.o_proj": HEADS for i in (2, 0)})
        name = named.names[named.order()[0]].split()[0]
        self.assertEqual(list(named.to_prune_heads(1)), [name])
        self.assertLess(named.names.index("layers.0.self_attn.o_proj H1"), named.names.index("layers.2.self_attn.o_proj H1"))
        with self.assertRaisesRegex(headway.UsageError, "ranking: is of modules that were named"):
            named.to_duo_attention("duo", model)
        encoder = drawn(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(N, HEADS, 16, batch_first=True), 2))
        own = headway.rank_heads(encoder, tokens(), SIGNS, mode="zero", progress=False)
        with headway.remove_heads(encoder, own.to_prune_heads(3)) as known:
            self.assertEqual(str(known).count("H"), 3)
        pooled = drawn(Pooled)
        shared = headway.rank_heads(pooled, (tokens(), torch.as_tensor(REAL == 1)), SIGNS, mode="zero", progress=False,
                                    heads={"attention.proj": HEADS})
        self.assertEqual(list(shared.to_prune_heads(12)), [("attention.proj", call) for call in range(3)])
        with tempfile.TemporaryDirectory() as folder:
            shared.to_prune_heads(12, f"{folder}/heads.json")
            shared.to_budgets(f"{folder}/budgets.json")
        with headway.remove_heads(pooled, shared.to_prune_heads(2), heads={"attention.proj": HEADS}):
            pass
        with headway.remove_heads(model, ranking.to_prune_heads(0)) as nothing:
            self.assertEqual(str(nothing), "no heads removed")

    def test_layers_that_share_their_weights(self):
        """One layer of ALBERT loses the head in its own call; the shared module, by its name, in every call."""
        model, batch = make_model("Albert", "sdpa"), encoded()
        name = "encoder.albert_layer_groups.0.albert_layers.0.attention.dense"
        dense = model.get_submodule(name)

        def run():
            return model(**batch).last_hidden_state
        for removed, at, words in (({1: [2]}, 1, "L2H3: a hook sets their outputs to zero at call 2 of 3 in a pass"), ({(name, 2): [2]}, 2, "at call 3 of 3"),
                                   ({name: [2]}, None, f"{name} H3: weights at zero, in all of its 3 calls")):
            before, expected = state(model), without([dense], [2], run, at)
            with headway.remove_heads(model, removed) as known, torch.no_grad():
                self.same(run(), expected)
                self.same(run(), expected)
                broken = dense.register_forward_hook(lambda *_: 1 / 0)
                with self.assertRaises(ZeroDivisionError):
                    run()  # a pass that ends midway
                broken.remove()
                self.same(run(), expected)
            self.assertIn(words, str(known))
            self.unchanged(model, before)
        pooled, x, real = drawn(Pooled), tokens(), torch.as_tensor(REAL == 1)
        for removed, at in (({("attention.proj", 1): [0]}, 1), ({"attention.proj": [0]}, None)):
            expected = without([pooled.attention.proj], [0], lambda: pooled(x, real), at)
            with headway.remove_heads(pooled, removed, heads={"attention.proj": HEADS}), torch.no_grad():
                self.same(pooled(x, real), expected)

    def test_for_good_it_is_saved_and_can_be_undone(self):
        model, batch = make_model("Bert", "sdpa"), encoded()
        before = state(model)
        gone = headway.remove_heads(model, {0: [1], 2: [0, 1, 2, 3]})
        with torch.no_grad():
            expected = model(**batch).last_hidden_state
        changed = [name for name, value in model.state_dict().items() if not torch.equal(value, before[name])]
        self.assertEqual(changed, [f"encoder.layer.{i}.attention.output.dense.weight" for i in (0, 2)])
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            model.save_pretrained(folder)
            loaded = transformers.BertModel.from_pretrained(folder, attn_implementation="sdpa").eval()
            self.same(loaded(**batch).last_hidden_state, expected)
        gone.undo()
        gone.undo()
        self.unchanged(model, before)

    def test_removals_of_one_head_are_undone_in_any_order(self):
        model = make_model("Bert", "sdpa")
        before, weight = state(model), model.encoder.layer[0].attention.output.dense.weight
        one, two = headway.remove_heads(model, {0: [1]}), headway.remove_heads(model, {"0": [1, 2]})  # "0": as JSON has it
        one.undo()
        self.assertFalse(bool(weight[:, SIZE:3 * SIZE].any()))  # the second removal still holds both
        two.undo()
        self.unchanged(model, before)
        name = "encoder.layer.0.attention.output.dense"
        one, wide = (headway.remove_heads(model, {name: [0]}, heads={name: count}) for count in (HEADS, HEADS // 2))
        one.undo()
        self.assertFalse(bool(weight[:, :2 * SIZE].any()))  # both heads are the first of half as many
        wide.undo()
        self.unchanged(model, before)
        gone = headway.remove_heads(model, {0: [1]})
        with torch.no_grad():
            weight += 1.0  # training brings the head back
        trained = state(model)
        with headway.remove_heads(model, {0: [1]}):
            self.assertFalse(bool(weight[:, SIZE:2 * SIZE].any()))
        self.unchanged(model, trained)
        gone.undo()
        self.assertTrue(torch.equal(weight[:, SIZE:2 * SIZE], before["encoder.layer.0.attention.output.dense.weight"][:, SIZE:2 * SIZE]))

    def test_blocks_inside_blocks_and_models_that_keep_modes_and_gradients(self):
        model, batch = make_model("GPT2", "sdpa").train(), encoded()
        model.h[0].eval()
        before, modes = state(model), [module.training for module in model.modules()]
        with headway.remove_heads(model, {0: [1]}):
            outer = state(model)
            with headway.remove_heads(model, {0: [1, 2], 1: [0]}):
                model(**batch).last_hidden_state.sum().backward()
            self.unchanged(model, outer)
        self.unchanged(model, before)
        self.assertEqual([module.training for module in model.modules()], modes)
        self.assertTrue(all(parameter.requires_grad and parameter.is_leaf for parameter in model.parameters()))

    def test_weights_that_are_shared_or_made_get_a_hook(self):
        tied, x = drawn(HandWritten), tokens()
        tied.blocks[1]["attn"].proj.weight = tied.blocks[0]["attn"].proj.weight
        made = drawn(HandWritten)
        nn.utils.parametrizations.weight_norm(made.blocks[0]["attn"].proj)
        for model in (tied, made):
            place = model.blocks[0]["attn"].proj
            before, expected = state(model), without([place], [3], lambda: model(x))
            with headway.remove_heads(model, {"blocks.0.attn.proj": [3]}, heads={"blocks.0.attn.proj": HEADS}) as known, torch.no_grad():
                self.same(model(x), expected)
                self.assertIn("a hook", str(known))
                self.same(copy.deepcopy(model)(x), expected)
            self.unchanged(model, before)
        with headway.remove_heads(tied, {"blocks.0.attn.proj": [3]}, heads={"blocks.0.attn.proj": HEADS}), torch.no_grad():
            copied = pickle.load(io.BytesIO(pickle.dumps(tied)))
            self.same(copied(x), tied(x))

    def test_bad_arguments_are_refused_and_leave_the_model(self):
        model, hand = make_model("Bert"), drawn(HandWritten)
        before, good = state(model), "blocks.0.attn.proj"
        for words, call in (
                ("model: is 'bert'; allowed: a torch.nn.Module", lambda: headway.remove_heads("bert", {0: [0]})),
                ("removed: is [0]; allowed: a mapping {layer: [heads]}, both counted from 0", lambda: headway.remove_heads(model, [0])),
                ("removed: is of type HeadRanking; allowed: a mapping {layer: [heads]}, both counted from 0, as ranking.to_prune_heads(k) gives it",
                 lambda: headway.remove_heads(model, headway.rank_heads(make_model("Bert"), encoded(), SIGNS, layers=[-1], theory=False, progress=False))),
                ("removed: holds layer 3; the model has 3 layers; allowed: 0 to 2", lambda: headway.remove_heads(model, {0: [1], 3: [0]})),
                ("removed: holds layer -1", lambda: headway.remove_heads(model, {-1: [0]})),
                ("removed: layer 1 has head 4; allowed: 0 to 3", lambda: headway.remove_heads(model, {0: [1], 1: [0, 4]})),
                ("removed: layer 1 has head True", lambda: headway.remove_heads(model, {1: [True]})),
                ("removed: layer 1 has head 'a'", lambda: headway.remove_heads(model, {1: "a"})),
                ("removed: 'attention' is no module of the model", lambda: headway.remove_heads(model, {"attention": [0]})),
                ("removed: True is no module", lambda: headway.remove_heads(model, {True: [0]})),
                (f"removed: holds '{good}', whose number of heads is not known; allowed with heads=", lambda: headway.remove_heads(hand, {good: [0]})),
                ("heads: 'blocks.0.attn.proj' has 5", lambda: headway.remove_heads(hand, {good: [0]}, heads={good: 5})),
                ("HandWritten has no heads that are known", lambda: headway.remove_heads(hand, {0: [0]})),
                ("removed: holds call 3 of", lambda: headway.remove_heads(make_model("Albert"), {(
                    "encoder.albert_layer_groups.0.albert_layers.0.attention.dense", 3): [0]}))):
            with self.subTest(words=words), self.assertRaises(headway.UsageError) as caught:
                call()
            self.assertIn(words, str(caught.exception))
        self.unchanged(model, before)


if __name__ == "__main__":
    unittest.main()
