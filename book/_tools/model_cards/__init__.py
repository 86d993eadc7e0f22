"""Cards of models of transformers, built from their configurations without
weights: `read_plan` finds what to build, `measure` gives the `Card`."""
