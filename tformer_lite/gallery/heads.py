"""Bugs in the projections and the heads."""

from tformer_lite.gallery.entries import Bug

HEADS = "heads = dot_product_attention(q, k, v, mask, self.dropout)"
BUGS = (
    Bug(
        "heads_split_by_view",
        "The channels are cut into heads across the positions.",
        "attention",
        "return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)",
        "return x.reshape(len(x), n_heads, x.shape[1], -1)",
        "649453932/Chinese-Text-Classification-Pytorch#53",
    ),
    Bug(
        "heads_joined_by_view",
        "The heads are joined without being turned back first.",
        "attention",
        "return x.transpose(1, 2).flatten(-2)",
        "return x.reshape(len(x), x.shape[2], -1)",
        "jsbaan/transformer-from-scratch#6",
    ),
    Bug(
        "key_not_projected",
        "The keys are the input itself: the layer is there, and unused.",
        "attention",
        "k = split_heads(self.key(source), self.n_heads)",
        "k = split_heads(source, self.n_heads)",
        "source 004",
    ),
    Bug(
        "key_for_value",
        "The keys stand where the values belong.",
        "attention",
        "v = split_heads(self.value(source), self.n_heads)",
        "v = k",
        "snu-comparch/InfiniGen#5",
    ),
    Bug(
        "no_output_projection",
        "The heads are joined, and never mixed.",
        "attention",
        "return self.output(join_heads(heads))",
        "return join_heads(heads)",
        "Kyubyong/transformer#17",
    ),
    Bug(
        "dropout_for_ever",
        "Weights are dropped in evaluation, too.",
        "attention",
        HEADS,
        "heads = dot_product_attention("
        "q, k, v, mask, lambda w: torch.dropout(w, 0.1, True))",
        "karpathy/nanoGPT#240",
    ),
    Bug(
        "attention_over_batch",
        "Sentences attend to one another: the batch is taken for time.",
        "attention",
        HEADS,
        "q, k, v = (x.transpose(0, 2) for x in (q, k, v)); "
        "heads = dot_product_attention(q, k, v).transpose(0, 2)",
        "IBM/TabFormer#14",
    ),
)
