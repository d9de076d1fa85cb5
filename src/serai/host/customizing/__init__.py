"""A session's customisations: what people and clients have prepared for its agent.

customizations      one session: what is shown, switched on and off
customized_folders  one folder: found once, for all sessions in it
hearing             hearing that something may have changed
published           plugins of the active client
fetching            their files, from the client
"""
