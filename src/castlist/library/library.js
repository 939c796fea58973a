// The library page: cards of videos and casts, the queue of scans, and actions on them.
import { get, Gone, post } from "./api.js";
import { makeBar } from "./bar.js";
import { help } from "./dialogs.js";
import { el } from "./dom.js";
import { makeGrid } from "./grid.js";
import { bytes, makeCard, matches, showProgress, STATES } from "./items.js";
import { askJoin, askScan, confirmCancel } from "./options.js";
import { complain, dialogOpen, say } from "./page.js";
import { makeQueue } from "./queue.js";
import { count, lasting } from "./words.js";

const EVERY = 1000; // milliseconds between polls
const main = document.getElementById("main");
const search = document.getElementById("search");
const filters = document.getElementById("filters");
const cards = el("ul", { class: "cards library", "aria-label": "Videos and casts" });
const nothing = el("p", { class: "empty quiet", hidden: true });
const problems = el("section", { class: "problems", hidden: true });
const drawn = new Map(); // key → { card, text }, to draw only what has changed
let library = null; // from api/library
let filter = "all";
let away = false; // the server does not answer
let joins = 0; // number of the last join whose end was told

const everything = () => [...library.videos, ...library.casts];
const one = (key) => everything().find((item) => item.key === key);
const chosen = () => grid.targets().map(one).filter(Boolean);

const grid = makeGrid(cards, "item", { open: (key) => openItem(one(key)), changed: () => drawBar() });
const queue = makeQueue(change);
const bar = makeBar("item", [
  ["scan", "Scan", "S", () => scan(chosen())],
  ["pause", "Pause", "P", () => change("pause", inState(chosen(), "waiting", "scanning"))],
  ["resume", "Resume", "R", () => change("resume", inState(chosen(), "paused", "failed"))],
  ["cancel", "Cancel the scan", "X", () => change("cancel", queued(chosen()))],
  ["join", "Join", "J", () => join(chosen())],
], () => grid.clear());

const queued = (items) => items.filter((item) => item.queued !== null);
const inState = (items, ...states) => queued(items).filter((item) => states.includes(item.state));
const joinable = (items) => items.filter((item) => item.cast && item.kind !== "series");

function drawBar() {
  if (!library) return;
  const items = [...grid.selected].map(one).filter(Boolean);
  bar.draw(items.length);
  const can = {
    scan: items.some((item) => item.kind === "video"),
    pause: inState(items, "waiting", "scanning").length,
    resume: inState(items, "paused", "failed").length,
    cancel: queued(items).length,
    join: joinable(items).length > 1 || (joinable(items).length && items.some((item) => item.kind === "series")),
  };
  for (const [action, button] of bar.buttons) button.disabled = !can[action];
}

async function load() {
  library = await get("api/library");
  draw();
  tellJoin();
}

// Draw the cards that have changed, in the order of paths.
function draw() {
  const order = (item) => `${item.place}/${item.name}`;
  const sorted = everything().sort((a, b) => order(a).localeCompare(order(b), undefined, { numeric: true }));
  const there = new Set(sorted.map((item) => item.key));
  for (const [key, { card }] of drawn) {
    if (!there.has(key)) {
      card.remove();
      drawn.delete(key);
    }
  }
  sorted.forEach((item, index) => {
    const text = JSON.stringify(item);
    const known = drawn.get(item.key);
    if (!known || known.text !== text) {
      const card = makeCard(item, { scan: () => scan([item]), change: (action) => change(action, [item]) });
      if (known) known.card.replaceWith(card);
      drawn.set(item.key, { card, text });
    }
    const { card } = drawn.get(item.key);
    if (cards.children[index] !== card) cards.insertBefore(card, cards.children[index] ?? null);
  });
  queue.draw(library.videos.filter((item) => item.queued !== null).sort((a, b) => a.queued - b.queued));
  drawFilters();
  drawTop();
  show();
}

function drawFilters() {
  const all = everything();
  const buttons = [["all", "All"], ...Object.entries(STATES).map(([name, { filter: label }]) => [name, label])];
  const found = buttons.map(([name, label]) => [name, label, all.filter((item) => matches(item, name)).length]);
  const focused = document.activeElement?.dataset?.filter;
  filters.replaceChildren(...found.filter(([name, , n]) => n || name === "all" || name === filter).map(([name, label, n]) =>
    el("button", {
      type: "button", "data-filter": name, "aria-pressed": String(filter === name),
      onclick: () => ((filter = name), drawFilters(), show()),
    }, `${label} `, el("small", {}, n.toLocaleString("en")))));
  if (focused) filters.querySelector(`[data-filter="${focused}"]`)?.focus();
}

