"""What `python -m shapewatch` does: to trace a model, and to check it."""
