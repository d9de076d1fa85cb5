"""The machine under the sessions: processes, files, what changes on the disk, terminals."""
