"""What a cache cannot keep, and what it shows of what it keeps."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.helpers.growing import STEPS, T, close, grown, prepared
from tests.helpers.small import build, small, words
from tformer_lite import (
    DecoderOnly,
    EncoderDecoder,
    MultiHeadAttention,
    cached,
    running_example,
    running_model,
    trace,
)
from tformer_lite.decoding.cache.attention import CACHED
from tformer_lite.decoding.cache.models import Recomputed
from tformer_lite.model.choices import PARTS


class LoudAttention(MultiHeadAttention):
    """A reader's own: half as loud again."""

    def forward(self, *args, **kwargs) -> Tensor:
        return 1.5 * super().forward(*args, **kwargs)


def mirrored(t: int, device=None) -> Tensor:
    """A mask that looks ahead only."""
    return torch.ones(t, t, dtype=torch.bool, device=device).triu()[None, None]


def last_two(t: int, device=None) -> Tensor:
    """A mask that changes with the length: the last two see it all."""
    seen = torch.eye(t, dtype=torch.bool, device=device)
    seen[-2:] = True
    return seen.tril()[None, None]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DecoderOnly, EncoderDecoder])
@pytest.mark.parametrize(
    "own",
    [
        {"attention": LoudAttention, "cross_attention": "split"},
        {"mask": mirrored},
        {"mask": last_two},
    ],
    ids=["attention", "ahead", "length"],
)
def test_what_cannot_be_kept_is_computed_anew(kind, own):
    model, src, tgt = prepared("building_blocks", kind, **own)
    quick = cached(model.train())
    assert isinstance(quick, Recomputed)
    with torch.no_grad():
        model.eval()
        wanted = [model(*src, tgt[:, :end]) for end in (3, 4, 6)]
        model.train()
    close(quick(*src, tgt[:, :3]), wanted[0])
    close(quick(*src, tgt[:, :4]), wanted[1][:, 3:])
    assert model.training
    if src:
        memory = quick.encode(*src)
        assert not memory.requires_grad
        close(quick.decode(tgt[:, :6], memory, *src), wanted[2][:, 4:])
    quick.reorder(torch.tensor([1, 0, 2]))
    close(
        quick(*src, tgt[[1, 0, 2], :6])[:, -1:],
        quick.model.eval()(*src, tgt[[1, 0, 2], :6])[:, -1:],
    )


def test_a_model_of_the_readers_own_class_is_computed_anew():
    class Mine(DecoderOnly):
        def forward(self, ids):
            return super().forward(ids).flip(-1)

    model = build(Mine, small("char_lm"))
    ids = words(11, 2, 6)
    quick = cached(model)
    quick(ids[:, :4])
    close(quick(ids), model(ids)[:, 4:])


def test_blocks_that_were_exchanged_are_seen():
    model, _, _ = prepared("char_lm", DecoderOnly)
    model.decoder.blocks[1].self_attention = LoudAttention(12, 3).double()
    assert isinstance(cached(model), Recomputed)
    model.decoder = nn.Identity()
    assert isinstance(cached(model), Recomputed)


def test_the_keys_of_the_running_example_grow_a_row_a_step():
    """Issue 6: (2, 3, t, 4). Every row is the model's own."""
    model, example = running_model(), running_example()
    quick = cached(model)
    kept = quick.decoder.blocks[0].self_attention
    seen = trace(model, example.src, example.tgt, keep=True)
    assert kept.keys is kept.values is None
    for t in range(1, T + 1):
        quick(example.src, example.tgt[:, :t])
        assert kept.keys.shape == kept.values.shape == (2, 3, t, 4)
        for name, mine in (("k", kept.keys), ("v", kept.values)):
            wanted = seen[f"decoder.blocks.0.self_attention:{name}"]
            assert_close(mine, wanted[:, :, :t].detach(), atol=1e-6, rtol=0)
    cross = quick.decoder.blocks[0].cross_attention
    wanted = seen["decoder.blocks.0.cross_attention:k"]
    assert_close(cross.keys, wanted.detach(), atol=1e-6, rtol=0)


@pytest.mark.full
def test_a_step_can_be_traced():
    def step(B: int, T: int, H: int, D: int, V: int) -> tuple:
        config = replace(small("char_lm"), n_heads=H, d_model=H * D)
        config = replace(config, vocab_size=V, max_len=2 * T)
        torch.manual_seed(0)
        model = cached(DecoderOnly(config))
        ids = torch.randint(V, (B, T + 1))
        model(ids[:, :-1])
        return model, (ids,)

    dims = {"B": 2, "T": 5, "H": 3, "D": 4, "V": 11, "C": "H*D"}
    seen = trace(build=step, dims=dims, keep=True)
    assert not seen.notes
    table = str(seen.at("decoder.blocks.0.self_attention"))
    for line in (
        "(B, H, T, D), (B, H, 1, D) -> (B, H, T+1, D)",
        "(B, H, 1, D), (B, H, T+1, D), (B, H, T+1, D) -> (B, H, 1, D)",
    ):
        assert line in table
    (found,) = [a for a in seen.attention() if ".0." in a.path]
    assert found.weights.shape == (2, 3, 1, 6)


def test_shapes_that_the_parts_state():
    x, source = torch.randn(2, 3, 12), torch.randn(2, 5, 12)
    for kind in PARTS["attention"].values():
        part = kind(12, 3)
        kept = [(2, getattr(part, "n_kv_heads", 3), 3, 4)] * 2
        assert [y.shape for y in part.project(x)] == [(2, 3, 3, 4), *kept]
        cache = CACHED["self_attention"](part)
        for n in (1, 2):
            assert cache(x).shape == x.shape
            assert cache.keys.shape[2] == cache.values.shape[2] == 3 * n
    for kind in {*PARTS["cross_attention"].values()}:
        part = kind(12, 3)
        kept = [(2, getattr(part, "n_kv_heads", 3), 5, 4)] * 2
        made = part.project(x, source)
        assert [y.shape for y in made] == [(2, 3, 3, 4), *kept]
        cache = CACHED["cross_attention"](part)
        for _ in range(2):
            assert cache(x, source).shape == x.shape
            assert [cache.keys.shape, cache.values.shape] == kept


def test_attention_that_mixes_neighbours_is_computed_anew():
    """Its keys change when a word comes: no cache may keep them."""

    class Neighbours(MultiHeadAttention):
        def project(self, x, source=None, start=0):
            q, k, v = super().project(x, source, start)
            return q, (k + k.roll(1, dims=2)) / 2, v

    model, _, tgt = prepared("char_lm", DecoderOnly, attention=Neighbours)
    quick = cached(model)
    assert isinstance(quick, Recomputed)
    close(grown(quick, (), tgt, STEPS[0])[:, -1], model(tgt)[:, -1])


@pytest.mark.slow
@pytest.mark.parametrize("cross", PARTS["cross_attention"])
@pytest.mark.parametrize("attention", PARTS["attention"])
def test_every_attention_that_a_config_names_is_kept(attention, cross):
    """The witness: the model, which reads everything anew."""
    own = {"attention": attention, "cross_attention": cross}
    model, src, tgt = prepared("paper_base", EncoderDecoder, **own)
    quick = cached(model)
    assert not isinstance(quick, Recomputed)
    close(grown(quick, src, tgt, STEPS[1]), model(*src, tgt))
