"""The report of a cast: one HTML file."""
