"""headway.rank_heads on models of transformers: what is removed, what is refused, and what other tools read. Needs PyTorch and
transformers; parts need kvpress, or a transformers that has prune_heads."""

import importlib.util
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

import headway

HAVE_ALL = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
if HAVE_ALL:
    import torch
    import transformers
    from contributions_test import HEADS, LAYERS, SIGNS, encoded, make_model

    from headway.heads.head_removal import MODES
    from headway.heads.network_batches import evaluating
    from headway.heads.network_blocks import stack_of
    from headway.heads.network_removal import Network
    from headway.heads.ranking.ablation import CHECKS, check_removal
    from headway.results.ranking.measured import REMOVALS
    from headway.results.ranking.removal import Whole

P, QUIET = 9, {"progress": False, "readout": "mean", "batch_size": 4}


class RankingTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        warnings.simplefilter("ignore")

    def refused(self, kind, words, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIn(words, str(caught.exception))


def model_or_none(kind, attention):
    """None where transformers has no such attention for this kind, or not with this PyTorch."""
    try:
        return make_model(kind, attention)
    except (ImportError, ValueError):
        return None


def checked(model, grouped=True):
    network = Network(model, "mean", 4, grouped)
    with evaluating(model, 4, torch_attention=False):
        return check_removal(network, encoded(), network.embeddings(encoded())[1], list(range(1, LAYERS + 1)))


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class Checks(RankingTest):
    def test_models_of_all_kinds_pass(self):
        made = 0
        for kind in ("Albert", "Bert", "DistilBert", "GPT2", "Llama", "Roberta", "Qwen2"):
            for attention in ("eager", "sdpa"):
                if hasattr(transformers, f"{kind}Config"):
                    with self.subTest(kind=kind, attention=attention):
                        model = model_or_none(kind, attention)
                        if model is None:
                            continue
                        made += 1
                        self.assertEqual(checked(model, True), CHECKS)
                        self.assertEqual(checked(model, False), CHECKS)
        self.assertGreaterEqual(made, 4)

    def broken(self, check, change):
        model = make_model("Bert")
        change(model.encoder.layer[1])
        self.refused(headway.UsageError, f'fails the check "{check}" (layer 2', lambda: checked(model))

    def test_a_projection_that_is_never_called_is_noticed(self):
        def bypassed(layer):
            dense = layer.attention.output.dense
            layer.attention.output.forward = lambda states, stream: layer.attention.output.LayerNorm(
                torch.nn.functional.linear(states, dense.weight, dense.bias) + stream)
        self.broken(CHECKS[0], bypassed)

    def test_a_later_hook_that_puts_the_head_back_is_noticed(self):
        """The hook that was added last decides what enters the projection. This one undoes the removal, or half of it."""
        def spoilt(of):
            def hooked(layer):
                kept, dense = [], layer.attention.output.dense
                own = dense.forward

                def forward(mixed):
                    if not kept:
                        kept.append(mixed)
                    return own(of(mixed, kept[0]))
                dense.forward = forward
            return hooked
        self.broken(CHECKS[2], spoilt(lambda mixed, whole: 1.5 * mixed))

    def test_a_hook_that_changes_other_heads_is_noticed(self):
        def shifted(layer):
            def hook(module, arguments):
                mixed = arguments[0]
                return (mixed + (mixed[..., :1] == 0.0) * 0.7,)
            register = layer.attention.output.dense.register_forward_pre_hook
            calls = torch.nn.Module.register_forward_pre_hook

            def late(own, *rest, **named):  # ours stays the last
                handle = register(own, *rest, **named)
                calls(layer.attention.output.dense, hook)
                return handle
            layer.attention.output.dense.register_forward_pre_hook = late
        self.broken(CHECKS[0], shifted)

    def test_heads_that_the_network_does_not_hear_are_noticed(self):
        def deaf(layer):
            with torch.no_grad():
                layer.attention.output.dense.weight.zero_()
        self.broken(CHECKS[4], deaf)


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class Removal(RankingTest):
    """In double precision, where the order of the examples and padding change nothing but rounding."""

    def test_labels_stay_with_their_examples_when_heads_are_resampled(self):
        model, batch = make_model("Bert").double(), encoded()
        for labels, classes in ((SIGNS, None), (np.arange(P) % 3, 3)):
            options = dict(classes=classes, layers=[-1], penalty=1.0, readout="mean", batch_size=4)
            zero = headway.ablate_heads(model, batch, labels, mode="zero", **options)
            resampled = headway.ablate_heads(model, batch, labels, mode="resample", **options)
            for name in ("loss", "accuracy"):  # of the whole network
                self.assertAlmostEqual(resampled.attributes[name], zero.attributes[name], delta=1e-10)

    def test_means_before_projections_are_over_real_tokens(self):
        for kind in ("Bert", "Llama"):
            model, batch, entered = make_model(kind).double(), encoded(), []
            longer = {key: torch.nn.functional.pad(value, (0, 3)) for key, value in batch.items()}
            network, real = Network(model, "mean", 4), batch["attention_mask"] == 1
            with evaluating(model, 4, torch_attention=False):
                embeddings, means = network.embeddings(batch)
                padded = network.embeddings(longer)
                hooks = [block.projection.register_forward_pre_hook(lambda module, given: entered.append(given[0]))
                         for block in stack_of(model).blocks]
                model(**batch)
            for hook in hooks:
                hook.remove()
            self.assertEqual(len(entered), LAYERS)
            for mean, again, mixed in zip(means, padded[1], entered):
                np.testing.assert_allclose(mean, mixed[real].mean(0), atol=1e-12)
                np.testing.assert_allclose(again, mean, atol=1e-12)
            np.testing.assert_allclose(padded[0], embeddings, atol=1e-12)


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class Ranking(RankingTest):
    def test_removals_are_those_of_ablate_heads_and_of_leaving_out(self):
        for kind in ("Bert", "GPT2"):
            model, batch = make_model(kind), encoded()
            ranking = headway.rank_heads(model, batch, SIGNS, penalty=10.0, theory=False, **QUIET)
            self.assertEqual(len(ranking), HEADS * LAYERS)
            network = Network(model, "mean", 4)
            with evaluating(model, 4, torch_attention=False):
                embeddings, means = network.embeddings(batch)
                from headway.heads.network_removal import replacement_of
                for mode in MODES[:2]:
                    _, removed = network.removals(batch, [1, 2, 3], lambda layer, head: replacement_of(
                        mode, means[layer - 1], HEADS, head))
                    whole = Whole(embeddings.numpy(), SIGNS[:, None], 10.0)
                    for row, x in enumerate(removed.numpy()):
                        for name, change in whole.without(x).items():
                            self.assertAlmostEqual(ranking[f"removal_{mode}_{name}"][row], change.mean, 5)
            plain = headway.head_baselines(model, batch)
            np.testing.assert_allclose(ranking["weight_norm"], plain["weight_norm"])
            np.testing.assert_allclose(ranking["attention_entropy"], plain["attention_entropy"])
            # one for the embeddings, half of one for each layer where heads begin, and for each head the layers from its own up
            cost = 1 + LAYERS / 2 + HEADS * (LAYERS + 1) / 2
            self.assertAlmostEqual(ranking.passes["removal_mean_fixed"], cost)

    def test_grouped_queries_go_together(self):
        model, batch = make_model("Llama"), encoded()
        grouped = headway.rank_heads(model, batch, SIGNS, theory=False, **QUIET)
        alone = headway.rank_heads(model, batch, SIGNS, theory=False, grouped=False, **QUIET)
        self.assertEqual((len(grouped), len(alone)), (2 * LAYERS, HEADS * LAYERS))
        self.assertEqual(grouped.to_prune_heads(1), {grouped.cheapest(1)[0][0] - 1: [
            2 * (grouped.cheapest(1)[0][1] - 1), 2 * (grouped.cheapest(1)[0][1] - 1) + 1]})
        np.testing.assert_allclose(grouped["weight_norm"] ** 2, (alone["weight_norm"] ** 2).reshape(-1, 2).sum(1))
        np.testing.assert_allclose(grouped["attention_entropy"], alone["attention_entropy"].reshape(-1, 2).mean(1))
        network = Network(model, "mean", 4, True)
        with evaluating(model, 4, torch_attention=False):
            embeddings, means = network.embeddings(batch)
            batches = network.started(batch, 2)
            from headway.heads.network_removal import replacement_of
            both = network.embeddings_from(batches, {2: replacement_of("mean", means[1], 2, 2)})
            queries = network.embeddings_from(batches, {2: replacement_of("mean", means[1], 4, 3, 4)})
        np.testing.assert_array_equal(both, queries)
        change = Whole(embeddings.numpy(), SIGNS[:, None], grouped.attributes["penalty"]).without(both.numpy())
        self.assertAlmostEqual(grouped["removal_mean_fixed"][3], change["fixed"].mean, 5)

    def test_a_resumed_ranking_is_the_same_and_needs_no_attention(self):
        model, batch, cache = make_model("Bert"), encoded(), self.folder / "heads.npz"
        first = headway.rank_heads(model, batch, SIGNS, theory=False, **QUIET)
        done = []

        def stop(stage, count, total):
            done.append(stage)
            if stage == "removal of heads" and count == 5:
                raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            headway.rank_heads(model, batch, SIGNS, theory=False, cache=cache, **QUIET | {"progress": stop})
        runs = []
        again = headway.rank_heads(model, batch, SIGNS, theory=False, cache=cache,
                                   **QUIET | {"progress": lambda stage, count, total: runs.append((stage, count))})
        self.assertEqual(first.to_csv(), again.to_csv())
        self.assertIn(("removal of heads", HEADS * LAYERS), runs)
        self.refused(headway.UsageError, "of another model, other examples or other options",
                     lambda: headway.rank_heads(model, batch, -SIGNS, theory=False, cache=cache, **QUIET))
        other = model_or_none("Bert", "sdpa")
        if other is not None:
            fused = headway.rank_heads(other, batch, SIGNS, theory=False, **QUIET)
            self.assertEqual(set(REMOVALS) - set(fused.columns), set())
            if "attention_entropy" not in fused.columns:
                self.assertIn("eager", fused.attributes["left out"])

    def test_it_takes_classes_real_targets_and_texts(self):
        model, batch = make_model("Bert"), encoded()
        three = headway.rank_heads(model, batch, np.resize([0, 1, 2], P), classes=3, layers=[-1], theory=False, **QUIET)
        real = headway.rank_heads(model, batch, np.linspace(0.0, 1.0, P), layers=[-1], theory=False, **QUIET)
        self.assertTrue(np.isfinite(three["estimate"]).all() and np.isfinite(real["estimate"]).all())
        self.assertTrue(np.isnan(real.attributes["accuracy"]))
        given = {}

        def tokenizer(texts, **options):
            given.update(options, texts=texts)
            return batch
        headway.rank_heads(model, ["a"] * P, SIGNS, tokenizer=tokenizer, layers=[-1], theory=False, **QUIET)
        self.assertEqual((given["padding"], given["texts"]), (True, ["a"] * P))

    def test_heads_are_removed_one_after_the_other(self):
        model, batch = make_model("Bert"), encoded()
        ranking = headway.rank_heads(model, batch, SIGNS, layers=[2, 3], theory=False, **QUIET)
        curves = headway.remove_in_order(model, batch, SIGNS, ranking, orders=["estimate", "gradient"], random=2, greedy=True,
                                         most=3, test={"inputs": encoded(seed=5), "labels": SIGNS}, progress=False, batch_size=4)
        self.assertEqual((list(curves.curves), len(curves.random), curves.measured_on), (["estimate", "gradient", "greedy"], 2, "test"))
        curve = curves.curves["estimate"]
        self.assertEqual(list(curve.order), ranking.order()[:3])
        self.assertEqual((len(curve.rise), curve.rise[0]), (4, 0.0))
        alone = headway.remove_in_order(model, batch, SIGNS, ranking, random=0, greedy=True, most=3, progress=False,
                                        batch_size=4)
        self.assertEqual(curves.curves["greedy"].order, alone.curves["greedy"].order)  # chosen without the test set
        self.assertAlmostEqual(alone.curves["estimate"].rise[1], ranking["removal_mean_refitted"][ranking.order()[0]], 5)
        self.assertAlmostEqual(alone.curves["estimate"].rise_fixed[1], ranking["removal_mean_fixed"][ranking.order()[0]], 5)
        self.assertIn("random", repr(curves))
        self.refused(headway.UsageError, "and no L2H1", lambda: headway.remove_in_order(
            make_model("Bert", num_hidden_layers=1), batch, SIGNS, ranking, progress=False))
        self.refused(headway.UsageError, "most: is 99", lambda: headway.remove_in_order(
            model, batch, SIGNS, ranking, most=99, progress=False))

    def test_bad_arguments_are_refused(self):
        model, batch = make_model("Bert"), encoded()

        def rank(labels=SIGNS, inputs=batch, model=model, **options):
            return headway.rank_heads(model, inputs, labels, theory=False, **QUIET | options)
        hidden = {**batch, "attention_mask": batch["attention_mask"].clone()}
        hidden["attention_mask"][3] = 0
        few = {key: value[:3] for key, value in batch.items()}
        broken = make_model("Bert")
        torch.nn.init.constant_(broken.encoder.layer[1].output.dense.bias, torch.nan)
        gone = make_model("Bert")
        gone.encoder.layer[1].attention.pruned_heads = {2}
        for kind, words, call in (
                (headway.UsageError, "Linear has no heads that are known", lambda: rank(model=torch.nn.Linear(2, 2))),
                (headway.UsageError, "model: str has no heads", lambda: rank(model="bert")),
                (headway.BadDataError, "train: inputs: 0 examples", lambda: rank([], {key: value[:0] for key, value in batch.items()})),
                (headway.UsageError, "head 3 of layer 2 was pruned already", lambda: rank(model=gone)),
                (headway.BadDataError, "train: inputs: attention_mask[3]: no token is 1", lambda: rank(inputs=hidden)),
                (headway.BadDataError, "labels: are [1.0] for all 9 examples", lambda: rank(np.ones(P))),
                (headway.BadDataError, "labels: 3 examples of 5 classes", lambda: rank([0, 1, 4], few, classes=5)),
                (headway.BadDataError, "labels: class 2 has 1 of 9 examples", lambda: rank([0, 1, 2, 0, 1, 0, 1, 0, 1], classes=3)),
                (headway.BadDataError, "labels: one class has 1 of 9", lambda: rank([1] + [-1] * 8)),
                (headway.BadDataError, "labels: 3 examples; allowed: at least 8", lambda: rank([0.1, 0.2, 0.3], few)),
                (headway.BadDataError, "measures the loss of a language model", lambda: rank(batch["input_ids"])),
                (headway.UsageError, "tokenizer is missing", lambda: rank(inputs=["a"] * P)),
                (headway.UsageError, "inputs: is list", lambda: rank(inputs=[1] * P)),
                (headway.UsageError, "inputs: is DataLoader; allowed: a tensor, a tuple of tensors, a mapping of names to tensors, such as a "
                 "tokenizer returns, or a sequence of texts together with tokenizer. Concatenate batches, such as those of a DataLoader",
                 lambda: rank(inputs=torch.utils.data.DataLoader(torch.zeros(P, 2)))),
                (headway.UsageError, "k: is 99", lambda: rank(k=99, layers=[-1])),
                (headway.UsageError, "target: is 'x'; allowed: fixed, refitted", lambda: rank(target="x", layers=[-1])),
                (headway.UsageError, "mode: is 'x'; allowed: mean, zero", lambda: rank(mode="x", layers=[-1])),
                (headway.UsageError, "layers: holds 9", lambda: rank(layers=[9])),
                (headway.UsageError, "readout: is 'x'", lambda: rank(readout="x")),
                (headway.UsageError, "inputs: is int", lambda: rank(inputs=1)),
                (headway.UsageError, "penalty: is 0", lambda: rank(penalty=0)),
                (headway.UsageError, "penalty: is 'a'", lambda: rank(penalty="a")),
                (headway.UsageError, "seed: is -1", lambda: rank(seed=-1)),
                (headway.BadDataError, "labels[2]: nan", lambda: rank([1, -1, np.nan, *[1, -1] * 3])),
                (headway.BadDataError, "embeddings: 9 of 9 are not finite, first that of example 0", lambda: rank(model=broken))):
            with self.subTest(words=words):
                self.refused(kind, words, call)


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class OtherTools(RankingTest):
    def test_prune_heads_of_transformers_does_what_the_removal_at_zero_does(self):
        model, batch = make_model("Bert"), encoded()
        if not hasattr(model, "prune_heads"):
            self.skipTest("this transformers has no prune_heads")
        ranking = headway.rank_heads(model, batch, SIGNS, theory=False, mode="zero", **QUIET)
        network = Network(model, "mean", 4)
        with evaluating(model, 4, torch_attention=False):
            means = network.embeddings(batch)[1]
            from headway.heads.network_removal import replacement_of
            gone = {}
            for layer, head in ranking.cheapest(4):
                gone.setdefault(layer, []).append(head)
            ours = network.embeddings_from(network.started(batch, 1), {
                layer: replacement_of("zero", means[layer - 1], HEADS, *heads) for layer, heads in gone.items()})
            model.prune_heads(ranking.to_prune_heads(4))
            theirs = Network(model, "mean", 4).embeddings(batch)[0]
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
        self.refused(headway.UsageError, "was pruned already", lambda: headway.rank_heads(model, batch, SIGNS, **QUIET))

    @unittest.skipUnless(importlib.util.find_spec("kvpress"), "needs kvpress")
    def test_kvpress_streams_the_cheapest_heads(self):
        model, batch = make_model("Llama", "sdpa"), encoded()  # kvpress wants it, and a transformers that has it
        ranking = headway.rank_heads(model, batch, SIGNS, theory=False, layers=[2, 3], **QUIET)
        ranking.to_duo_attention(self.folder / "duo", model, sink_size=1, recent_size=2)
        press = headway.kvpress_press(self.folder / "duo", head_compression_ratio=2 / 6)
        press.post_init_from_model(model)
        streaming = {(int(layer) + 1, int(head) + 1) for layer, head in press.streaming_mask.nonzero()}
        self.assertEqual(streaming, set(ranking.cheapest(2)))
        self.assertEqual((press.sink_size, press.recent_size), (1, 2))

    def test_duo_attention_wants_keys_of_their_own(self):
        model, batch = make_model("Llama"), encoded()
        ranking = headway.rank_heads(model, batch, SIGNS, theory=False, grouped=False, layers=[-1], **QUIET)
        self.refused(headway.UsageError, "queries that share keys", lambda: ranking.to_duo_attention(self.folder, model))

    def test_duo_attention_is_of_decoders(self):
        for kind, decodes in (("Bert", False), ("Albert", False), ("GPT2", True), ("Llama", True)):
            model = make_model(kind)
            ranking = headway.rank_heads(model, encoded(), SIGNS, theory=False, layers=[-1], **QUIET)
            if decodes:
                ranking.to_duo_attention(self.folder / kind, model)
            else:
                self.refused(headway.UsageError, f"model: {kind}Model is no decoder", lambda: ranking.to_duo_attention(self.folder, model))
        model = make_model("Bert", is_decoder=True)  # whose mask is causal
        headway.rank_heads(model, encoded(), SIGNS, theory=False, layers=[-1], **QUIET).to_duo_attention(self.folder / "causal", model)


if __name__ == "__main__":
    unittest.main()
