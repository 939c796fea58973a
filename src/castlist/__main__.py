"""``python -m castlist``."""

from castlist.cli import main

main()
