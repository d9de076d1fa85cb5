"""AHP 0.2 on a connection: the only room where the shapes of a protocol version meet the host.

peer           one client: its messages in order, answers, and requests to it
commands       the functions that serve commands, in one table
handshake      initialize, reconnect, ping
subscriptions  subscribe, unsubscribe
actions        actions that clients dispatch
resources      files, kept content, and resources that clients publish
"""
