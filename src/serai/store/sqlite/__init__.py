"""The store on SQLite, encrypted: one file, one writer, readers that never wait."""
