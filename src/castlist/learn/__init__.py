"""Labelled TrackSet → BallModel."""
