"""Masks of real tokens: what is refused of them, whichever function and form takes them, and which token is read.

Parts need PyTorch and transformers.
"""

import importlib.util
import itertools
import os
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

import headway
from headway.heads.network_masks import checked_mask
from network_stand_ins import P, S, FakeTransformer, draw, signs

HAVE_TORCH = importlib.util.find_spec("torch") is not None
FORMS = ("attention", "contributions")
READOUTS = ("first_token", "last_token", "mean")


def right_padded():
    return draw(1, masked=True)[2]


def changed(mask, at, value):
    wrong = np.array(mask, float)
    wrong[at] = value
    return wrong


#: What the message says of a wrong mask [P, S].
WRONG = (("[4, 2]: 0.5; allowed: 0 or 1", changed(right_padded(), (4, 2), 0.5)),
         ("[4, 2]: nan; allowed: 0 or 1", changed(right_padded(), (4, 2), np.nan)),
         ("[4, 2]: -1; allowed: 0 or 1", changed(right_padded(), (4, 2), -1.0)),
         ("[0]: no token is 1; allowed: at least one real token in every example", 0 * right_padded()),
         ("[6]: no token is 1", changed(right_padded(), 6, 0.0)),
         ("[0]: no token is 1", 1 - right_padded()),  # True for padding, as PyTorch has it
         (": has shape [7, 4]; allowed: [7, 5]", right_padded()[:, :-1]),
         (": has shape [7]; allowed: [7, ", right_padded()[:, 0]))


#: A mask of fewer examples. That of a tokenizer is refused earlier, with its other arrays.
FEWER = (": has shape [6, 5]; allowed: [7, ", right_padded()[:-1])


class MaskTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "a.h5"

    def assert_refused(self, words, call):
        with self.assertRaises(headway.BadDataError) as caught:
            call()
        self.assertIn(words, str(caught.exception))
        self.assertEqual(os.listdir(self.path.parent), [])


class Arrays(MaskTest):
    def test_a_mask_is_a_matrix_of_zeros_and_ones(self):
        mask = right_padded()
        for given in (mask, mask == 1, mask.astype(float), (mask == 1).tolist()):
            found = checked_mask("mask", given, P, S)
            np.testing.assert_array_equal(found, mask == 1)
            self.assertEqual(found.dtype, bool)
        for words, wrong in (*WRONG, FEWER):
            self.assert_refused(f"mask{words}", lambda: checked_mask("mask", wrong, P, S))
        self.assert_refused("mask: has shape [6, 5]; allowed: [7, S]", lambda: checked_mask("mask", mask[:-1], P))
        self.assert_refused("mask: is of type <U1; allowed: 0 and 1", lambda: checked_mask("mask", [["a"] * S] * P, P))
        self.assert_refused("mask: has rows of different lengths",
                            lambda: checked_mask("mask", [[1] * S] * (P - 1) + [[1]], P))
        self.assert_refused("mask[1, 3]: is masked", lambda: checked_mask("mask", np.ma.masked_equal(mask, 0), P))

    def test_masks_of_arrays_and_of_tokenizers_are_checked(self):
        inputs, attentions, _ = draw(1)
        model = FakeTransformer()
        for words, wrong in WRONG:
            self.assert_refused(f"train: mask{words}", lambda: headway.from_attentions(
                self.path, inputs=inputs, attentions=attentions, labels=signs(P), readout="mean", mask=wrong))
            encoded = model.encoded() | {"attention_mask": wrong}
            self.assert_refused(f"train: encoded: attention_mask{words}", lambda: headway.from_hugging_face(
                self.path, model, encoded, signs(P)))
        words, wrong = FEWER
        self.assert_refused(f"train: mask{words}", lambda: headway.from_attentions(
            self.path, inputs=inputs, attentions=attentions, labels=signs(P), readout="mean", mask=wrong))
        self.assertEqual(model.calls, [])  # before the model has run


