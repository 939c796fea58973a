"""The laboratory: training, fine-tuning, the paper's rivals, studies and scores of clips.

It uses every package of castlist, and none of them imports it; only ``cli/research.py`` opens its
commands, by name. All public names can be imported from here; ``__init__.pyi`` lists them. Each is
loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
