"""What sessions have around them: files, watches, terminals, completions."""
