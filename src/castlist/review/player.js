// Plays the video at a track and draws the box of its face.
import { get } from "./api.js";
import { el } from "./dom.js";
import { complain, say } from "./page.js";
import { between } from "./words.js";

//: Seconds between two boxes above which the face is not drawn in between.
const GAP = 1.5;
//: Seconds for which a box is drawn before its time, and at least after it.
const EDGE = 0.15;

// cut: called with a track and a time, when the user cuts the track that is played.
export function makePlayer(cut) {
  const video = el("video", {
    src: "video/0", preload: "metadata", controls: true, playsinline: true,
    controlslist: "nofullscreen nodownload", disablepictureinpicture: true, tabindex: "-1",
  });
  const box = el("div", { class: "box", hidden: true });
  const note = el("p", { class: "quiet" }, "Play a track to see its face in the video.");
  const here = el("button", { type: "button", "data-action": "cut-here", hidden: true, onclick: () => { video.pause(); cut(track.id, now()); } }, "Cut the track here");
  const root = el("div", { class: "player" }, el("div", { class: "screen" }, video, box), note, here);
  let track = null;
  let stop = null; // when to pause
  const now = () => video.currentTime - (track?.delay ?? 0); // as in the cast: from the first frame

  const draw = () => {
    const at = track ? boxAt(track.boxes, track.end, now()) : null;
    box.hidden = !at;
    here.hidden = !track;
    here.disabled = !track || now() <= track.start || now() >= track.end;
    if (!at) return;
    const [width, height] = track.size ?? [video.videoWidth, video.videoHeight];
    const [x, y, w, h] = at;
    box.style.setProperty("left", `${(100 * x) / width}%`);
    box.style.setProperty("top", `${(100 * y) / height}%`);
    box.style.setProperty("width", `${(100 * w) / width}%`);
    box.style.setProperty("height", `${(100 * h) / height}%`);
  };
  const follow = () => {
    draw();
    if (stop !== null && now() >= stop) {
      stop = null;
      video.pause();
    }
    if (!video.paused && !video.ended && root.isConnected) requestAnimationFrame(follow);
  };
  video.addEventListener("play", () => requestAnimationFrame(follow));
  for (const event of ["seeked", "pause", "loadeddata", "timeupdate"]) video.addEventListener(event, draw);
  video.addEventListener("error", () => (note.textContent = "The browser cannot play this video."));

  return {
    root,
    video,
    get time() { return now(); },
    async play(id) {
      try {
        track = await get(`api/tracks/${encodeURIComponent(id)}`);
      } catch (error) {
        complain(error);
        return;
      }
      const film = `video/${track.film}`; // a joined cast has several
      if (video.getAttribute("src") !== film) video.setAttribute("src", film);
      note.textContent = `Track at ${between(track.start, track.end)}. The video stops at the end of the track.`;
      if (video.error) {
        note.textContent = "The browser cannot play this video.";
        return;
      }
      video.currentTime = track.start + track.delay;
      stop = Math.max(track.end, track.start + 0.2);
      try {
        await video.play();
      } catch (error) {
        if (error.name !== "AbortError") say("The browser cannot play this video.", true);
      }
    },
    leave() {
      video.pause();
      track = null;
      stop = null;
      box.hidden = true;
      here.hidden = true;
    },
  };
}

// The box of a track's face at a time, interpolated; null if the face was not seen then.
export function boxAt(boxes, end, time) {
  if (!boxes.length || time < boxes[0][0] - EDGE) return null;
  if (time >= Math.max(end, boxes[0][0] + EDGE)) return null;
  let low = 0;
  let high = boxes.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (boxes[middle][0] <= time) low = middle;
    else high = middle - 1;
  }
  const [before, after] = [boxes[low], boxes[low + 1] ?? boxes[low]];
  const span = after[0] - before[0];
  if (span > GAP && time - before[0] > EDGE && after[0] - time > EDGE) return null;
  const share = span > 0 ? Math.min(Math.max((time - before[0]) / span, 0), 1) : 0;
  return before.slice(1).map((value, i) => value + share * (after[i + 1] - value));
}
