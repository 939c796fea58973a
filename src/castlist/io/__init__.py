"""Read and write track files; locks and atomic replacement of files."""
