"""Customisations: agents, skills, prompts, rules, hooks and MCP servers in their conventional places.

    places.py      the table of places         containers.py  ids, bounds, load states, results
    discovery.py   a folder and a home         documents.py   agents, skills, prompts and rules
    trees.py       disk, or a client's files   frontmatter.py the YAML on top of them
    plugins.py     plugins, also a client's    servers.py     hooks and MCP servers
    agent_files.py agents of Serai itself      changes.py     switches, and the smallest actions

All functions are synchronous, only read, run nothing, and are bounded. Call those that read the disk in a
thread.
"""
