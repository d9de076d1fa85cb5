"""`serai chat`: a conversation with a session, in plain lines."""
