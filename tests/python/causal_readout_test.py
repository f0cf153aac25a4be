"""Which token a ranking reads: the last of a causal model, the first of any other. Needs PyTorch and transformers."""

import importlib.util
import tempfile
import unittest
import warnings

import h5py
import numpy as np

import headway

HAVE_ALL = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
if HAVE_ALL:
    import torch
    from contributions_test import HEADS, LAYERS, SIGNS, encoded, make_model
    from named_heads_test import REAL, HandWritten, drawn, tokens
    from torch import nn

KEYWORD, TEXTS, LENGTH = 7, 160, 8


def texts(seed=1):
    """Texts of random words; every second one has the keyword, at any place but the first."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(10, 30, (TEXTS, LENGTH))
    labels = np.resize([1, -1], TEXTS)
    rows = np.flatnonzero(labels == 1)
    ids[rows, rng.integers(1, LENGTH, len(rows))] = KEYWORD
    return {"input_ids": torch.as_tensor(ids)}, labels


def trained(kind):
    """A small decoder that says at the last token whether the keyword was there."""
    model, (batch, labels) = make_model(kind, "sdpa"), texts(2)
    readout, y = nn.Linear(24, 1), torch.as_tensor(labels, dtype=torch.float32)
    optimiser = torch.optim.Adam([*model.parameters(), *readout.parameters()], lr=0.01)
    for _ in range(120):
        optimiser.zero_grad()
        said = readout(model(**batch).last_hidden_state[:, -1])[:, 0]
        nn.functional.softplus(-y * said).mean().backward()
        optimiser.step()
    return model.eval()


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class CausalReadout(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def test_a_trained_decoder_is_read_at_its_last_token(self):
        """At the first token, which sees itself alone, the answer is a guess."""
        for kind in ("GPT2", "Llama"):
            model, (batch, labels) = trained(kind), texts()
            by_default = headway.ablate_heads(model, batch, labels)
            last = headway.ablate_heads(model, batch, labels, readout="last_token")
            first = headway.ablate_heads(model, batch, labels, readout="first_token")
            self.assertGreater(by_default.attributes["accuracy"], 0.9)
            self.assertLess(first.attributes["accuracy"], 0.8)
            self.assertEqual(by_default.attributes["readout"], "last_token")
            np.testing.assert_array_equal(by_default["loss_rise"], last["loss_rise"])
            ranking = headway.rank_heads(model, batch, labels, theory=False, progress=False)
            self.assertEqual(ranking.attributes["readout"], "last_token")
            self.assertGreater(ranking.attributes["accuracy"], 0.9)
            slopes = headway.gradient_sensitivity(model, batch, labels)
            self.assertEqual(slopes.attributes["readout"], "last_token")
            self.assertGreater(slopes["sensitivity"].max(), 0.0)

    def test_every_kind_padded_on_either_side(self):
        for kind, expected in (("Albert", "first_token"), ("Bert", "first_token"), ("DistilBert", "first_token"), ("GPT2", "last_token"),
                               ("Llama", "last_token")):
            for side in ("right", "left"):
                batch, model = encoded(), make_model(kind, "sdpa")
                if side == "left":
                    batch["attention_mask"] = batch["attention_mask"].flip(1)
                for dtype in (torch.float32, torch.bfloat16):
                    with self.subTest(kind=kind, side=side, dtype=dtype):
                        table = headway.gradient_sensitivity(model.to(dtype), batch, SIGNS, penalty=1.0)
                        self.assertEqual(table.attributes["readout"], expected)
        config = {"is_decoder": True}  # an encoder that is used as a decoder
        table = headway.ablate_heads(make_model("Bert", "sdpa", **config), encoded(), SIGNS, penalty=1.0, layers=[1])
        self.assertEqual(table.attributes["readout"], "last_token")

    def test_data_sets_are_read_there_too(self):
        for kind, expected in (("Bert", "first_token"), ("GPT2", "last_token"), ("Llama", "last_token")):
            for form in ("attention", "contributions"):
                with tempfile.TemporaryDirectory() as folder:
                    path = headway.from_hugging_face(f"{folder}/heads.h5", make_model(kind), encoded(), SIGNS, form=form, layers=[-1])
                    with h5py.File(path) as file:
                        self.assertEqual(file.attrs["readout"], expected)

    def test_models_of_pytorch(self):
        class Causal(nn.Module):
            def __init__(self):
                super().__init__()
                self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(24, HEADS, 16, batch_first=True), LAYERS)

            def forward(self, x):
                return self.encoder(x, nn.Transformer.generate_square_subsequent_mask(x.shape[1]), is_causal=True)
        for make, expected in ((Causal, "last_token"), (lambda: nn.TransformerEncoder(
                nn.TransformerEncoderLayer(24, HEADS, 16, batch_first=True), 1), "first_token")):
            model = drawn(make)
            self.assertEqual(headway.ablate_heads(model, tokens(), SIGNS, penalty=1.0).attributes["readout"], expected)
        gpt2, batch = make_model("GPT2", "sdpa"), encoded()
        heads = {f"h.{i}.attn.c_proj": HEADS for i in range(LAYERS)}
        self.assertEqual(headway.ablate_heads(gpt2, batch, SIGNS, heads=heads, penalty=1.0).attributes["readout"], "last_token")

    def test_what_cannot_be_seen_is_asked_and_a_first_token_is_warned_of(self):
        class Patches(nn.Module):
            """Its inputs have no row for each token."""

            def __init__(self):
                super().__init__()
                self.inner = HandWritten()

            def forward(self, pictures):
                return self.inner(pictures.unflatten(1, (-1, 24)))
        heads = {f"inner.blocks.{i}.attn.proj": HEADS for i in range(2)}
        with self.assertRaisesRegex(headway.UsageError, "readout: is not given, and it cannot be seen whether the model is causal"):
            headway.ablate_heads(drawn(Patches), tokens().flatten(1), SIGNS, heads=heads)
        headway.ablate_heads(drawn(Patches), tokens().flatten(1), SIGNS, heads=heads, readout="mean")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            headway.ablate_heads(make_model("GPT2", "sdpa"), encoded(), SIGNS, readout="first_token", layers=[1])
            headway.ablate_heads(make_model("Bert", "sdpa"), encoded(), SIGNS, readout="first_token", layers=[1])
        found = [str(one.message) for one in caught if "readout" in str(one.message)]
        self.assertEqual(len(found), 1)
        self.assertIn("its first token does not see the others", found[0])

    def test_texts_of_one_token_come_last(self):
        """Whether a model is causal is seen on the longest texts."""
        model, mask = make_model("Bert", "sdpa"), REAL.copy()
        mask[:6, 1:] = 0
        batch = encoded() | {"attention_mask": torch.as_tensor(mask)}
        self.assertEqual(headway.ablate_heads(model, batch, SIGNS, penalty=1.0).attributes["readout"], "first_token")


if __name__ == "__main__":
    unittest.main()
