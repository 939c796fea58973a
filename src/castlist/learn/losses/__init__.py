"""Losses, one a file."""

from castlist.extras import require

require("torch", "a loss")
