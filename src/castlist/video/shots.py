"""Finding cuts, frame by frame: no track crosses one."""

from __future__ import annotations

from scenedetect import ContentDetector, FrameTimecode
from scenedetect.detector import FlashFilter

from castlist.video.frames import Image

#: Change between frames (mean over hue, saturation and brightness) that is a cut: PySceneDetect's.
CUT = 27.0
#: Width of the pictures compared: more costs time and finds the same cuts.
CUT_WIDTH = 160
_FLASH = 200  # milliseconds; a photographer's flash is one cut, not two
#: A take without a cut ends here as a shot, so that there is a place to take up work again.
LONGEST_SHOT = 120.0


class ShotSplitter:
    """Says where a new shot begins.

    After a cut it knows nothing of what came before, so that work taken up at a cut goes on as if
    it had never stopped.
    """

    def __init__(self, threshold: float = CUT) -> None:
        self._threshold = threshold
        self._start: float | None = None
        self._detector: ContentDetector = None

    def begins_at(self, time: float, image: Image) -> bool:
        """Say whether a shot begins at this frame; frames come in order."""
        begins = self._start is None or time - self._start >= LONGEST_SHOT
        begins = begins or bool(self._detector.process_frame(_moment(time), image))
        if begins:
            self._start = time
            self._detector = ContentDetector(
                self._threshold, min_scene_len=_FLASH, filter_mode=FlashFilter.Mode.SUPPRESS
            )
            self._detector.process_frame(_moment(time), image)
        return begins


def _moment(time: float) -> FrameTimecode:
    return FrameTimecode(round(1000 * time), 1000.0)  # milliseconds: frames need not be regular
