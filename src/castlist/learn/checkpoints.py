"""PyTorch's checkpoints of strangers."""

from __future__ import annotations

import torch
from torch import Tensor


def is_whole(value: object) -> bool:
    """Say whether a value is a plain tensor, of which every element is stored."""
    return (
        isinstance(value, Tensor)
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and value.numel() * value.element_size() <= value.untyped_storage().nbytes()
    )
