"""Cluster embeddings: τ and links → labels."""
