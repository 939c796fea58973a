"""Files ↔ TrackSet."""
