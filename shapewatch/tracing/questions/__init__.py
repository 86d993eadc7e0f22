"""What one may ask of a traced run."""
