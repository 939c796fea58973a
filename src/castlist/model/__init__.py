"""Features → embeddings, in NumPy: the model, its files, and those that are shipped."""
