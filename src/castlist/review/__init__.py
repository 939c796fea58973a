"""The web page for correcting a cast, and its server."""
