"""Stand-ins for models of Hugging Face and PyTorch: they answer as those do, from drawn arrays."""

from types import SimpleNamespace

import numpy as np

P, S, N0, HEADS = 7, 5, 4, (2, 3)


def softmax_rows(rng, *shape):
    weights = rng.random(shape) + 0.1
    return weights / weights.sum(axis=-1, keepdims=True)


def signs(count):
    return np.resize([1.0, -1.0], count)


def draw(seed, count=P, masked=False):
    """inputs, attention of two layers, mask (None unless masked)."""
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((count, S, N0))
    attentions = [softmax_rows(rng, count, h, S, S) for h in HEADS]
    mask = np.ones((count, S), int)
    mask[1, 3:] = mask[2, 4:] = 0
    return inputs, attentions, mask if masked else None


class FakeTensor:
    """A tensor with a gradient, on a device, of a type that numpy lacks: numpy gets it only as PyTorch lets it."""

    def __init__(self, values, gradient=True, device="cuda", dtype="torch.bfloat16"):
        self.values, self.gradient, self.device, self.dtype = values, gradient, device, dtype

    def _changed(self, **changes):
        return FakeTensor(**{name: getattr(self, name) for name in ("values", "gradient", "device", "dtype")} | changes)

    def detach(self):
        return self._changed(gradient=False)

    def cpu(self):
        return self._changed(device="cpu")

    def float(self):
        return self._changed(dtype="torch.float32")

    def __len__(self):
        return len(self.values)

    def __getitem__(self, at):
        return self._changed(values=self.values[at])

    def __array__(self, *_, **__):
        if self.gradient:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.device != "cpu" or self.dtype == "torch.bfloat16":
            raise TypeError("can't convert it")
        return np.asarray(self.values, np.float32)


class FakeTransformer:
    """Answers as a model of `transformers` does: hidden states before every layer, and attention.

    Its answer for an example is looked up by the example's number, which is its first token id.
    """

    def __init__(self, seed=1, count=P, masked=False):
        self.inputs, self.attentions, self.mask = draw(seed, count, masked)
        self.training, self.calls = True, []

    def eval(self):
        self.training = False

    def encoded(self, examples=None):
        number = np.arange(len(self.inputs)) if examples is None else np.asarray(examples)
        encoded = {"input_ids": np.repeat(number[:, None], S, axis=1)}
        return encoded if self.mask is None else encoded | {"attention_mask": self.mask[number]}

    def __call__(self, input_ids, attention_mask=None, output_attentions=False,
                 output_hidden_states=False):
        assert output_attentions and output_hidden_states and not self.training
        number = input_ids[:, 0]
        self.calls.append(len(number))
        return SimpleNamespace(
            attentions=tuple(layer[number] for layer in self.attentions),
            hidden_states=tuple(self.inputs[number] + 10 * layer for layer in range(3)))


class MultiheadAttention:
    """Stands in for torch.nn.MultiheadAttention."""

    def __init__(self, weights, batch_first=True):
        self.weights, self.batch_first, self.training = weights, batch_first, True

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True):
        examples = query if self.batch_first else np.swapaxes(query, 0, 1)
        weights = self.weights[examples[:, 0, 0].astype(int)]
        output = query + np.float64(100)
        if not need_weights:
            return output, None
        return output, weights.mean(axis=1) if average_attn_weights else weights


class FakeEncoder:
    """Two layers, the first called by position and without weights, the second with averaged ones."""

    def __init__(self, batch_first=True):
        _, self.attentions, self.mask = draw(3, masked=True)
        self.layers = [MultiheadAttention(a, batch_first) for a in self.attentions]
        self.training, self.modes, self.seen = False, [], []

    def modules(self):
        return [self, *self.layers]

    def eval(self):
        for module in self.modules():
            module.training = False

    def __call__(self, x, padding=None):
        self.modes.append(any(module.training for module in self.modules()))
        first, second = self.layers
        x = x if first.batch_first else np.swapaxes(x, 0, 1)
        out, nothing = first(x, x, x, padding, False)
        self.seen.append((nothing, second(out % 100, out % 100, out % 100, need_weights=True)[1]))
        return out


def numbered(count=P):
    """Inputs whose first number is the example's."""
    x = np.random.default_rng(5).random((count, S, N0))
    x[:, :, 0] = np.arange(count)[:, None]
    return x
