"""The exercises, a file for each chapter."""
