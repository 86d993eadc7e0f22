"""Source: the line and the expression of a call, and what it is bound to."""
