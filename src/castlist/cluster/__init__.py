"""Embeddings, τ and links → labels."""
