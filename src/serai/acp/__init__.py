"""The client of the Agent Client Protocol: it starts agents and talks to them. Begin with `session_start`.

`agent` is one process with many sessions, `session` what is asked in one of them, `requests` what the agent
asks back; `process/` is the process below all that. The rest is pure: `tool_calls` folds what is told into
tool calls.
"""
