"""castlist: find out who is in a video, without knowing how many people there are.

All public names can be imported from here; ``__init__.pyi`` lists them. Each is loaded when it is
first used, so that importing castlist is fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
