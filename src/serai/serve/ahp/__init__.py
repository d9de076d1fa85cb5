"""AHP 0.2 on a connection: the one room where the shapes of a protocol version meet the host.

peer           one client: its messages in order, its answers, what it hears, what it is asked
commands       which command is served by which function, and most of these
handshake      initialize, reconnect, ping
subscriptions  subscribe, unsubscribe
actions        actions that clients dispatch
resources      files, kept content, and what clients publish
"""
