"""Bugs in who may hear whom."""

from tformer_lite.gallery.entries import Bug

CAUSAL = "seen = torch.ones(t, t, dtype=torch.bool, device=device).tril()"
PADDING = "return (ids != pad)[:, None, None, :]"
DECODED = "return self.head(self.decoder(x, memory, mask, memory_mask))"
BUGS = (
    Bug(
        "triangle_turned_over",
        "Everyone hears the future, and nobody the past.",
        "masks",
        CAUSAL,
        "seen = torch.ones(t, t, dtype=torch.bool, device=device).triu()",
        "pytorch/examples#649",
    ),
    Bug(
        "one_step_ahead",
        "Everyone hears one position too many: the word to be guessed.",
        "masks",
        CAUSAL,
        "seen = torch.ones(t, t, dtype=torch.bool, device=device).tril(1)",
        "octo-models/octo#75",
    ),
    Bug(
        "first_word_alone",
        "Everyone hears the first position, and no other.",
        "masks",
        CAUSAL,
        "seen = (torch.arange(t, device=device) < 1).expand(t, t)",
        "OpenNMT/OpenNMT-py#294",
    ),
    Bug(
        "no_causal_mask",
        "The decoder hears the words that it has to guess.",
        "models",
        "mask = mask & self.mask(tgt.shape[1], tgt.device)",
        "mask = padding_mask(tgt, self.pad)",
        "alex-matton/causal-transformer-decoder#1",
    ),
    Bug(
        "rows_hidden",
        "Padding is not allowed to ask, but everyone hears it.",
        "masks",
        PADDING,
        "return (ids != pad)[:, None, :, None].expand(-1, 1, -1, len(ids[0]))",
        "hyunwoongko/transformer#40",
    ),
    Bug(
        "padding_is_zero",
        "Id 0 is taken for padding, whatever the vocabulary says.",
        "masks",
        PADDING,
        "return (ids != 0)[:, None, None, :]",
        "kpe/bert-for-tf2#68",
    ),
    Bug(
        "encoder_without_mask",
        "The encoder hears the padding.",
        "models",
        "mask = padding_mask(src, self.pad)",
        "mask = None",
        "source 003",
    ),
    Bug(
        "memory_without_mask",
        "The decoder hears the padding of the source.",
        "models",
        DECODED,
        "return self.head(self.decoder(x, memory, mask))",
        "huggingface/transformers#47946",
    ),
    Bug(
        "memory_masked_as_target",
        "The decoder puts its own mask on the source.",
        "models",
        DECODED,
        "return self.head(self.decoder(x, memory, mask, mask))",
        "Kamichanw/SeekDeeper#3",
    ),
    Bug(
        "memory_masked_causally",
        "The causal mask is put on the source, too.",
        "models",
        "memory_mask = padding_mask(src, self.pad)",
        "memory_mask = padding_mask(src, self.pad) & self.mask(tgt.shape[1])",
        "NVIDIA/TransformerEngine#629",
    ),
)
