// The page: shows the view that the address names, and refreshes it when the cast changes.
import { act, acting } from "./act.js";
import { get, Gone, Refused } from "./api.js";
import { cast } from "./cast.js";
import { character } from "./character.js";
import { el } from "./dom.js";
import { exports } from "./export.js";
import { find as scenes } from "./find.js";
import "./frame.js";
import { history } from "./history.js";
import { listen, showKeys } from "./keys.js";
import { notFaces } from "./notfaces.js";
import { complain, dialogOpen, page, say, settle } from "./page.js";
import { questions } from "./questions.js";
import { openRecluster } from "./recluster.js";
import { watch } from "./watch.js";
import { count, lasting } from "./words.js";

const EVERY = 2000; // milliseconds between polls
const views = [cast, character, questions, watch, scenes, history, notFaces, exports];
const main = document.getElementById("main");
const tools = Object.fromEntries(
  [...document.querySelectorAll(".tools [data-action]")].map((button) => [button.dataset.action, button]));
let current = null; // { view, param, entered }
let castScroll = 0;
let away = false; // the server does not answer

function route() {
  const [, name, param] = /^#?\/?([\w-]*)[/?]?(.*)$/.exec(location.hash) ?? [];
  if (name === "character" && /^[0-9]{1,9}$/.test(param ?? "")) return { view: character, param };
  return { view: views.find((view) => view.name === name && view !== character) ?? cast, param: param ?? "" };
}

async function go() {
  const next = route();
  if (!away) settle();
  if (current?.view === cast) castScroll = scrollY;
  if (current && current.view !== next.view) current.view.leave?.();
  current = { ...next, entered: current !== null };
  await refresh();
}

// Show the current view.
function enter() {
  const { view, entered } = current;
  const other = document.body.dataset.view !== view.name;
  document.body.dataset.view = view.name;
  if (view.root.parentElement !== main) main.replaceChildren(view.root);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.goes === view.name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${view.title()} – ${page.cast?.video || "castlist"}`;
  if (!entered) return;
  current.entered = false;
  scrollTo(0, view === cast ? castScroll : 0);
  if (!(view === cast && view.grid.current !== null && view.grid.focus(true)) && other) {
    view.root.focus({ preventScroll: true });
  }
}

let running = null;
let again = false;
function refresh() {
  again = running !== null;
  main.ariaBusy = "true"; // what is shown may be of an earlier question
  running ??= (async () => {
    do {
      again = false;
      await once();
    } while (again);
  })().finally(() => {
    running = null;
    main.ariaBusy = "false";
  });
  return running;
}
page.refresh = refresh;

// Load and draw the current view, then the top of the page.
async function once() {
  const asked = current;
  try {
    if (!page.cast && asked.view !== cast) cast.draw(await cast.load());
    let data = null;
    try {
      data = await asked.view.load(asked.param);
    } catch (error) {
      if (!(error instanceof Refused && error.status === 422 && asked.view.refused)) throw error;
    }
    if (asked !== current) {
      again = true;
      return;
    }
    if (data) asked.view.draw(data);
    else asked.view.refused();
    enter();
    if (asked.view !== cast && page.cast.last !== (data?.last ?? -1)) cast.draw(await cast.load());
    top();
    page.last = data?.last ?? page.cast.last;
    document.body.dataset.last = page.last;
    back();
  } catch (error) {
    away ||= error instanceof Gone;
    complain(error);
  }
}

function top() {
  const { characters, duration, tracks, not_faces, undo, redo, lost } = page.cast;
  const [behind, small] = ["background", "small"].map((group) => characters.filter((one) => one.group === group).length);
  const fact = (n, text) => el("span", {}, el("b", {}, n), ` ${text}`);
  const [n, what] = count(characters.length, "character").split(" ");
  const [m, these] = count(tracks, "track").split(" ");
  document.getElementById("figures").replaceChildren(
    fact(lasting(duration), "long"),
    fact(n, `${what}${behind ? `, ${behind.toLocaleString("en")} in the background` : ""}${small ? `, ${small.toLocaleString("en")} too small to tell` : ""}`),
    fact(m, these),
    ...(lost ? [el("a", { href: "#/history" }, count(lost, "lost track"))] : []),
  );
  document.getElementById("not-faces-count").textContent = not_faces || "";
  for (const [name, text] of [["undo", undo], ["redo", redo]]) {
    tools[name].disabled = text === null;
    tools[name].title = text === null ? `Nothing to ${name}` : `${name === "undo" ? "Undo" : "Redo"}: ${text}`;
  }
}

function back() {
  if (away) say("The server is running again.");
  away = false;
}

// The server adds a million to the number of the last event with every new scan.
function scanOf(last) {
  return Math.floor(last / 1e6);
}

const SCANNED = "castlist-scanned";
function reloadForScan() {
  sessionStorage.setItem(SCANNED, "yes");
  location.reload();
}

// After the reload for a new scan, say so once.
function announceScan() {
  if (!sessionStorage.getItem(SCANNED)) return;
  sessionStorage.removeItem(SCANNED);
  say("The video was scanned again, or videos were added or removed. This is the new cast.");
}

async function look() {
  if (document.hidden || dialogOpen() || acting() || running || !current) return;
  try {
    const { last } = await get("api/last");
    if (scanOf(last) !== scanOf(page.last)) reloadForScan();
    else if (last !== page.last && !dialogOpen() && !acting()) await refresh();
    else back();
  } catch (error) {
    if (!away) complain(error);
    away = true;
  }
}

async function poll() {
  await look();
  setTimeout(poll, EVERY);
}

async function take(kind) {
  const text = page.cast?.[kind];
  if (!text) return say(`There is nothing to ${kind}.`);
  return act({ kind, after: page.cast.last }, `${kind === "undo" ? "Undone" : "Redone"}: ${text}.`);
}

const undo = () => take("undo");
const redo = () => take("redo");
const to = (hash) => () => (location.hash = hash);
async function find() {
  if (current.view !== cast) {
    window.history.pushState(null, "", "#/"); // fires no hashchange, so that go() can be awaited
    await go();
  }
  cast.search.focus();
  cast.search.select();
}
const everywhere = {
  "/": ["/", "search the cast", find],
  u: ["U", "undo", undo],
  r: ["R", "redo", redo],
  c: ["C", "go to the cast", to("#/")],
  q: ["Q", "go to the questions", to("#/questions")],
  w: ["W", "watch the video", to("#/watch")],
  h: ["H", "go to the history", to("#/history")],
  v: ["V", "show the frame of a face, then of the next face", () => document.dispatchEvent(new Event("nextframe"))],
  "?": ["?", "show these keys", () => showKeys(current.view, everywhere)],
};

tools.undo.addEventListener("click", undo);
tools.redo.addEventListener("click", redo);
tools.recluster.addEventListener("click", openRecluster);
tools.help.addEventListener("click", () => showKeys(current.view, everywhere));
listen(() => current.view, everywhere, undo, redo);
window.history.scrollRestoration = "manual";
addEventListener("hashchange", go);
addEventListener("focus", look);
document.addEventListener("visibilitychange", look);
go().then(announceScan).then(poll);
