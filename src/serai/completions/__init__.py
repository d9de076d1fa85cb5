"""What could stand at a place in a message: files after `@`, skills and prompts after `/`.

completion.py  the answer to the command: what is being written, and what an offer looks like
files.py       which files a folder has
names.py       skills and prompts; agents, people and rooms
search.py      which of a hundred thousand paths fit
"""
