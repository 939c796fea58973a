"""The library page: the videos and casts of a folder, and a queue of scans."""
