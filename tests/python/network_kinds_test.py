"""Models of transformers of many kinds, and what they cannot take: numbers that are right, or a message. Needs PyTorch and transformers."""

import importlib.util
import tempfile
import unittest
import warnings

import numpy as np

import headway

HAVE_ALL = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
if HAVE_ALL:
    import torch
    import transformers
    from contributions_test import HEADS, LAYERS, SIGNS, N, P, S, encoded, make_model, with_parameters

    from headway.heads.network_blocks import stack_of

QUIET = {"readout": "mean", "theory": False, "progress": False, "batch_size": 4}


def bigcode(multi_query, **changes):
    torch.manual_seed(2)
    config = transformers.GPTBigCodeConfig(vocab_size=50, n_embd=N, n_layer=LAYERS, n_head=HEADS, n_positions=16, n_inner=16, bos_token_id=1,
                                           eos_token_id=2, multi_query=multi_query, attn_implementation="eager", **changes)
    return with_parameters(transformers.GPTBigCodeModel(config))


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class Kinds(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def refused(self, words, call, kind=headway.UsageError):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIn(words, str(caught.exception))

    def test_values_of_gpt_bigcode_are_those_that_its_attention_mixes(self):
        """Also of one key and value for all queries."""
        for multi_query in (False, True):
            model, seen = bigcode(multi_query), {}
            block = stack_of(model).blocks[1]
            self.assertEqual((block.heads, block.value_heads), (HEADS, 1 if multi_query else HEADS))
            attention = model.h[1].attn
            attention.c_attn.register_forward_pre_hook(lambda module, given: seen.update(entered=given[0].double()))
            attention.c_proj.register_forward_pre_hook(lambda module, given: seen.update(mixed=given[0].double()))
            with torch.no_grad():
                weights = model(**encoded(), output_attentions=True).attentions[1].double()
                values = torch.einsum("btn,hdn->bhtd", seen["entered"], block.value_weights) + block.value_biases[:, None]
                mixed = torch.einsum("bhqt,bhtd->bqhd", weights, values).flatten(2)
            np.testing.assert_allclose(seen["mixed"], mixed, atol=1e-5)
            norms = headway.head_baselines(model, encoded(), layers=[2])["weight_norm"]
            expected = [float((block.output_weights[h] @ block.value_weights[h]).norm()) for h in range(HEADS)]
            np.testing.assert_allclose(norms, expected, rtol=1e-12)

    def test_contributions_of_relatives_of_gpt2_sum_up_to_their_answer(self):
        """Which holds only if layers are taken apart as they compute."""
        torch.manual_seed(2)
        openai = with_parameters(transformers.OpenAIGPTModel(transformers.OpenAIGPTConfig(
            vocab_size=50, n_embd=N, n_layer=LAYERS, n_head=HEADS, n_positions=16)))
        with tempfile.TemporaryDirectory() as folder:
            for model, heads in ((bigcode(False), HEADS), (bigcode(True), HEADS), (openai, HEADS)):
                headway.from_hugging_face(f"{folder}/parts.h5", model, encoded(), SIGNS, form="contributions", layers=[-2], readout="mean",
                                          overwrite=True)
                self.assertEqual(headway.check_dataset(f"{folder}/parts.h5"), [])
                ranking = headway.rank_heads(model, encoded(), SIGNS, layers=[-2], **QUIET)
                self.assertEqual(len(ranking), 1 if model.config.to_dict().get("multi_query") else heads)
                self.assertIn("cut_without_theory", ranking.columns)

    def test_models_that_look_like_known_ones_are_refused(self):
        torch.manual_seed(2)
        mobile = transformers.MobileBertModel(transformers.MobileBertConfig(
            vocab_size=50, hidden_size=N, num_hidden_layers=2, num_attention_heads=HEADS, intermediate_size=16, embedding_size=12,
            intra_bottleneck_size=12, normalization_type="layer_norm")).eval()
        self.refused("MobileBertModel has no heads that are known", lambda: headway.rank_heads(mobile, encoded(), SIGNS, **QUIET))
        wrong = make_model("GPT2")
        wrong.h[0].attn.c_attn = torch.nn.Linear(N, 4 * N)  # of a kind with another layout
        self.refused("GPT2Model has no heads that are known", lambda: headway.head_baselines(wrong, encoded()))

    def test_a_model_with_a_decoder_is_asked_for_its_encoder(self):
        torch.manual_seed(2)
        model = transformers.T5Model(transformers.T5Config(vocab_size=50, d_model=N, num_layers=1, num_heads=HEADS, d_kv=6, d_ff=16,
                                                           decoder_start_token_id=0)).eval()
        with tempfile.TemporaryDirectory() as folder:
            self.refused("T5Model has an encoder and a decoder", lambda: headway.from_hugging_face(f"{folder}/a.h5", model, encoded(), SIGNS))
            encoder = model.get_encoder()
            encoder.set_attn_implementation("eager")
            headway.from_hugging_face(f"{folder}/a.h5", encoder, encoded(), SIGNS)

    def test_quantised_weights_are_refused(self):
        model = make_model("Bert")
        value = model.encoder.layer[1].attention.self.value
        value.weight = torch.nn.Parameter(torch.ones(N, N, dtype=torch.int8), requires_grad=False)
        self.refused("model: holds weights that are torch.int8, as a quantised model does", lambda: headway.head_baselines(model, encoded()))
        del value.weight
        value.weight = value.forward  # a method, as dynamic quantisation has it
        self.refused("model: holds weights that are packed, as a quantised model does", lambda: headway.head_baselines(model, encoded()))

    def test_cuts_are_left_out_where_frozen_parts_are_not_the_network(self):
        """In half precision, and in models with more in their blocks. All else is there."""
        for model, why in ((make_model("Llama").to(torch.bfloat16), "it computes in bfloat16; allowed: single or double".capitalize()),
                           (make_model("Granite", residual_multiplier=0.5) if hasattr(transformers, "GraniteConfig") else None,
                            "Its blocks add something that those of BERT")):
            if model is None:
                continue
            ranking = headway.rank_heads(model, encoded(), SIGNS, layers=[-1], **QUIET)
            self.assertNotIn("cut_without_theory", ranking.columns)
            for name in ("removal_mean_fixed", "gradient", "weight_norm", "attention_entropy"):
                self.assertTrue(np.isfinite(ranking[name]).all(), name)
            self.assertIn("cuts (model: encoded, example", ranking.attributes["left out"])
            self.assertIn(why, ranking.attributes["left out"])
            with tempfile.TemporaryDirectory() as folder:  # what is asked for alone is refused, with the same words
                self.refused(why, lambda: headway.from_hugging_face(f"{folder}/a.h5", model, encoded(), SIGNS, form="contributions"))


@unittest.skipUnless(HAVE_ALL, "needs PyTorch and transformers")
class Inputs(unittest.TestCase):
    def refused(self, words, model, batch, kind=headway.BadDataError):
        calls = {"train: encoded: ": (lambda: headway.ablate_heads(model, batch, SIGNS), lambda: headway.gradient_sensitivity(model, batch, SIGNS)),
                 "encoded: ": (lambda: headway.head_baselines(model, batch),),
                 "train: inputs: ": (lambda: headway.rank_heads(model, batch, SIGNS, **QUIET),)}
        for prefix, functions in calls.items():
            for call in functions:
                with self.assertRaises(kind) as caught:
                    call()
                self.assertIn(prefix + words, str(caught.exception))

    def test_lists_are_taken_if_their_rows_are_of_one_length(self):
        model, batch = make_model("Bert"), encoded()
        lists = {key: value.tolist() for key, value in batch.items()}
        options = {"layers": [-1], "readout": "mean", "batch_size": 4}
        for mode in ("zero", "resample"):
            expected = headway.ablate_heads(model, batch, SIGNS, mode=mode, **options)["loss_rise"]
            np.testing.assert_array_equal(headway.ablate_heads(model, lists, SIGNS, mode=mode, **options)["loss_rise"], expected)
        lists["input_ids"][3].append(7)
        self.refused("input_ids: has rows of 7 to 8 tokens; allowed: rows of one length", model, lists)
        self.refused("attention_mask[0]: is 1 for padding (token 0)", model, {
            "input_ids": [[5, 6, 0, 0]] * P, "attention_mask": [[0, 0, 1, 1]] * P})

    def test_tokens_are_numbers_of_the_vocabulary(self):
        for kind in ("Bert", "GPT2", "Llama"):
            model, batch = make_model(kind), encoded()
            for wrong in (50, -1):
                ids = batch["input_ids"].clone()
                ids[4, 3] = wrong
                self.refused(f"input_ids[4, 3]: {wrong}; allowed: 0 to 49, the tokens of the model", model, batch | {"input_ids": ids})
        self.refused("input_ids: are of type float32; allowed: integers", model, batch | {"input_ids": batch["input_ids"].float()})
        self.refused(f"input_ids: have shape [{P}]; allowed: [P, S]", model, {"input_ids": batch["input_ids"][:, 0]})

    def test_texts_are_no_longer_than_the_positions(self):
        batch = {"input_ids": torch.randint(3, 50, (P, 17), generator=torch.Generator().manual_seed(1))}
        for kind in ("Bert", "GPT2", "DistilBert"):
            self.refused("input_ids[0]: has 17 tokens; allowed: at most 16, the positions of the model", make_model(kind), batch)
        headway.head_baselines(make_model("Llama"), batch)  # has no table of positions
        roberta = make_model("Roberta", max_position_embeddings=18)  # of which padding has one, and none has the first
        short = batch["input_ids"].clone()
        short[:, 16:] = 1
        headway.head_baselines(roberta, {"input_ids": short, "attention_mask": (short != 1).long()})
        self.refused("input_ids[0]: has 17 tokens; allowed: at most 16", roberta, batch)
        self.refused("position_ids: go from 0 to 16; allowed: 0 to 15", make_model("GPT2"), encoded() | {
            "position_ids": torch.arange(S).repeat(P, 1) + torch.tensor([[0] * (S - 1) + [16 - S + 1]])})

    def test_what_has_other_shapes_is_named(self):
        """A mask that all examples share, and a test set of other length for a model with a mask of its own."""
        class Causal(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)

            def forward(self, x, mask=None):
                return self.net(x, mask=torch.ones(S, S).triu(1).bool() if mask is None else mask)
        x, shared, words = torch.randn(P, S, 8), torch.ones(S, S).triu(1).bool(), "mask [S, S], is part of the model"

        def refused(call, *words):
            with self.assertRaises(headway.UsageError) as caught:
                call()
            for word in words:
                self.assertIn(word, str(caught.exception))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for form in ("attention", "contributions"):
            def write(inputs, **options):
                return lambda: headway.from_torch(f"{folder.name}/a.h5", Causal(), inputs, SIGNS, readout="mean", form=form, **options)
            with self.subTest(form=form):
                refused(write({"x": x, "mask": shared}),
                                    "train: inputs: mask: has shape [7, 7], and x has 9 examples", words)
                refused(write((x, shared)), "train: inputs: number 2: has shape [7, 7]", words)
                refused(write({"x": x}, test={"inputs": {"x": x[:6, :-1]}, "labels": SIGNS[:6]}),
                                    "test: inputs: x: has examples of shape [6, 8], of which the model says: ", "allowed: [7, 8], as of train")

    def test_inference_mode_changes_nothing(self):
        model, batch = make_model("Bert"), encoded()
        calls = {"gradient": lambda given: headway.gradient_sensitivity(model, given, SIGNS, readout="mean")["sensitivity"],
                 "logistic": lambda given: headway.ablate_heads(model, given, SIGNS, probe="logistic", layers=[-1])["loss_rise"],
                 "ranking": lambda given: headway.rank_heads(model, given, SIGNS, **QUIET)["gradient"]}
        for name, call in calls.items():
            expected = call(batch)
            with self.subTest(name=name), torch.inference_mode():
                np.testing.assert_array_equal(call({key: value.clone() for key, value in batch.items()}), expected)
        with torch.inference_mode():
            made_inside = make_model("Bert")
        self.assertIsNotNone(headway.head_baselines(made_inside, batch))
        with self.assertRaisesRegex(headway.UsageError, "was made within torch.inference_mode"):
            headway.gradient_sensitivity(made_inside, batch, SIGNS)


if __name__ == "__main__":
    unittest.main()
