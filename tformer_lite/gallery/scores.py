"""Bugs between the scores and the weights."""

from tformer_lite.gallery.entries import Bug

SCALED = "scores = q @ k.mT / math.sqrt(q.shape[-1])"
MASKED = "scores = scores + torch.where(mask, 0.0, -math.inf).to(scores)"
WEIGHTS = "weights = softmax(scores)"
BUGS = (
    Bug(
        "no_scale",
        "The scores are not divided by the square root of D.",
        "attention",
        SCALED,
        "scores = q @ k.mT",
        "source 000",
    ),
    Bug(
        "scaled_by_all_channels",
        "The scores are divided by the square root of C, not of a head's D.",
        "attention",
        SCALED,
        "scores = q @ k.mT / math.sqrt(q.shape[-1] * q.shape[-3])",
        "lucidrains/vit-pytorch#65",
    ),
    Bug(
        "softmax_over_queries",
        "The softmax runs down the columns: over those who ask.",
        "attention",
        WEIGHTS,
        "weights = softmax(scores.mT).mT",
        "nerminnuraydogan/vision-transformer#1",
    ),
    Bug(
        "softmax_over_heads",
        "The softmax runs over the heads.",
        "attention",
        WEIGHTS,
        "weights = softmax(scores.transpose(1, -1)).transpose(1, -1)",
        "CAMMA-public/rendezvous-in-time#3",
    ),
    Bug(
        "softmax_over_batch",
        "The softmax runs over the first axis: over the sentences.",
        "attention",
        WEIGHTS,
        "weights = softmax(scores.transpose(0, -1)).transpose(0, -1)",
        "PetrochukM/PyTorch-NLP#2",
    ),
    Bug(
        "nobody_to_hear",
        "A row in which every score is -inf becomes NaN.",
        "attention",
        WEIGHTS,
        "weights = torch.softmax(scores, dim=-1)",
        "pytorch/pytorch#41508",
    ),
    Bug(
        "loud_scores",
        "The exponential is taken of the scores as they are, however large.",
        "attention",
        "exps = torch.exp(scores - top)",
        "exps = torch.exp(scores)",
        "source 004",
    ),
    Bug(
        "mask_after_softmax",
        "What is hidden takes its share first, and loses it afterwards.",
        "attention",
        "heads = dot_product_attention(q, k, v, mask, self.dropout)",
        "heads = dot_product_attention(q, k, v, None, lambda w: w * mask)",
        "huggingface/pytorch-image-models#2236",
    ),
    Bug(
        "mask_upside_down",
        "True is taken for: hide.",
        "attention",
        MASKED,
        "scores = scores + torch.where(mask, -math.inf, 0.0).to(scores)",
        "rasbt/LLMs-from-scratch#1061",
    ),
    Bug(
        "mask_of_nearly_zero",
        "A very small number is added instead of a very negative one.",
        "attention",
        MASKED,
        "scores = scores + torch.where(mask, 0.0, -1e-9).to(scores)",
        "Shujun-He/RibonanzaNet#5",
    ),
)
