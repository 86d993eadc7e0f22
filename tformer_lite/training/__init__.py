"""Training: recipes, batches, steps, the loop, and checkpoints."""
