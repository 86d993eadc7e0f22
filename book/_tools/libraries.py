"""The libraries whose names the book compares, each built at any sizes."""

import inspect
import linecache
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertLMHeadModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from tformer_lite import EncoderDecoder, tiny_translator

EAGER = {"attn_implementation": "eager", "use_cache": False}
MARKS = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}


def ids(B: int, T: int, V: int) -> Tensor:
    return torch.randint(1, V, (B, T))


def seen_by_all_but_one(B: int, T: int) -> Tensor:
    """Mask as Hugging Face does, with the last position of row 0 hidden."""
    mask = torch.ones(B, T)
    mask[0, -1] = 0
    return mask


def here(B, S, T, H, D, F, V, N):
    sizes = {"d_model": H * D, "n_heads": H, "d_ff": F, "vocab_size": V}
    config = replace(tiny_translator, max_len=N, **sizes)
    src, tgt = ids(B, S, V), ids(B, T, V)
    src[0, -1] = tgt[0, -1] = config.pad
    return EncoderDecoder(config).eval(), (src, tgt)


def layer(B, S, T, H, D):
    x, source = torch.randn(T, B, H * D), torch.randn(S, B, H * D)
    hidden = ~seen_by_all_but_one(B, S).bool(), torch.ones(T, S).triu(2) > 0
    inputs = x, source, source, hidden[0], True, hidden[1]
    return nn.MultiheadAttention(H * D, H).eval(), inputs


class Function(nn.Module):
    """The function as a module, so that its arguments can be told."""

    def forward(self, query, key, value, attn_mask):
        return functional.scaled_dot_product_attention(
            query=query, key=key, value=value, attn_mask=attn_mask
        )


def function(B, S, T, H, D):
    q, k, v = (torch.randn(B, H, n, D) for n in (T, S, S))
    return Function(), (q, k, v, torch.ones(B, 1, T, S).tril() > 0)


def bert(B, T, H, D, F, V, N):
    model = BertForMaskedLM(bert_config(H, D, F, V, N)).eval()
    return model, (ids(B, T, V), seen_by_all_but_one(B, T))


def bert_decoder(B, S, T, H, D, F, V, N):
    both = {"is_decoder": True, "add_cross_attention": True}
    model = BertLMHeadModel(bert_config(H, D, F, V, N, **both)).eval()
    memory = torch.randn(B, S, H * D)
    return model, (ids(B, T, V), None, None, None, None, memory)


def bert_config(H, D, F, V, N, **others):
    return BertConfig(
        vocab_size=V,
        hidden_size=H * D,
        num_hidden_layers=1,
        num_attention_heads=H,
        intermediate_size=F,
        max_position_embeddings=N,
        **EAGER | MARKS | others,
    )


def gpt2(B, T, H, D, F, V, N):
    config = GPT2Config(
        vocab_size=V,
        n_embd=H * D,
        n_layer=1,
        n_head=H,
        n_inner=F,
        n_positions=N,
        **EAGER | MARKS,
    )
    inputs = ids(B, T, V), None, seen_by_all_but_one(B, T)
    return GPT2LMHeadModel(config).eval(), inputs


def llama(B, T, G, R, D, F, V, N):
    config = LlamaConfig(
        vocab_size=V,
        hidden_size=G * R * D,
        num_hidden_layers=1,
        num_attention_heads=G * R,
        num_key_value_heads=G,
        intermediate_size=F,
        max_position_embeddings=N,
        **EAGER | MARKS,
    )
    inputs = ids(B, T, V), seen_by_all_but_one(B, T)
    return LlamaForCausalLM(config).eval(), inputs


def unpacked(wrapped: Callable) -> Callable:
    """Make one of PyTorch's functions again, from its own source, as if it
    were the reader's: the tracer looks into it."""
    lines = inspect.getsource(wrapped).splitlines(keepends=True)
    name = f"{wrapped.__name__}.py"
    linecache.cache[name] = 0, None, lines, name
    known = dict(vars(functional), has_torch_function=lambda given: False)
    exec(compile("".join(lines), name, "exec"), known)
    return known[wrapped.__name__]


BUILDS: dict[str, Callable] = {
    "here": here,
    "MHA": layer,
    "SDPA": function,
    "BERT": bert,
    "BERT as a decoder": bert_decoder,
    "GPT-2": gpt2,
    "Llama": llama,
}
