"""From a video file to face tracks."""
