"""Pictures of matrices, lines and the model, drawn from measured numbers."""
