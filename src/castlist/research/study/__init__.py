"""Data and models → tables and figures."""
