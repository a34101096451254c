"""Files that are wrong, read in processes of their own: a crash of the reader is a failure with the file's name."""
