"""Parts that commands share: the person's terminal, output, options, and attaching to terminals."""
