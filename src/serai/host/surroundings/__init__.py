"""The surroundings of sessions: files, watches, terminals, completions."""
