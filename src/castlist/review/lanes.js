// The timeline of Watch: one row per character, drawn on a canvas. Only visible rows and intervals
// are drawn, so that it scrolls smoothly. The names are elements, for screen readers: a list box
// with one option per row; the ruler is a slider.
import { el } from "./dom.js";
import { clock, count, lasting } from "./words.js";

const [ROW, RULER, THUMB] = [34, 26, 28]; // pixels
const LEAST = 2; // pixels of the shortest interval
const CLOSEST = 300; // pixels per second
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600]; // seconds between marks
const PICTURES = 600; // in memory
const SETTLED = 120; // milliseconds without scrolling before pictures are loaded

// rows: [{ key, title, colour, spans, seconds, quiet, number }], number null for the fold of background characters.
// seek(time): scrubbed; play(row, span), choose(row): clicked.
export function makeLanes({ seek, play, choose }) {
  const canvas = el("canvas", { "aria-hidden": "true" });
  const names = el("div", { class: "lane-names", role: "listbox", tabindex: "0", "aria-label": "People" });
  const ruler = el("div", { class: "lane-ruler", role: "slider", tabindex: "0", "aria-label": "Position", "aria-valuemin": "0" });
  const head = el("div", { class: "lane-head" }, el("i", {}));
  const heads = el("div", { class: "lane-heads", "aria-hidden": "true" }, head);
  const fixed = el("div", { class: "lane-fixed" }, canvas, heads, ruler, names);
  const space = el("div", { class: "lane-space" }, fixed);
  const root = el("div", { class: "lanes" }, space);
  const pen = canvas.getContext("2d");
  const options = []; // elements of visible rows
  const pictures = new Map(); // track → image
  const wanted = new Set(); // tracks whose picture is to be loaded
  let [wide, high, side] = [0, 0, 0]; // of the visible part; of the names
  let [left, top] = [0, 0]; // scrolled by; reading it from the element would compute the layout
  let rows = [];
  let duration = 1;
  let scale = 1; // pixels per second
  let whole = true; // whether the whole video is shown
  let chosen = 0; // a row
  let time = 0;
  let colours = null;
  let asked = 0; // of a frame to draw
  let settling = 0;

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function palette() {
    colours = { ink: css("--ink"), quiet: css("--quiet"), rule: css("--rule"), paper: css("--paper"), held: css("--held") };
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours = null;
    later();
  });

  const fit = () => Math.max(1, wide - side - 8) / duration;
  const xOf = (at) => side + at * scale - left;
  const timeAt = (x) => Math.min(Math.max((x - side + left) / scale, 0), duration);

  function later() {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      draw();
    });
  }

  // After the size, the zoom or the rows changed.
  function size() {
    if (whole) [scale, left] = [fit(), 0];
    space.style.setProperty("width", whole ? "100%" : `${Math.ceil(side + duration * scale + 8)}px`);
    space.style.setProperty("height", `${RULER + rows.length * ROW}px`);
    later();
  }

  function scroll(x, y) {
    root.scrollTo(x, y);
    [left, top] = [root.scrollLeft, root.scrollTop]; // within its limits
    later();
  }

  function draw() {
    if (!wide || !root.isConnected) return;
    colours ?? palette();
    const ratio = devicePixelRatio || 1;
    const [w, h] = [Math.round(wide * ratio), Math.round(high * ratio)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, wide, high);
    const first = Math.floor(top / ROW);
    const free = Math.min(rows.length, Math.ceil((top + high - RULER) / ROW));
    const [from, to] = [left / scale, (left + wide - side) / scale];
    wanted.clear();
    for (let k = first; k < free; k++) lane(k, RULER + k * ROW - top, from, to);
    marks(from, to);
    label(first, free);
    place();
    clearTimeout(settling);
    if (wanted.size) settling = setTimeout(load, SETTLED);
  }

  function lane(k, y, from, to) {
    const { spans, colour, quiet } = rows[k];
    if (k === chosen) {
      pen.fillStyle = colours.held;
      pen.fillRect(0, y, wide, ROW);
    }
    pen.fillStyle = colours.rule;
    pen.fillRect(0, y + ROW - 1, wide, 1);
    let low = 0;
    let end = spans.length;
    while (low < end) {
      const middle = (low + end) >> 1;
      if (spans[middle][1] < from) low = middle + 1;
      else end = middle;
    }
    pen.fillStyle = colour;
    pen.globalAlpha = quiet ? 0.55 : 1;
    let drawn = -1e9; // right edge of what was drawn
    for (let i = low; i < spans.length && spans[i][0] <= to; i++) {
      const x = Math.max(xOf(spans[i][0]), side - THUMB - 4);
      const width = Math.max(xOf(spans[i][1]) - x, LEAST);
      if (x + width <= drawn + 0.5) continue;
      pen.fillRect(x, y + 2, width, ROW - 5);
      drawn = x + width;
      if (width >= THUMB + 2 && spans[i][2] && xOf(spans[i][0]) > side - THUMB) picture(spans[i][2], xOf(spans[i][0]) + 1, y + 3);
    }
    pen.globalAlpha = 1;
  }

  function picture(track, x, y) {
    const image = pictures.get(track);
    if (!image) wanted.add(track);
    else if (image.complete && image.naturalWidth) {
      pen.globalAlpha = 1;
      pen.drawImage(image, x, y, THUMB - 1, THUMB - 1);
    }
  }

  function load() {
    for (const track of wanted) {
      if (pictures.has(track)) continue;
      const image = new Image();
      image.decoding = "async";
      image.fetchPriority = "low";
      image.onload = later;
      image.src = `faces/${encodeURIComponent(track)}/0`;
      pictures.set(track, image);
      if (pictures.size > PICTURES) pictures.delete(pictures.keys().next().value);
    }
    wanted.clear();
  }

  // The marks of the ruler, and what covers the intervals under it and under the names.
  function marks(from, to) {
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, wide, RULER);
    const step = STEPS.find((seconds) => seconds * scale >= 76) ?? 7200;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (let k = Math.max(0, Math.floor(from / step)); k * step <= Math.min(to, duration); k++) {
      const x = Math.round(xOf(k * step)) + 0.5;
      pen.fillStyle = colours.rule;
      pen.fillRect(x, RULER - 8, 1, 8);
      pen.fillStyle = colours.quiet;
      const text = step < 1 ? `${clock(k * step + 1e-6)}.${Math.round(10 * k * step) % 10}` : clock(k * step + 1e-6);
      if (x + 4 + pen.measureText(text).width < wide) pen.fillText(text, x + 4, RULER / 2);
    }
    pen.fillStyle = colours.quiet;
    pen.fillRect(0, RULER - 1, wide, 1);
    pen.clearRect(0, 0, side, high); // the names have a background of their own
  }

  // Give the visible rows, and the chosen one, an option each.
  function label(first, free) {
    const shown = new Map(); // row → position
    for (let k = first; k < free; k++) shown.set(rows[k], k);
    if (rows[chosen]) shown.set(rows[chosen], chosen);
    const held = new Map(options.map((made) => [made.row, made]));
    const unused = options.filter((made) => !shown.has(made.row));
    for (const [row, k] of shown) {
      const made = held.get(row) ?? unused.shift() ?? option();
      if (made.row !== row) fill(made, row, k);
      made.hidden = false;
      made.style.setProperty("transform", `translateY(${RULER + k * ROW - top}px)`);
      made.setAttribute("aria-selected", String(k === chosen));
    }
    for (const made of unused) made.hidden = true;
    if (rows[chosen]) names.setAttribute("aria-activedescendant", `lane-${rows[chosen].key}`);
    else names.removeAttribute("aria-activedescendant");
  }

  function option() {
    const image = el("img", { alt: "", width: 28, height: 28, decoding: "async", fetchpriority: "low" });
    const made = el("div", { role: "option" }, image, el("b", {}), el("small", {}));
    image.addEventListener("error", () => image.classList.add("none"));
    options.push(made);
    names.append(made);
    return made;
  }

  function fill(made, row, k) {
    made.row = row;
    made.id = `lane-${row.key}`;
    made.dataset.row = row.key;
    made.title = row.title;
    const [image, title, seconds] = made.children;
    title.textContent = row.title;
    seconds.textContent = lasting(row.seconds);
    image.classList.toggle("none", !row.face);
    if (row.face) image.src = `faces/${encodeURIComponent(row.face)}/0`;
    else image.removeAttribute("src");
    made.style.setProperty("--who", row.colour);
    made.setAttribute("aria-setsize", rows.length);
    made.setAttribute("aria-posinset", k + 1);
    made.setAttribute("aria-label", `${row.title}, appears ${count(row.spans.length, "time")}, ${lasting(row.seconds)} on screen`);
  }

  function place() {
    head.style.setProperty("transform", `translateX(${xOf(time) - side}px)`);
  }

  // Zoom by a factor, keeping the time at x where it is.
  function zoom(by, x = xOf(Math.min(Math.max(time, timeAt(side)), timeAt(wide)))) {
    const at = timeAt(x);
    const next = Math.min(Math.max(scale * by, fit()), Math.max(CLOSEST, fit()));
    whole = next <= fit() * 1.0001;
    scale = next;
    size();
    scroll(at * scale - (x - side), top);
  }

  function rowAt(y) {
    const k = Math.floor((y - RULER + top) / ROW);
    return y >= RULER && k < rows.length ? k : -1;
  }

  // The interval at a point: [row, span].
  function hit(event) {
    const [x, y] = [event.offsetX, event.offsetY];
    const k = rowAt(y);
    if (k < 0 || x < side) return [k, null];
    const [early, late] = [timeAt(x - LEAST), timeAt(x + LEAST)];
    return [k, rows[k].spans.find(([start, end]) => start <= late && end >= early) ?? null];
  }

  // Dragging moves the position; a click on an interval plays it.
  let dragging = null; // { x, moved }
  for (const part of [ruler, canvas]) {
    part.addEventListener("pointerdown", (event) => {
      if (event.button || (part === canvas && event.pointerType === "touch")) return;
      part.setPointerCapture(event.pointerId);
      dragging = { x: event.clientX, moved: part === ruler };
      if (part === ruler) seek(timeAt(event.clientX - fixed.getBoundingClientRect().left));
    });
    part.addEventListener("pointermove", (event) => {
      if (!dragging) return;
      dragging.moved ||= Math.abs(event.clientX - dragging.x) > 4;
      if (dragging.moved) seek(timeAt(event.clientX - fixed.getBoundingClientRect().left));
    });
    for (const over of ["pointerup", "pointercancel"]) {
      part.addEventListener(over, () => setTimeout(() => (dragging = null)));
    }
  }
  canvas.addEventListener("click", (event) => {
    if (dragging?.moved) return;
    const [k, span] = hit(event);
    if (k >= 0) choose(k);
    if (span) play(k, span);
    else if (event.offsetX >= side) seek(timeAt(event.offsetX));
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragging) return;
    const [k, span] = hit(event);
    canvas.title = span ? `${rows[k].title}, ${clock(span[0])}–${clock(span[1])}` : "";
    canvas.classList.toggle("on", Boolean(span));
  });
  names.addEventListener("click", (event) => {
    const option = event.target.closest("[role=option]");
    if (option) choose(rows.indexOf(option.row), true);
  });
  root.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // scrolling is the browser's
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 200), Math.max(side, event.clientX - fixed.getBoundingClientRect().left));
  }, { passive: false });
  root.addEventListener("scroll", () => {
    [left, top] = [root.scrollLeft, root.scrollTop];
    later();
  }, { passive: true });
  new ResizeObserver(() => {
    [wide, high] = [root.clientWidth, root.clientHeight];
    side = names.offsetWidth;
    for (const part of [fixed, canvas]) {
      part.style.setProperty("width", `${wide}px`);
      part.style.setProperty("height", `${high}px`);
    }
    size();
  }).observe(root);

  return {
    root,
    names,
    get chosen() { return chosen; },
    // What is visible: [from, to] in seconds.
    get window() { return [timeAt(side), timeAt(wide)]; },
    draw(shown, seconds, index) {
      rows = shown;
      duration = Math.max(seconds, 0.1);
      chosen = Math.min(Math.max(index, 0), rows.length - 1);
      ruler.setAttribute("aria-valuemax", Math.ceil(duration));
      size();
    },
    // Choose a row and show it.
    choose(k, into = true) {
      chosen = k;
      if (into) {
        const y = k * ROW;
        if (y < top) scroll(left, y);
        else if (y + ROW > top + high - RULER) scroll(left, y + ROW - high + RULER);
      }
      later();
    },
    // Move the position; scroll to it if it is followed.
    at(seconds, text, follow) {
      if (!follow || Math.floor(seconds) !== Math.floor(time)) { // each second while it plays
        ruler.setAttribute("aria-valuenow", Math.floor(seconds));
        ruler.setAttribute("aria-valuetext", text);
      }
      time = seconds;
      const x = xOf(time);
      if (follow && !dragging && !whole && (x < side || x > wide - 4)) scroll(time * scale - 0.1 * (wide - side), top);
      place();
    },
    zoom,
    all() {
      whole = true;
      size();
    },
  };
}
