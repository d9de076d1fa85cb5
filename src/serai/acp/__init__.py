"""The client of the Agent Client Protocol: it starts agents and talks to them. Begin with `session_start`.

`agent` is one process with many sessions, `session` is one of them, `requests` answers what the agent asks,
and `process/` is the process below. The rest is pure: `tool_calls` folds updates into tool calls.
"""
