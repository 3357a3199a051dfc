"""Embeddings of distances."""
