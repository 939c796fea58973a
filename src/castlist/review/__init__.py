"""The web page on which a person corrects a cast."""
