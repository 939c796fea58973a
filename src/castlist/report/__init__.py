"""Cast → one HTML file."""