@unittest.skipUnless(HAVE_TORCH, "needs PyTorch")
class Torch(MaskTest):
    """An encoder of two layers that gets the padding, or gets none."""

    def setUp(self):
        super().setUp()
        import torch
        torch.manual_seed(1)
        layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
        self.x, self.mask = torch.randn(P, S, 8), torch.tensor(right_padded())

    def inputs(self, mask=None):
        return {"src": self.x} | ({} if mask is None else {"src_key_padding_mask": mask == 0})

    def write(self, form, mask=None, padding=None, readout="mean", **options):
        headway.from_torch(self.path, self.encoder, self.inputs(padding), signs(P), readout=readout, form=form,
                           mask=mask, batch_size=3, dtype="float64", **options)

    def test_both_forms_refuse_the_same_masks(self):
        for form, (words, wrong) in itertools.product(FORMS, (*WRONG, FEWER)):
            with self.subTest(form=form, words=words):
                self.assert_refused(f"train: mask{words}", lambda: self.write(form, wrong))

    def test_a_mask_the_wrong_way_round_is_noticed_in_the_attention(self):
        """Where every example has padding, a mask the wrong way round still has a real token in each."""
        self.mask[:, 3:] = 0
        for form, readout in itertools.product(FORMS, READOUTS):
            with self.subTest(form=form, readout=readout):
                self.assert_refused("row [0, 0, 3] (example, head, query): all of the attention is on masked tokens",
                                    lambda: self.write(form, self.mask == 0, self.mask, readout))

    def test_padding_of_the_model_leaves_a_token(self):
        self.mask[5] = 0
        for form in FORMS:
            with self.subTest(form=form):
                self.assert_refused("key_padding_mask)[5]: no token is 1", lambda: self.write(form, None, self.mask))

    def test_the_first_and_the_last_token_are_real_ones(self):
        """Padding may be left, right or between. The parts sum up to the answer at the token that is read."""
        import torch
        mask = torch.ones(P, S, dtype=torch.long)
        mask[1, :2] = mask[2, 3:] = mask[3, 2] = mask[4, 0] = mask[4, 4] = 0
        read = {"first_token": [0, 2, 0, 0, 1, 0, 0], "last_token": [4, 4, 2, 4, 3, 4, 4]}
        with torch.no_grad():
            answer = self.encoder(**self.inputs(mask)).double()
        for readout, tokens in read.items():
            self.write("contributions", mask, mask, readout, overwrite=True)
            with h5py.File(self.path) as file:
                found = file["train/path_features"][()].sum(1)
            expected = answer[torch.arange(P), tokens].numpy()
            expected -= expected.mean(0)
            factor = np.sqrt((found ** 2).sum() / (expected ** 2).sum())
            np.testing.assert_allclose(found, factor * expected, atol=1e-5 * np.abs(found).max())


@unittest.skipUnless(HAVE_TORCH and importlib.util.find_spec("transformers"), "needs PyTorch and transformers")
class Transformers(MaskTest):
    def test_every_function_refuses_the_same_masks(self):
        import torch
        import transformers
        model = transformers.BertModel(transformers.BertConfig(
            vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
            max_position_embeddings=8, attn_implementation="eager"))
        ids = torch.arange(P * S).reshape(P, S)
        calls = {
            "train: encoded: ": (
                lambda encoded: headway.from_hugging_face(self.path, model, encoded, signs(P), form="contributions"),
                lambda encoded: headway.ablate_heads(model, encoded, signs(P)),
                lambda encoded: headway.gradient_sensitivity(model, encoded, signs(P))),
            "encoded: ": (lambda encoded: headway.head_baselines(model, encoded),),
            "train: inputs: ": (lambda encoded: headway.rank_heads(model, encoded, signs(P), theory=False,
                                                                   progress=False),)}
        for words, wrong in WRONG:
            encoded = {"input_ids": ids, "attention_mask": torch.tensor(wrong)}
            for prefix, functions in calls.items():
                for call in functions:
                    self.assert_refused(f"{prefix}attention_mask{words}", lambda: call(encoded))
        # Where every example has padding, only the padding token tells that a mask is the wrong way round.
        mask = torch.tensor(right_padded())
        mask[:, 4] = 0
        encoded = {"input_ids": (ids + 1) * mask, "attention_mask": 1 - mask}
        for prefix, functions in calls.items():
            for call in functions:
                self.assert_refused(f"{prefix}attention_mask[0]: is 1 for padding (token 0)", lambda: call(encoded))
        zeros = {"input_ids": 0 * ids + torch.arange(P)[:, None] // 6, "attention_mask": torch.ones_like(ids)}
        calls["encoded: "][0](zeros)  # without masked tokens there is no telling


if __name__ == "__main__":
    unittest.main()
