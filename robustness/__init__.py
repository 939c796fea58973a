"""Try broken files, full disks, killed processes and a loaded server."""
