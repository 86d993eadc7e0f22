"""The whole model, to be read in one sitting, from top to bottom.

Five files are all of it, 800 lines with the hooks: `config` (sizes and
choices), `masks` (who may attend to whom), `layers` (the parts around
attention), `attention` (equation 1, and the layer), and `models` (blocks,
stacks, and the two models).

The others are for looking up: `choices` builds the parts that a config
names, `grouped` lets heads share keys, `checks` refuses bad input, and `modes`
runs a model in evaluation. Other forms of the parts stand in `parts`.
"""
