"""The book's own: its running model, its texts, and what ships trained."""
