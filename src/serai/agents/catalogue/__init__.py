"""Which agents there are, where they are found, and what is known about them."""
