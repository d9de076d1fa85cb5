"""What changed in a working directory: uncommitted, since the session began, and in each turn.

    records.py     what a change is                                pure
    catalogue.py   the changesets of a session, and their URIs     pure
    showing.py     a change as AHP shows it                        pure
    comparing.py   from one list of files to another               pure
    counting.py    lines added and removed, without git            pure

    opening.py     the changes of a directory: begin here
    whereabouts.py where it is, and whether it is still the same one
    sides.py       where it is kept what is recorded of it
    elsewhere.py   what was recorded while it was another one
    tracked.py     in a repository
      git.py         running git so that it runs nothing else
      repository.py  the repository of a directory
      mirror.py      the private side: an index and objects of our own
      recording.py   when and what is recorded
      trees.py       what was recorded there
      telling.py     what changed since
      margins.py     what was there beside it
      unseen.py      looking into folders that git does not look into
      moved.py       knowing a file by what it is, not by its name
      inodes.py      and knowing those that were recorded
      permissions.py who may read files and enter folders
      plain.py       files byte for byte
      scanning.py    bringing the private index up to date
      ignoring.py    noticing that other files are ignored
      diff.py        from a tree to the work tree
      lingering.py   files that are gone for git only
      attributes.py  the form that content has, or had, as a file
      guarding.py    what no discard may touch
      preparing.py   what a discard goes by
      seeing.py      what there is by its bytes, before it is taken away
      restoring.py   bringing files back
      staging.py     the person's own index
      discarding.py  both of them, so that what fails has done nothing
      quiet.py       while nobody looks
    noted.py       in any other folder
      snapshots.py   what tools edited, kept by digest
      notes.py       what was noted of it
      beginnings.py  what there was when a turn began
      sightings.py   knowing a file that was moved there from one that was made there
      undoing.py     bringing files back
    contents.py    what content URIs lead to
    closed.py      the host's own folder, which is in no changeset
    reaching.py    getting at files, and at nothing outside
    writing.py     putting files in their place, and nothing else
    drafts.py      names of what is there for a moment only
    leftovers.py   what a host that was killed has left of that
    operations.py  stage, discard, open

Nothing here touches the person's index, objects, refs or files, except the operations that a person asks for.
"""
