"""Changes in a session's folder, by git alone: uncommitted, since the session began, in each turn.

    folder.py      the changes of a folder: begin here
      recorder.py    the private git directory: records trees, compares and checks out
      repository.py  the person's repository: what is committed, ignored, staged
      git.py         runs git so that it runs nothing else
    discard.py     brings files back
      undo.py        the trash of discards, and how they are undone
    operations.py  stage, discard, undo, open
    diff.py        changes, and the parser of git's differences            pure
    view.py        changesets and changes as AHP shows them                pure

The person's index, objects, refs and settings are not touched, except by `stage`, when a person asks.
"""
