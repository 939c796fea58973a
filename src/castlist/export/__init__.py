"""Write a cast in the formats of other tools, one format per module."""
