// Create and order elements. User input is inserted as text, never as markup.
import { clock } from "./words.js";

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}

// The k-th picture of a track, { id, frame }, or a placeholder. frame.js shows the frame around it.
export function face(track, k, alt) {
  const { frame } = track;
  const image = el("img", {
    src: `faces/${encodeURIComponent(track.id)}/${k}`,
    "data-frame": frame && `frames/${encodeURIComponent(track.id)}`,
    "data-box": frame && frame.box.join(" "),
    "data-caption": frame && clock(frame.at),
    alt,
    width: 72,
    height: 72,
    loading: "lazy",
    fetchpriority: "low", // actions go first
    decoding: "async",
    draggable: "false",
  });
  image.addEventListener("error", () => image.replaceWith(nothing()), { once: true });
  return image;
}

export function nothing() {
  return el("span", { class: "nothing" }, "no picture");
}

// At most `most` faces of some tracks: the best of each track first, then the next best.
export function faces(tracks, most) {
  const made = [];
  const deepest = Math.max(0, ...tracks.map((track) => track.pictures));
  for (let k = 0; k < deepest && made.length < most; k++) {
    for (const track of tracks) {
      if (k < track.pictures && made.length < most) made.push(face(track, k, ""));
    }
  }
  return made.length ? made : [nothing()];
}

// How many tracks of a move are not shown.
export function more({ n_tracks, tracks }) {
  return n_tracks > tracks.length ? el("small", {}, `and ${(n_tracks - tracks.length).toLocaleString("en")} more`) : null;
}

// A strip that shows when a character is seen: one path, so that hundreds of strips stay cheap.
export function timeline(spans, duration, label) {
  const space = "http://www.w3.org/2000/svg";
  const strip = document.createElementNS(space, "svg");
  strip.setAttribute("class", "strip");
  strip.setAttribute("viewBox", "0 0 1000 10");
  strip.setAttribute("preserveAspectRatio", "none");
  strip.setAttribute("role", "img");
  strip.setAttribute("aria-label", label);
  const path = document.createElementNS(space, "path");
  const scale = 1000 / Math.max(duration, 1e-9);
  const parts = spans.map(([start, end]) => {
    const width = Math.max((end - start) * scale, 2);
    const x = Math.max(0, Math.min(start * scale, 1000 - width));
    return `M${x.toFixed(1)} 0h${width.toFixed(1)}v10h-${width.toFixed(1)}z`;
  });
  path.setAttribute("d", parts.join(""));
  strip.append(path);
  return strip;
}

// Give a parent these children in this order, moving as few as possible.
export function place(parent, children) {
  const wanted = new Set(children);
  for (const old of [...parent.children]) if (!wanted.has(old)) old.remove();
  let next = parent.firstElementChild;
  for (const child of children) {
    if (child === next) {
      next = next.nextElementSibling;
    } else if (next && child === next.nextElementSibling) {
      next.remove(); // inserted again at its place
      next = child.nextElementSibling;
    } else {
      parent.insertBefore(child, next);
    }
  }
}

// Elements by key: made once, and updated only when their item changes.
export class Kept {
  constructor(make, change) {
    this.make = make;
    this.change = change;
    this.held = new Map();
  }

  of(items, key) {
    const now = new Map();
    for (const item of items) {
      const name = key(item);
      const text = JSON.stringify(item);
      const one = this.held.get(name) ?? { element: this.make(item), text: "" };
      if (one.text !== text) this.change(one.element, item);
      one.text = text;
      now.set(name, one);
    }
    this.held = now;
    return items.map((item) => now.get(key(item)).element);
  }
}

// Change the page and restore the focus.
export function keepingFocus(change) {
  const had = document.activeElement;
  change();
  if (had && had !== document.activeElement && had.isConnected) had.focus({ preventScroll: true });
}
