"""Pictures of attention: heatmaps, strips, ribbons, one query."""
