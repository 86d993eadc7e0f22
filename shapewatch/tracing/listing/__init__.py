"""A function's source, with the named shapes beside its lines."""
