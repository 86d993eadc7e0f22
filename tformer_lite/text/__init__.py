"""Text to ids and back: tokenizers, the files that readers bring, datasets."""
