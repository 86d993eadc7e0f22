"""What `python -m tformer_lite` does, one file for each command."""
