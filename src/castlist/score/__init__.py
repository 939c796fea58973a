"""Compare labels with the ground truth."""
