"""The Agent Host Protocol 0.2, complete and pure: no sockets, no clocks, no `await`.

    types, actions            what channels hold, and what changes it
    commands, notifications   what can be asked, and what is only told
    wire, codec               values and messages, to JSON and back
    reducers                  from a state and an action to the next state
    rules                     who may dispatch what, and when
    client                    what a client knows, hopes for, and does after a gap

Values are made with keywords and have snake_case names; on the wire they are camelCase.
"""

VERSION = "0.2.0"
"""The version of the protocol whose types these are."""
