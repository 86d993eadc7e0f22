"""Recording one run: its calls, modules, tensors and values."""
