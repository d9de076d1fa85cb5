"""Watches on folders and files, which report changes in batches."""
