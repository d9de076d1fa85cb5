"""What the commands share: the terminal, output for people and programs, options, the way into a terminal."""
