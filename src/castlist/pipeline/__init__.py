"""From a video file to a cast folder. Stages that are done are not repeated."""
