"""One model in several threads: the numbers of one thread, and a model that is as it was before. Needs PyTorch; parts need transformers."""

import concurrent.futures
import importlib.util
import threading
import unittest
import warnings

import numpy as np

import headway

HAVE_ALL = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
if HAVE_ALL:
    import torch
    from contributions_test import HEADS, SIGNS, encoded, make_model
    from named_heads_test import N, HandWritten, drawn, tokens
    from torch import nn

    from headway.heads.model_locks import exclusive, without_fast_path

WAIT = 60.0  # seconds, after which a thread that should have gone on counts as stuck


def traces(model):
    """What a call must not leave in a model."""
    return [name for name, module in model.named_modules() if "forward" in vars(module) or module._forward_pre_hooks
            or module._forward_hooks]


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class Threads(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def together(self, calls):
        """The answers of calls that begin in threads at one time."""
        start = threading.Barrier(len(calls))

        def run(call):
            start.wait(WAIT)
            return call()
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(run, calls))

    def test_rankings_of_one_model_are_those_of_one_thread(self):
        named = {f"blocks.{i}.attn.proj": HEADS for i in range(2)}
        for model, given, options in ((make_model("Bert", "sdpa"), encoded(), {"readout": "mean"}),
                                      (drawn(HandWritten), tokens(), {"heads": named, "readout": "mean"})):
            model.train()

            def ablate(layer):
                return headway.ablate_heads(model, given, SIGNS, layers=[layer], batch_size=2, penalty=1.0, **options)["loss_rise"]
            alone = {layer: ablate(layer) for layer in (1, 2)}
            for found, layer in zip(self.together([lambda layer=layer: ablate(layer) for layer in (1, 2) * 3]), (1, 2) * 3):
                np.testing.assert_array_equal(found, alone[layer])
            self.assertEqual(traces(model), [])
            self.assertTrue(all(module.training for module in model.modules()))

    def test_a_thread_that_uses_the_model_itself_changes_nothing_and_sees_nothing(self):
        named = {f"encoder.layer.{i}.attention.output.dense": HEADS for i in range(3)}
        model, batch, done = make_model("Bert", "sdpa"), encoded(), threading.Event()
        with torch.no_grad():
            expected = model(**batch).last_hidden_state
        alone = [headway.ablate_heads(model, batch, SIGNS, batch_size=2, penalty=1.0, heads=heads)["loss_rise"] for heads in (None, named)]

        def use():
            found = 0
            with torch.no_grad():
                while not done.is_set():
                    self.assertTrue(torch.equal(model(**batch).last_hidden_state, expected))
                    found += 1
            return found
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            used = pool.submit(use)
            try:
                again = [headway.ablate_heads(model, batch, SIGNS, batch_size=2, penalty=1.0, heads=heads)["loss_rise"] for heads in (
                    None, named)]
            finally:
                done.set()
            self.assertGreater(used.result(WAIT), 0)
        for found, wanted in zip(again, alone):
            np.testing.assert_array_equal(found, wanted)

    def test_models_that_share_a_part_wait_for_each_other_and_others_do_not(self):
        whole = drawn(HandWritten)
        part, other = whole.blocks[0], drawn(HandWritten, 2)
        entered, free = threading.Event(), threading.Event()

        def hold():
            with exclusive(whole):
                with exclusive(part):  # the thread that has it may take it again
                    entered.set()
                    self.assertTrue(free.wait(WAIT))

        def take(model, order):
            with exclusive(model):
                order.append(free.is_set())
        first = threading.Thread(target=hold)
        first.start()
        self.assertTrue(entered.wait(WAIT))
        order = []
        take(other, order)
        self.assertEqual(order, [False])
        second = threading.Thread(target=take, args=(part, order))
        second.start()
        free.set()
        first.join(WAIT)
        second.join(WAIT)
        self.assertEqual(order, [False, True])

    def test_the_fast_path_comes_back_when_the_last_thread_is_done(self):
        switch = torch.backends.mha
        self.assertTrue(switch.get_fastpath_enabled())
        one, two = without_fast_path(switch), without_fast_path(switch)
        one.__enter__()
        two.__enter__()
        one.__exit__(None, None, None)
        self.assertFalse(switch.get_fastpath_enabled())
        two.__exit__(None, None, None)
        self.assertTrue(switch.get_fastpath_enabled())
        encoders = [drawn(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(N, HEADS, 16, batch_first=True), 2), seed) for seed in (1, 2)]

        def ablate(model):
            return headway.ablate_heads(model, tokens(), SIGNS, readout="mean", batch_size=2, penalty=1.0)["loss_rise"]
        alone = [ablate(model) for model in encoders]
        for found, expected in zip(self.together([lambda model=model: ablate(model) for model in encoders * 2]), alone * 2):
            np.testing.assert_array_equal(found, expected)
        self.assertTrue(switch.get_fastpath_enabled())

    def test_an_error_leaves_nothing_in_the_model_and_lets_others_in(self):
        model = make_model("Bert", "sdpa").train()
        with self.assertRaises(headway.HeadwayError):
            headway.ablate_heads(model, encoded(), SIGNS, mode="resample", batch_size=1)
        with self.assertRaises(RuntimeError):
            with exclusive(model):
                raise RuntimeError
        self.assertEqual(traces(model), [])
        self.assertTrue(model.training)
        self.assertEqual(len(self.together([lambda: headway.ablate_heads(model, encoded(), SIGNS, layers=[1])])), 1)


if __name__ == "__main__":
    unittest.main()
