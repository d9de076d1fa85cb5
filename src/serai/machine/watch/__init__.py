"""What changes on the disk: watches on folders and files, told in batches."""
