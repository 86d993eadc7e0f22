"""Training from the command line: how it starts, how it goes, and what is
trained."""
