"""Compare a cast of a clip with what a person labelled by eye."""
