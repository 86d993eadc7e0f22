"""The whole model: config, masks, layers, attention and models are the five
files to read; the others hold more parts, and refusals of bad input."""
