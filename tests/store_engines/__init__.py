"""Answers live, from a store, and by other engines over the store's files."""
