"""castlist: who is in this video, when nobody knows how many people there are.

Everything public is importable from here; ``__init__.pyi`` is the list. Names are loaded when
first used, so that nobody waits for what they do not use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
