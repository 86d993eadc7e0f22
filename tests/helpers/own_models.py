"""A block as one writes it."""

from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention


class GPTBlock(nn.Module):
    """Pre-norm, one matrix for query, key and value, PyTorch's attention."""

    def __init__(self, heads, channels):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(2))
        self.qkv = nn.Linear(channels, 3 * channels)
        self.output = nn.Linear(channels, channels)
        self.widen = nn.Linear(channels, 4 * channels)
        self.narrow = nn.Linear(4 * channels, channels)

    def attend(self, x):
        rows, length, channels = x.shape
        parts = self.qkv(x).split(channels, dim=2)
        shape = rows, length, self.heads, channels // self.heads
        q, k, v = (part.view(shape).transpose(1, 2) for part in parts)
        y = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(y.transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        x = x + self.attend(self.norms[0](x))
        return x + self.narrow(gelu(self.widen(self.norms[1](x))))
