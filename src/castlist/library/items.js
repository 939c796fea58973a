// Cards of the library: a video with its state, a series, or a cast without its video.
import { el } from "./dom.js";
import { count, lasting, percent, sentence } from "./words.js";

// State → its label on a card, and the filter that shows it.
export const STATES = {
  new: { label: "not scanned", filter: "Not scanned" },
  queue: { filter: "In the queue" },
  scanned: { label: "scanned", filter: "Scanned" },
  corrected: { label: "corrected", filter: "Corrected" },
  failed: { label: "failed", filter: "Failed" },
  series: { filter: "Series" },
};
const LABELS = { waiting: "waiting", scanning: "scanning", paused: "paused", unreadable: "cannot be read" };

export function matches(item, filter) {
  if (filter === "all") return true;
  if (filter === "series") return item.kind === "series";
  if (filter === "queue") return ["waiting", "scanning", "paused"].includes(item.state);
  if (filter === "failed") return ["failed", "unreadable"].includes(item.state);
  return item.state === filter;
}

export function bytes(n) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let k = 0;
  for (; n >= 999.5 && k < units.length - 1; k++) n /= 1000;
  return `${n >= 10 || k === 0 ? Math.round(n) : n.toFixed(1)} ${units[k]}`;
}

export function labelOf(item) {
  return STATES[item.state]?.label ?? LABELS[item.state] ?? item.state;
}

// The text under a progress bar.
export function progressText({ stage, share, left }) {
  if (!stage) return "Starting …";
  const text = `${sentence(stage)}, ${percent(share)}`;
  return left === null || left === undefined ? text : `${text}, ${lasting(left)} left`;
}

// The progress of a scan: a bar and a line below it.
export function progressBar(item) {
  const bar = el("progress", { max: 1, "aria-label": `Progress of ${item.name}` });
  const text = el("span", { class: "quiet progress-text" });
  const root = el("div", { class: "progress" }, bar, text);
  showProgress(root, item);
  return root;
}

export function showProgress(root, now) {
  const bar = root?.querySelector("progress");
  if (!bar) return;
  if (now.stage) bar.value = now.share;
  root.querySelector(".progress-text").textContent = progressText(now);
}

// do: { scan(), change(action) }.
export function makeCard(item, run) {
  const { cast } = item;
  const name = cast ? el("a", { href: `casts/${cast.key}/` }, item.name) : item.name;
  const pick = el("input", { type: "checkbox", class: "pick", "aria-label": `${item.name}, ${labelOf(item)}` });
  return el("li", { class: "card item", "data-item": item.key, "data-state": item.state, "data-kind": item.kind },
    poster(item),
    el("div", { class: "head" }, pick, el("h3", { title: item.name }, name)),
    el("p", { class: "quiet facts" }, el("span", { class: "state" }, kindOf(item)), ...facts(item).map((text) => el("span", {}, text))),
    item.state === "scanning" ? progressBar(item) : null,
    item.reason ? el("p", { class: ["failed", "unreadable"].includes(item.state) ? "reason bad" : "reason quiet" }, sentence(item.reason)) : null,
    el("div", { class: "buttons" }, buttons(item, run)));
}

function kindOf(item) {
  if (item.kind === "series") return item.state === "unreadable" ? labelOf(item) : `series, ${labelOf(item)}`;
  if (item.kind === "cast" && item.state !== "unreadable") return `${labelOf(item)}, ${item.video ? "another cast" : "without its video"}`;
  return labelOf(item);
}

function facts({ kind, cast, place, videos, seconds }) {
  const found = [];
  if (kind === "series") found.push(count(videos.length, "video"), lasting(seconds));
  if (cast?.characters) found.push(count(cast.characters, "character"));
  if (cast?.corrections) found.push(count(cast.corrections, "correction"));
  if (cast && cast.bytes !== null) found.push(bytes(cast.bytes));
  if (place) found.push(place);
  return found;
}

function poster(item) {
  const length = item.kind === "video" && item.seconds ? el("span", { class: "length" }, lasting(item.seconds)) : null;
  const keys = item.kind === "series" ? item.posters : item.poster ? [item.key] : [];
  const images = keys.map((key) => {
    const image = el("img", { src: `posters/${key}`, alt: "", loading: "lazy", decoding: "async", draggable: "false" });
    image.addEventListener("error", () => image.remove(), { once: true });
    return image;
  });
  const none = images.length ? null : el("span", { class: "quiet" }, item.read ? "no picture" : "…");
  return el("div", { class: "poster", "data-images": images.length }, images, none, length);
}

function buttons(item, { scan, change }) {
  const button = (label, action, go, first = false) =>
    el("button", { type: "button", "data-action": action, class: first ? "first" : null, onclick: go, "aria-label": `${label} ${item.name}` }, label);
  const link = item.cast ? el("a", { class: "button", href: `casts/${item.cast.key}/`, "aria-label": `Open ${item.name}` }, "Open") : null;
  if (item.kind !== "video") return [link];
  const made = [link];
  if (item.state === "waiting" || item.state === "scanning") made.push(button("Pause", "pause", () => change("pause")));
  else if (item.queued !== null) made.push(button(item.state === "failed" ? "Try again" : "Resume", "resume", () => change("resume"), true));
  else made.push(button(item.cast ? "Scan again" : item.state === "paused" ? "Resume" : "Scan", "scan", scan, !item.cast));
  if (item.queued !== null) made.push(button(item.state === "failed" ? "Dismiss" : "Cancel", "cancel", () => change("cancel")));
  return made;
}
