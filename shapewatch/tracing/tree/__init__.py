"""The modules of a run as a tree: in text, in HTML and as a graph."""
