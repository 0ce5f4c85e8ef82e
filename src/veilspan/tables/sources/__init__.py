"""Where tables come from: files, streams, data frames, databases; all give columns of cells."""
