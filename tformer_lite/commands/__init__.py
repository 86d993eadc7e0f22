"""What `python -m tformer_lite` does: to translate, to write, to trace."""