function drawTop() {
  const fact = (n, text) => el("span", {}, el("b", {}, n), ` ${text}`);
  const { videos } = library;
  const [n, what] = count(videos.length, "video").split(" ");
  const seconds = videos.reduce((sum, video) => sum + video.seconds, 0);
  document.getElementById("figures").replaceChildren(
    fact(n, what), fact(lasting(seconds), "long"),
    fact(bytes(library.bytes), "used by casts"), fact(bytes(library.free), "free"));
  problems.hidden = !library.unreadable.length;
  problems.replaceChildren(...library.unreadable.map(({ path, reason }) =>
    el("p", { class: "bad" }, `${path} cannot be read: ${reason}`)));
}

// Hide the cards that the search or the filter leaves out.
function show() {
  const typed = search.value.trim().toLocaleLowerCase();
  let shown = 0;
  for (const item of everything()) {
    const text = `${item.place}/${item.name}`.toLocaleLowerCase();
    const fits = matches(item, filter) && text.includes(typed);
    drawn.get(item.key).card.hidden = !fits;
    shown += fits;
  }
  nothing.hidden = shown > 0;
  nothing.textContent = everything().length
    ? "Nothing fits the search."
    : "There are no videos in this folder. Videos that you put into it appear here.";
  grid.sync();
}

function openItem(item) {
  if (item.cast) location.href = `casts/${item.cast.key}/`;
  else if (item.kind === "video" && item.queued === null) scan([item]);
}

async function send(path, body) {
  try {
    await post(path, body);
    await load();
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}

async function scan(items) {
  const videos = items.filter((item) => item.kind === "video");
  if (!videos.length) return;
  const options = await askScan(videos);
  if (options === null) return;
  if (await send("api/scan", { videos: videos.map((item) => item.key), options })) {
    grid.clear();
    say(`${count(videos.length, "video")} in the queue.`);
  }
}

async function change(action, items) {
  if (!items.length) return;
  if (action === "cancel" && !(await confirmCancel(items))) return;
  await send("api/queue", { action, videos: items.map((item) => item.key) });
}

async function join(items) {
  const casts = joinable(items);
  const series = items.find((item) => item.kind === "series");
  if (casts.length < (series ? 1 : 2)) return;
  const name = await askJoin(casts, series);
  if (name === null) return;
  const body = { casts: casts.map((item) => item.cast.key) };
  if (await send("api/join", series ? { ...body, series: series.key } : { ...body, name })) grid.clear();
}

// Say how the last join is going, or how it ended; once.
function tellJoin() {
  const { number, running, error, told, series } = library.joining;
  if (running) say(`Joining ${series} …`);
  else if (number > joins && number) {
    joins = number;
    if (error || told) say(error || told, Boolean(error));
  }
}

async function look() {
  if (document.hidden) return;
  try {
    const now = await get("api/progress");
    if (!library || now.version !== library.version) await load();
    for (const running of now.scanning) {
      showProgress(drawn.get(running.key)?.card, running);
      queue.progress(running);
    }
    if (away) say("The server is running again.");
    away = false;
    document.body.dataset.version = library.version;
  } catch (error) {
    if (!away || !(error instanceof Gone)) complain(error);
    away = error instanceof Gone;
  }
}

async function poll() {
  await look();
  setTimeout(poll, EVERY);
}

const keys = {
  "/": ["/", "search", () => search.focus()],
  "?": ["?", "show these keys", () => showKeys()],
  ...Object.fromEntries([...bar.buttons].map(([, button]) => {
    const key = button.querySelector("kbd").textContent;
    return [key.toLowerCase(), [key, `${button.title.replace(/ \(.*/, "").toLowerCase()}, of the selection or the focused card`, () => button.click()]];
  })),
};

function showKeys() {
  help([["Library", [
    ...Object.values(keys).map(([name, what]) => [[name], what]),
    [["Arrows"], "go to another card"], [["Space"], "select a card"], [["Enter"], "open the cast, or scan the video"],
    [["Ctrl+A"], "select all cards that are shown"], [["Esc"], "clear the selection"],
  ]]]);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialogOpen()) return;
  if (event.target.matches?.("input:not([type=checkbox]), select, textarea")) {
    if (event.key === "Escape" && event.target === search) {
      search.value = "";
      show();
    }
    return;
  }
  const found = keys[event.key.toLowerCase()];
  if (found) {
    event.preventDefault();
    if (!grid.selected.size && found[0].length === 1 && /[a-z]/i.test(found[0])) {
      grid.select(grid.targets()); // the card with the focus
    }
    found[2]();
  } else if (event.key === "Escape") {
    grid.clear();
  } else if (event.key.startsWith("Arrow") && document.activeElement === document.body) {
    event.preventDefault();
    grid.focus();
  }
});

main.append(queue.root, problems, nothing, cards, bar.root);
search.addEventListener("input", show);
document.getElementById("help").addEventListener("click", showKeys);
addEventListener("focus", look);
document.addEventListener("visibilitychange", look);
poll();
