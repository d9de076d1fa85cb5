"""Agents made of a model and a file: the provider `model`."""
