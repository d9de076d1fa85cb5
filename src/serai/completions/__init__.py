"""What could stand at a place in a message: files after `@`, skills and prompts after `/`.

completions.sources     who offers something, and the answer to the command
completions.completing  what is being written, and what an offer looks like
completions.index       which files a folder has
completions.fuzzy       which of them fit
"""
