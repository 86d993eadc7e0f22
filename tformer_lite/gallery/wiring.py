"""Bugs in how the parts of a model are put together."""

from tformer_lite.gallery.entries import Bug

CROSS = "x = second(x, lambda x: self.cross_attention(x, memory, memory_mask))"
BUGS = (
    Bug(
        "source_never_heard",
        "Cross-attention takes its keys and values from the target.",
        "models",
        CROSS,
        "x = second(x, lambda x: self.cross_attention(x, x, memory_mask))",
        "keitakurita/Practical_NLP_in_PyTorch#1",
    ),
    Bug(
        "roles_reversed",
        "The source asks, and the target answers.",
        "models",
        CROSS,
        "x = second(x, "
        "lambda x: self.cross_attention(memory, x, memory_mask))",
        "rexrex9/nlp_torchtext#2",
    ),
    Bug(
        "norm_used_twice",
        "The second sublayer takes the first one's norm; its own stays idle.",
        "models",
        CROSS,
        "x = first(x, lambda x: self.cross_attention(x, memory, memory_mask))",
        "ml-explore/mlx#1636",
    ),
    Bug(
        "blocks_in_a_list",
        "The blocks are kept in a list: their parameters are never found.",
        "models",
        "self.blocks = nn.ModuleList(block(config) for _ in layers)",
        "self.blocks = [block(config) for _ in layers]",
        "maruya24/pytorch_robotics_transformer#3",
    ),
    Bug(
        "softmax_at_the_end",
        "The model ends with a softmax, and the loss takes another.",
        "models",
        "return self.head(self.decoder(x, memory, mask, memory_mask))",
        "return self.head("
        "self.decoder(x, memory, mask, memory_mask)).softmax(-1)",
        "bowang-lab/Transformer-GCN-QA#32",
    ),
)
