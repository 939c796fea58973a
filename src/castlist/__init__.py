"""castlist: find out who is in a video, without knowing how many people there are.

All public names can be imported from here; ``__init__.pyi`` lists them. Each is loaded when it is
first used, so that importing castlist is fast.
"""

import os

import lazy_loader

# Unless this is set before onnxruntime is imported, it stores an id of the machine in the user's
# home and reports to its makers. Plugins import it, too.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
