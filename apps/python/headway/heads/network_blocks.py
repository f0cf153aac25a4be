"""Transformer blocks of known kinds, taken apart: BERT, GPT-2 and Llama, their relatives, and PyTorch's own.

A block is described by its matrices, so that one piece of code can freeze and split all kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from headway.errors import UsageError

Tensor = torch.Tensor


@dataclass(frozen=True)
class Linear:
    """x -> x weight^T + bias; weight [outputs, inputs]."""

    weight: Tensor
    bias: Tensor | None


@dataclass(frozen=True)
class Norm:
    """LayerNorm (centred), or RMSNorm: x -> scale * (x - mean x) / sqrt(mean square + epsilon) + shift."""

    scale: Tensor
    shift: Tensor | None
    epsilon: float
    centred: bool


@dataclass(frozen=True)
class FeedForward:
    """down(activation(up x)), or down(activation(gate x) * up x) where there is a gate."""

    up: Linear
    down: Linear
    activation: Callable[[Tensor], Tensor]
    gate: Linear | None = None


@dataclass(frozen=True)
class Block:
    """One layer. With `norm_first` attention and feed-forward block read normed copies of the stream;
    else the stream is normed after each.

    value [H_kv d, N] and output [N, H d]; with grouped queries each of the H_kv value heads serves
    H / H_kv heads, one after the other. `projection` is the module that computes `output`.
    """

    module: torch.nn.Module
    projection: torch.nn.Module
    heads: int
    norm_first: bool
    value: Linear
    output: Linear
    norms: tuple[Norm, Norm]
    feed_forward: FeedForward

    @property
    def value_heads(self) -> int:
        """H_kv: heads with a key and a value of their own."""
        return self.value.weight.shape[0] * self.heads // self.output.weight.shape[1]

    @property
    def value_weights(self) -> Tensor:
        """[H, d, N], repeated for grouped queries."""
        return self._of_heads(self.value.weight)

    @property
    def value_biases(self) -> Tensor | None:
        """[H, d]."""
        return None if self.value.bias is None else self._of_heads(self.value.bias)

    @property
    def output_weights(self) -> Tensor:
        """[H, N, d]."""
        rows = self.output.weight.shape[0]
        return self.output.weight.reshape(rows, self.heads, -1).transpose(0, 1)

    def _of_heads(self, array: Tensor) -> Tensor:
        size = self.output.weight.shape[1] // self.heads
        groups = array.reshape(-1, size, *array.shape[1:])
        return groups.repeat_interleave(self.heads // len(groups), dim=0)


@dataclass(frozen=True)
class Stack:
    """All blocks of a model from the input up, and the norm after the last one, if any; `last` is the module
    that computes what the network says of every token."""

    blocks: tuple[Block, ...]
    last_norm: Norm | None
    last: torch.nn.Module
    model_name: str
    decoder: bool  # its tokens see none that come later

    @property
    def precision(self) -> str:
        """Of the numbers that the model computes with: "float32", ..."""
        return str(next(self.last.parameters()).dtype).rpartition(".")[2]


def stack_of(model: torch.nn.Module) -> Stack:
    """The blocks of a model, copied in double precision. UsageError for models of other kinds."""
    found = _known_stack(model)
    if found is None:
        raise UsageError(
            f"model: {type(model).__name__} has no blocks that are known; allowed with "
            "form=\"contributions\": blocks like those of BERT, DistilBERT, ALBERT, GPT-2 and Llama, and "
            "torch.nn.TransformerEncoder")
    return found


def stack_of_transformers(model: torch.nn.Module) -> Stack:
    """The same of a model of transformers, for functions that remove its heads or ask for its attention.

    UsageError for any other, and for torch.nn.MultiheadAttention, which headway.named_network takes.
    """
    found = _known_stack(model)
    if found is None or any(isinstance(getattr(block.module, "self_attn", None), torch.nn.MultiheadAttention)
                            for block in found.blocks):
        raise UsageError(f"model: {type(model).__name__} has no heads that are known; allowed: a model of transformers "
                         "with blocks like those of BERT, DistilBERT, ALBERT, GPT-2 and Llama, or any other where a function takes heads=, "
                         "which names the modules that project them: heads={'blocks.0.attn.proj': 4}")
    return found


def _known_stack(model: Any) -> Stack | None:
    if not hasattr(model, "modules"):
        return None
    for parent in model.modules():
        for kind in _KINDS:
            layers = kind.layers(parent)
            if layers:
                blocks = _made(kind, layers)
                if blocks is None:
                    continue
                norm = next((found for name in ("ln_f", "norm", "final_layer_norm")
                             if (found := getattr(parent, name, None)) is not None), None)
                return Stack(blocks, None if norm is None else _norm(norm), norm or layers[-1],
                             type(model).__name__, _is_decoder(model, kind, layers[0]))
    return None


def _is_decoder(model: Any, kind: _Kind, layer: torch.nn.Module) -> bool:
    said = [module.is_causal for module in layer.modules() if isinstance(getattr(module, "is_causal", None), bool)]
    return all(said) if said else kind.decoder or bool(getattr(getattr(model, "config", None), "is_decoder", False))


def _made(kind: _Kind, layers: list[torch.nn.Module]) -> tuple[Block, ...] | None:
    """The layers as blocks; None where they look like this kind and are another."""
    try:
        blocks = tuple(kind.make(layer) for layer in layers)
    except (AttributeError, TypeError, _OtherKind):
        return None
    return blocks if all(map(_fits_together, blocks)) else None


def _fits_together(block: Block) -> bool:
    """Whether all matrices are of one stream [N], and heads and values share out evenly."""
    width, mixed = block.output.weight.shape
    own, fed = block.value.weight, block.feed_forward
    if mixed % block.heads or own.shape[1] != width or own.shape[0] % (mixed // block.heads):
        return False
    around = [norm.scale for norm in block.norms]
    return (bool(block.value_heads) and block.heads % block.value_heads == 0
            and fed.up.weight.shape[1] == fed.down.weight.shape[0] == width
            and all(scale.shape == (width,) for scale in around))


# ---- parts


class _OtherKind(Exception):
    """A layer looks like one of a kind, and is none."""


_PRECISIONS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def _copy(array: Tensor | None) -> Tensor | None:
    if array is None:
        return None
    if getattr(array, "dtype", None) not in _PRECISIONS:
        raise UsageError(f"model: holds weights that are {getattr(array, 'dtype', 'packed')}, as a quantised model does; allowed: weights in "
                         "half, single or double precision")
    array = array.detach()
    return (array.cpu() if array.device.type == "mps" else array).to(torch.float64)


def _linear(module: torch.nn.Module) -> Linear:
    transposed = type(module).__name__ == "Conv1D"  # of GPT-2: [inputs, outputs]
    weight = _copy(module.weight)
    return Linear(weight.T if transposed else weight, _copy(getattr(module, "bias", None)))


def _norm(module: torch.nn.Module) -> Norm:
    for name in ("eps", "variance_epsilon"):
        if hasattr(module, name) and getattr(module, "weight", None) is not None:
            centred = isinstance(module, torch.nn.LayerNorm)
            if centred or "RMSNorm" in type(module).__name__:
                return Norm(_copy(module.weight), _copy(getattr(module, "bias", None)),
                            getattr(module, name), centred)
    raise UsageError(f"model: its norm {type(module).__name__} is not known; allowed: LayerNorm and "
                     "RMSNorm with weights")


def _rows(linear: Linear, first: int, end: int) -> Linear:
    return Linear(linear.weight[first:end], None if linear.bias is None else linear.bias[first:end])


def _last_third(module: torch.nn.Module, width: int) -> Linear:
    """The values of a projection to queries, keys and values, `width` rows each."""
    joint = _linear(module)
    if joint.weight.shape[0] != 3 * width:
        raise _OtherKind
    return _rows(joint, 2 * width, 3 * width)


# ---- kinds


@dataclass(frozen=True)
class _Kind:
    """Where a kind of model keeps its layers, and how one becomes a Block."""

    marks: tuple[str, ...]  # attributes that its layers have
    make: Callable[[Any], Block]
    decoder: bool = False

    def layers(self, parent: torch.nn.Module) -> list[torch.nn.Module]:
        found = [module for module in parent.children() if isinstance(module, torch.nn.ModuleList)]
        for modules in found:
            if len(modules) and all(self._fits(module) for module in modules):
                return list(modules)
        return []

    def _fits(self, module: torch.nn.Module) -> bool:
        return all(_reach(module, mark) is not None for mark in self.marks)


class _Albert(_Kind):
    """One group of one layer, used again and again."""

    def layers(self, parent: torch.nn.Module) -> list[torch.nn.Module]:
        groups = getattr(parent, "albert_layer_groups", None)
        if groups is None:
            return []
        if len(groups) != 1 or len(groups[0].albert_layers) != 1:
            raise UsageError("model: ALBERT of several groups, or several layers a group; allowed: one")
        return [groups[0].albert_layers[0]] * parent.config.num_hidden_layers


def _reach(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name, None)
        if module is None:
            return None
    return module


def _bert(layer: Any) -> Block:
    attention, first, last = layer.attention.self, layer.attention.output, layer.output
    return Block(layer, first.dense, attention.num_attention_heads, False, _linear(attention.value),
                 _linear(first.dense), (_norm(first.LayerNorm), _norm(last.LayerNorm)),
                 FeedForward(_linear(layer.intermediate.dense), _linear(last.dense),
                             layer.intermediate.intermediate_act_fn))


def _distilbert(layer: Any) -> Block:
    return Block(layer, layer.attention.out_lin, layer.attention.n_heads, False,
                 _linear(layer.attention.v_lin), _linear(layer.attention.out_lin),
                 (_norm(layer.sa_layer_norm), _norm(layer.output_layer_norm)),
                 FeedForward(_linear(layer.ffn.lin1), _linear(layer.ffn.lin2), layer.ffn.activation))


def _albert(layer: Any) -> Block:
    attention = layer.attention
    return Block(layer, attention.dense, attention.num_attention_heads, False,
                 _linear(attention.value), _linear(attention.dense),
                 (_norm(attention.LayerNorm), _norm(layer.full_layer_layer_norm)),
                 FeedForward(_linear(layer.ffn), _linear(layer.ffn_output), layer.activation))


def _gpt2(layer: Any) -> Block:
    return _like_gpt2(layer, layer.attn.num_heads, True, _last_third(layer.attn.c_attn, layer.attn.embed_dim))


def _openai_gpt(layer: Any) -> Block:
    return _like_gpt2(layer, layer.attn.n_head, False, _last_third(layer.attn.c_attn, layer.attn.split_size))


def _gpt_bigcode(layer: Any) -> Block:
    """All queries share one key and one value, or each head has its own query, key and value side by side."""
    attention = layer.attn
    width, size = attention.embed_dim, attention.head_dim
    if attention.multi_query:
        value = _rows(_linear(attention.c_attn), width + size, width + 2 * size)
    else:
        by_head = torch.arange(3 * width).reshape(attention.num_heads, 3, size)
        joint, own = _linear(attention.c_attn), by_head[:, 2].reshape(-1)
        value = Linear(joint.weight[own], None if joint.bias is None else joint.bias[own])
    return _like_gpt2(layer, attention.num_heads, True, value)


def _like_gpt2(layer: Any, heads: int, norm_first: bool, value: Linear) -> Block:
    return Block(layer, layer.attn.c_proj, heads, norm_first, value, _linear(layer.attn.c_proj),
                 (_norm(layer.ln_1), _norm(layer.ln_2)),
                 FeedForward(_linear(layer.mlp.c_fc), _linear(layer.mlp.c_proj), layer.mlp.act))


def _llama(layer: Any) -> Block:
    attention, mlp = layer.self_attn, layer.mlp
    heads = attention.o_proj.weight.shape[1] // attention.head_dim
    return Block(layer, attention.o_proj, heads, True, _linear(attention.v_proj),
                 _linear(attention.o_proj),
                 (_norm(layer.input_layernorm), _norm(layer.post_attention_layernorm)),
                 FeedForward(_linear(mlp.up_proj), _linear(mlp.down_proj), mlp.act_fn,
                             _linear(mlp.gate_proj)))


def _torch(layer: Any) -> Block:
    attention = layer.self_attn
    if attention.in_proj_weight is None or attention.bias_k is not None or attention.add_zero_attn:
        raise UsageError("model: its torch.nn.MultiheadAttention has kdim, vdim, add_bias_kv or "
                         "add_zero_attn; allowed with form=\"contributions\": none of them")
    width = attention.embed_dim
    joint = Linear(_copy(attention.in_proj_weight), _copy(attention.in_proj_bias))
    return Block(layer, attention.out_proj, attention.num_heads, layer.norm_first,
                 _rows(joint, 2 * width, 3 * width), _linear(attention.out_proj),
                 (_norm(layer.norm1), _norm(layer.norm2)),
                 FeedForward(_linear(layer.linear1), _linear(layer.linear2), layer.activation))


_KINDS = (
    _Kind(("attention.self.value", "attention.output.LayerNorm", "intermediate.intermediate_act_fn",
           "output.LayerNorm"), _bert),
    _Kind(("attention.v_lin", "sa_layer_norm", "ffn.lin1", "output_layer_norm"), _distilbert),
    _Albert(("attention.dense", "full_layer_layer_norm", "ffn_output"), _albert),
    _Kind(("attn.c_attn", "attn.multi_query", "ln_1", "ln_2", "mlp.c_fc", "mlp.act"), _gpt_bigcode, True),
    _Kind(("attn.c_attn", "attn.embed_dim", "ln_1", "ln_2", "mlp.c_fc", "mlp.act"), _gpt2, True),
    _Kind(("attn.c_attn", "attn.split_size", "ln_1", "ln_2", "mlp.c_fc", "mlp.act"), _openai_gpt, True),
    _Kind(("self_attn.v_proj", "self_attn.o_proj", "self_attn.head_dim", "input_layernorm",
           "post_attention_layernorm", "mlp.gate_proj", "mlp.act_fn"), _llama, True),
    _Kind(("self_attn.out_proj", "norm1", "norm2", "linear1", "linear2", "activation"), _torch),
)
