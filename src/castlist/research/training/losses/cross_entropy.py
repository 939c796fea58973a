"""Cross-entropy: classify among the training identities (paper, sec. 5.3, CE)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from castlist.research.training.losses.base import Loss, Terms


class CrossEntropyLoss(Loss):
    """Cross-entropy of a linear classifier on top of the embeddings.

    The classifier is part of the loss, not of the model: it is discarded after training.

    Parameters
    ----------
    n_identities : int
        Number of training identities; labels are 0 to ``n_identities`` − 1.
    dim : int
        Length of an embedding.
    """

    def __init__(self, n_identities: int, dim: int) -> None:
        super().__init__()
        self.classifier = nn.Linear(dim, n_identities)

    def forward(self, embeddings: Tensor, labels: Tensor, b: Tensor) -> Terms:
        """Return the loss of one batch; b is not used."""
        return Terms(F.cross_entropy(self.classifier(embeddings), labels), {})
