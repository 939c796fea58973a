"""A detector that keeps only large faces: ``castlist scan film.mp4 --detector large-faces``."""

import castlist

SHARE = 0.1  # smallest width of a face, as a share of the width of the image


class LargeFaces:
    """The default detector, without faces that are narrow in the image."""

    name = "large-faces"

    def __init__(self, device):
        self._all = castlist.open_detector(device=device)

    def detect(self, image, width=640):
        """Return candidates for faces in an image, scaled down to a width if it is wider."""
        faces = self._all.detect(image, width)
        return faces[faces.box[:, 2] >= SHARE * image.shape[1]]

    def closer(self, image, box, turn=0.0, mirror=False):
        """Return the face at a box in a close-up: one face, or none."""
        return self._all.closer(image, box, turn, mirror)
