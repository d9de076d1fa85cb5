"""AHP 0.2 on a connection: the one room where the shapes of a protocol version meet the host.

peer          one client: its messages in order, its answers, what it hears, what it is asked
table         which command is served by which function
handshake     initialize, reconnect, ping
following     subscribe, unsubscribe
dispatching   actions of clients
sessions      everything about sessions
"""
