"""Pictures of attention: heatmaps, and each step at reading size."""
