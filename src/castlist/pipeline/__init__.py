"""From a video file to its cast, in a folder; what is done stays done."""
