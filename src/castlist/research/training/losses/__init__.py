"""The losses, one per file. ``registry`` lists them, ``base`` holds what they share."""

from castlist.extras import require

require("torch", "a loss")
