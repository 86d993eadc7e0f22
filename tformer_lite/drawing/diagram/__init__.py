"""The map of the model: what is in it, where each part stands, the pen."""
