"""Bugs in positions, norms and residual connections."""

from tformer_lite.gallery.entries import Bug

ADDED = "return x + self.table[: x.shape[1]]"
NORMAL = "normal = centred / (x.std(-1, keepdim=True) + self.eps)"
SUM = "return x + self.dropout(sublayer(self.norm(x)))"
BUGS = (
    Bug(
        "no_positions",
        "The positions are made, and never added.",
        "layers",
        ADDED,
        "return x",
        "Lightning-AI/pytorch-lightning#20099",
    ),
    Bug(
        "position_of_the_row",
        "A sentence's number in the batch is taken for the position.",
        "layers",
        ADDED,
        "return x + self.table[: x.shape[0], None]",
        "cmu-l3/anlp-fall2025-code#1",
    ),
    Bug(
        "one_position_for_all",
        "A missing colon: the last position is added to every word.",
        "layers",
        ADDED,
        "return x + self.table[x.shape[1] - 1]",
        "DiffPoseTalk/DiffPoseTalk#20",
    ),
    Bug(
        "embedding_cut_off",
        "No gradient passes the positions: the words are never learned.",
        "layers",
        ADDED,
        "return x.detach() + self.table[: x.shape[1]]",
        "espnet/espnet#465",
    ),
    Bug(
        "norm_over_time",
        "Mean and deviation are taken over the positions of the sentence.",
        "variants",
        NORMAL,
        "normal = (x - x.mean(1, True)) / (x.std(1, keepdim=True) + self.eps)",
        "jadore801120/attention-is-all-you-need-pytorch#17",
    ),
    Bug(
        "norm_over_sentence",
        "Mean and deviation are taken over the whole sentence at once.",
        "variants",
        NORMAL,
        "normal = (x - x.mean((1, 2), True)) / x.std((1, 2), keepdim=True)",
        "Qualcomm-AI-research/geometric-algebra-transformer#8",
    ),
    Bug(
        "norm_squared",
        "The variance is squared, where its root should be taken.",
        "variants",
        NORMAL,
        "normal = centred / (x.var(-1, keepdim=True) + self.eps) ** 2",
        "131250208/TPlinker-joint-extraction#37",
    ),
    Bug(
        "norm_made_anew",
        "The gain is made anew in each call, and never learned.",
        "variants",
        "return normal * self.weight + self.bias",
        "return normal * nn.Parameter(torch.ones(x.shape[-1]))",
        "source 004",
    ),
    Bug(
        "sum_ignored",
        "Add and norm: the input is normalised, and not the sum.",
        "layers",
        SUM,
        "y = x + self.dropout(sublayer(self.norm(x))); return self.norm(x)",
        "source 004",
    ),
    Bug(
        "sublayer_twice",
        "What the sublayer made is added to itself, and not to its input.",
        "layers",
        SUM,
        "x = self.dropout(sublayer(self.norm(x))); return x + x",
        "kyegomez/BitNet#32",
    ),
    Bug(
        "residual_normed",
        "The residual connection starts after the norm, not before it.",
        "layers",
        SUM,
        "x = self.norm(x); return x + self.dropout(sublayer(x))",
        "SHI-Labs/Compact-Transformers#25",
    ),
)
