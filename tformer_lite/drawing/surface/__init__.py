"""What all pictures are drawn on: colours, matrices, pages in pixels."""
