"""The map of the model: its parts, where one is, how the map is drawn."""
