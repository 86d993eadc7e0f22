"""Charts: lines, bars, dots."""
