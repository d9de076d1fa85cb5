"""Completions in a message: files after `@`, skills and prompts after `/`.

completion.py  the word that is being written, and the form of offers
files.py       the files of a folder
names.py       skills and prompts; agents, people and rooms
search.py      the search in a hundred thousand paths
"""
