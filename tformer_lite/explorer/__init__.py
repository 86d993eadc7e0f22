"""Explorer: the translator and the attentions of any run, on a page."""
