"""Pictures of the other steps: where elements go, and what grows."""
