"""Labels and truth → figures."""
