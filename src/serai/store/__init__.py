"""The disk: one contract, several databases."""
