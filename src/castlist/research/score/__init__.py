"""Scores of clips by truth that a person labelled by eye, and curves of NMI and WCP."""
