// The picture of Watch: plays one video and draws the boxes and names of the faces on it. If the
// browser cannot play the video, the frames that the scan kept are shown instead.
import { el } from "./dom.js";
import { makeBoxes } from "./boxes.js";

const FIRST = 700; // milliseconds to wait for the first frame before the video is used without it
const NOTES = {
  missing: "The video was not found. Put it beside the cast's folder and open the page again. "
    + "Until then, this shows the frames that the scan kept.",
  unplayable: "The browser cannot play this video. This shows the frames that the scan kept.",
  unpictured: "The browser cannot play this video, and the scan kept no frames.",
};

// moved: called with the time whenever it changes; pressed: with the number of a face's character;
// state: when playing starts or stops, or the video turns out not to play.
export function makeScreen({ moved, pressed, state }) {
  const video = el("video", { preload: "auto", playsinline: true, disablepictureinpicture: true, tabindex: "-1" });
  const still = el("img", { class: "still", alt: "", hidden: true });
  const layer = el("div", { class: "faces-on", "aria-hidden": "true" });
  const stage = el("div", { class: "stage" }, video, still, layer);
  const note = el("p", { class: "quiet", hidden: true });
  const root = el("div", { class: "watch-screen" }, stage, note);
  const boxes = makeBoxes(() => draw());
  const people = new Map(); // number → { title, colour }
  let line = null; // the timeline that is shown
  let now = 0; // seconds, as in the cast: from the first frame
  let pictured = 0; // the time of the picture: of the still, if there is one
  let offset = 0; // seconds of the video element at the first frame
  let ready = null; // resolved when the first frame is there, and the offset known
  let pending = null; // where to seek after the seek that is under way
  let presented = null; // time of the frame that was presented since the last seek
  let stop = null; // when to pause
  let within = 0; // a time well inside the frame that is shown, or that a seek aims at
  let stepped = 0; // where the last step aimed at
  let plays = false;
  let drawn = true; // whether boxes are drawn
  let pool = [];

  const frame = () => (line?.rate ? line.rate[1] / line.rate[0] : 0.04);
  const clamp = (time) => Math.min(Math.max(time, 0), Math.max(0, line.duration - frame() / 2));

  // Where the picture is inside the stage, which may be wider or higher.
  function place() {
    const [wide, high] = plays ? [video.videoWidth, video.videoHeight] : [still.naturalWidth, still.naturalHeight];
    const [width, height] = wide && high ? [wide, high] : line?.size ?? [16, 9];
    stage.style.setProperty("--shape", width / height);
    const scale = Math.min(stage.clientWidth / width, stage.clientHeight / height);
    const set = (name, value) => layer.style.setProperty(name, `${value}px`);
    set("left", (stage.clientWidth - width * scale) / 2);
    set("top", (stage.clientHeight - height * scale) / 2);
    set("width", width * scale);
    set("height", height * scale);
  }

  function draw() {
    const faces = line && drawn ? boxes.at(pictured) : [];
    const [width, height] = line?.size ?? [video.videoWidth || 1, video.videoHeight || 1];
    while (pool.length < faces.length) {
      const name = el("span", {});
      const made = el("div", { class: "face-box", onclick: () => pressed(Number(made.dataset.character)) }, name);
      pool.push(made);
      layer.append(made);
    }
    pool.forEach((made, i) => {
      made.hidden = i >= faces.length;
      if (made.hidden) return;
      const { character, box: [x, y, w, h] } = faces[i];
      if (made.dataset.character !== String(character)) made.dataset.character = character;
      const { title, colour } = people.get(character) ?? { title: "", colour: "" };
      if (made.firstChild.textContent !== title) made.firstChild.textContent = title;
      const set = (name, value) => made.style.setProperty(name, value);
      set("--who", colour);
      set("left", `${(100 * x) / width}%`);
      set("top", `${(100 * y) / height}%`);
      set("width", `${(100 * w) / width}%`);
      set("height", `${(100 * h) / height}%`);
      made.classList.toggle("high", y < 0.1 * height); // no room for the name above it
    });
  }

  function show(time, picture = time) {
    [now, pictured, within] = [time, picture, time + frame() / 2];
    draw();
    moved(now);
    if (stop !== null && now >= stop - frame() / 2) {
      stop = null;
      video.pause();
    }
  }

  // When the current frame began, computed from the rate.
  function began() {
    const time = video.currentTime - offset;
    return line?.rate ? Math.floor(time / frame() + 0.01) * frame() : time;
  }

  // Each new frame, with its exact time where the browser tells it.
  const exact = "requestVideoFrameCallback" in video;
  function listen() {
    if (exact) {
      video.requestVideoFrameCallback((_, { mediaTime }) => {
        presented = mediaTime;
        if (!video.seeking && pending === null) show(mediaTime - offset);
        listen();
      });
    } else {
      requestAnimationFrame(() => {
        if (plays && !video.seeking && pending === null && began() !== now) show(began());
        if (root.isConnected) setTimeout(listen, video.paused ? 100 : 0);
        else setTimeout(listen, 500);
      });
    }
  }
  listen();

  // The first frame tells where the video element's time begins.
  function first() {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        resolve();
      };
      let timer = 0;
      video.addEventListener("loadeddata", () => (timer = setTimeout(done, FIRST)), { once: true });
      if (exact) {
        video.requestVideoFrameCallback((_, { mediaTime }) => {
          if (Math.abs(mediaTime - offset) < 2) offset = mediaTime; // more is another frame
          if (pending === null) show(mediaTime - offset);
          done();
        });
      }
    });
  }

  function jump() {
    if (pending === null || video.seeking) return;
    const to = pending + offset;
    pending = presented = null;
    video.currentTime = to;
  }
  video.addEventListener("seeked", () => {
    if (pending !== null) jump();
    else if (!exact) show(began());
    else if (presented !== null) show(presented - offset); // it came before this event
  });
  video.addEventListener("loadedmetadata", place);
  still.addEventListener("load", place);
  for (const event of ["play", "pause", "ended"]) video.addEventListener(event, () => state());
  video.addEventListener("error", () => line && video.hasAttribute("src") && fail("unplayable"));
  new ResizeObserver(place).observe(stage);

  function fail(why) {
    plays = false;
    video.hidden = true;
    note.textContent = line.wrong ? `${line.wrong}. Until then, no video is played.`
      : line.frames.length ? NOTES[why] : NOTES.unpictured;
    note.hidden = false;
    still.hidden = !line.frames.length;
    seek(now);
    state();
  }

  // The kept frame nearest to a time.
  function nearest(time) {
    const { frames } = line;
    let low = 0;
    let high = frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (frames[middle][0] < time) low = middle + 1;
      else high = middle;
    }
    const [before, after] = [frames[low - 1], frames[low]];
    if (!before || !after) return before ?? after;
    return time - before[0] <= after[0] - time ? before : after;
  }

  function seek(time) {
    const to = clamp(time);
    if (plays) {
      pending = to;
      [now, within, stepped] = [to, to, 0];
      moved(now);
      ready.then(jump);
      return;
    }
    const frame = nearest(to);
    if (frame) {
      const source = `frames/${encodeURIComponent(frame[1])}`;
      if (still.getAttribute("src") !== source) still.setAttribute("src", source);
    }
    show(to, frame?.[0] ?? to);
  }

  return {
    root,
    stage,
    video,
    get time() { return now; },
    get plays() { return plays; },
    get playing() { return plays && !video.paused; },
    // The faces in the picture: [{ character, box }].
    faces: () => (line ? boxes.at(pictured) : []),
    open(timeline, colours) {
      const other = timeline.video !== line?.video;
      line = timeline;
      people.clear();
      for (const one of timeline.characters) people.set(one.number, { title: one.title, colour: colours(one.number) });
      boxes.open(timeline.video, timeline.last);
      if (other) {
        [now, pictured, offset, pending, stop] = [0, 0, timeline.delay, null, null];
        note.hidden = true;
        still.hidden = true;
        video.hidden = false;
        plays = timeline.playable;
        ready = first();
        if (plays) video.setAttribute("src", `video/${timeline.video}`);
        else video.removeAttribute("src");
        if (!plays) {
          video.load();
          fail("missing");
        }
        place();
      }
      draw();
    },
    seek,
    // Show the frame that begins at a time: aim into it, as times are rounded.
    show: (start) => seek(start + frame() / 4),
    async play(from = null, until = null) {
      if (from !== null) seek(from + frame() / 4);
      if (!plays) return;
      stop = until;
      await ready;
      if (from === null && now >= clamp(line.duration) - frame()) seek(0); // again from the start
      try {
        await video.play();
      } catch (error) {
        if (error.name === "NotSupportedError") fail("unplayable");
      }
    },
    pause() {
      stop = null;
      video.pause();
    },
    // Show the next frame (1), or the one before (-1).
    step(by) {
      video.pause();
      if (!plays) return;
      const from = by > 0 && stepped > within ? stepped : within;
      seek(from + by * frame());
      if (by > 0) stepped = from + frame(); // a frame may last longer than the rate says
    },
    drawBoxes(yes) {
      drawn = yes;
      draw();
    },
  };
}
