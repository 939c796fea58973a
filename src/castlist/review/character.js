// One character: its name and all of its tracks.
import { act, background, rename } from "./act.js";
import { get } from "./api.js";
import { makeBar } from "./bar.js";
import { askCut, pickCharacter } from "./dialogs.js";
import { el, timeline } from "./dom.js";
import { makeGrid } from "./grid.js";
import { complain, names, page, say, titleOf } from "./page.js";
import { makePlayer } from "./player.js";
import { placeTracks, trackCards } from "./tracks.js";
import { clock, count, lasting, oneLine, percent, sureness } from "./words.js";

let one = null; // the character, from the server
let byTime = false;

const known = el("datalist", { id: "names" });
const field = el("input", {
  type: "text", id: "name", list: "names", maxlength: 200, autocomplete: "off", "aria-label": "Name",
});
const save = el("button", { type: "submit", "data-action": "name" }, "Name");
const form = el("form", { class: "naming", onsubmit: (event) => { event.preventDefault(); give(); } }, field, known, save);
const facts = el("p", { class: "facts" });
const when = el("div", { class: "when" });
const mark = el("button", { type: "button", onclick: () => background([one.number], !one.background, one.last) });
const orders = [false, true].map((time) =>
  el("button", { type: "button", "data-order": time ? "time" : "fit", onclick: () => order(time) },
    time ? "by time" : "least sure first"));
const everything = el("button", { type: "button", onclick: () => grid.all() }, "Select all");
const list = el("ul", { class: "cards tracks" });
const player = page.video ? makePlayer((track, at) => cutAt(track, at)) : null;
const play = player ? (track) => player.play(track) : null;
const missing = el("p", { class: "empty", hidden: true }, "This character is no longer in the cast. ",
  el("a", { href: "#/" }, "See the cast."));

const grid = makeGrid(list, "track", { open: (track) => play?.(track), changed: (n) => bar.draw(n) });
const onSelection = (run) => () => {
  const tracks = grid.targets();
  return tracks.length ? run(tracks) : say("Select a track first.");
};
const actions = { move: onSelection(move), split: onSelection(split), not_face: onSelection(notFace), cut: onSelection(cut) };
const bar = makeBar("track", [
  ["move", "Move to", "M", actions.move],
  ["split", "New character", "S", actions.split],
  ["not-face", "Not a face", "X", actions.not_face],
  ["cut", "Cut", "K", actions.cut],
], () => grid.clear());

const whole = el("div", { class: player ? "whole with-player" : "whole" },
  el("div", { class: "about" }, form, facts, when, el("div", { class: "buttons" }, mark)),
  player?.root,
  el("div", { class: "its-tracks" },
    el("div", { class: "find" }, el("h2", {}, "Tracks"),
      el("div", { class: "filters", role: "group", "aria-label": "Order" }, orders), everything),
    list));
const root = el("section", { class: "view", tabindex: "-1", "aria-label": "Character" },
  el("p", { class: "back" }, el("a", { href: "#/" }, "← Cast")), missing, whole, bar.root);
const kept = trackCards(play);

field.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  field.value = field.defaultValue;
  field.blur();
});

// The last event when typing began: a change made elsewhere since then is not overwritten unseen.
let begun = null;
field.addEventListener("input", () => (begun ??= one.last));
field.addEventListener("blur", () => (begun = null));

function give() {
  const name = oneLine(field.value);
  if (name === one.name) return say("The character already has this name.");
  return rename(one.number, name, begun ?? one.last).then((done) => done && field.blur());
}

async function move(tracks) {
  const others = page.cast.characters.filter((other) => other.number !== one.number);
  const to = await pickCharacter(`Move ${count(tracks.length, "track")} to`, others);
  if (to === null) return;
  const all = tracks.length === one.all.length;
  const done = await act({ kind: "move", after: one.last, tracks, to }, `Moved ${count(tracks.length, "track")} to ${titleOf(to)}.`);
  if (done && all) location.hash = `#/character/${to}`;
}

function split(tracks) {
  return act({ kind: "move", after: one.last, tracks }, `Moved ${count(tracks.length, "track")} to a new character.`);
}

async function notFace(tracks) {
  const all = tracks.length === one.all.length;
  const done = await act({ kind: "not_face", after: one.last, tracks, yes: true }, `Marked ${count(tracks.length, "track")} as not a face.`);
  if (done && all) location.hash = "#/";
}

// Cut a track in two. The suggested time is the video's current time if it is in the track, else the middle.
async function cut(tracks) {
  if (tracks.length > 1) return say("Select one track to cut.");
  return cutAt(tracks[0], player?.time ?? -1);
}

async function cutAt(id, now) {
  try {
    const track = await get(`api/tracks/${encodeURIComponent(id)}`);
    const at = now > track.start && now < track.end ? now : (track.start + track.end) / 2;
    const chosen = await askCut(one.title, track, at);
    if (!chosen) return;
    await act({ kind: "cut", after: one.last, tracks: [id], ...chosen }, `Cut the track at ${chosen.at} s. The other part is a new character.`);
  } catch (error) {
    complain(error);
  }
}

function order(time) {
  byTime = time;
  draw_tracks();
}

function draw_tracks() {
  const all = byTime ? one.all.toSorted((a, b) => a.at - b.at) : one.all;
  orders.forEach((button, i) => button.setAttribute("aria-pressed", String(byTime === Boolean(i))));
  placeTracks(list, kept, all);
  grid.sync();
}

function draw_about() {
  const name = document.activeElement === field && field.value !== field.defaultValue ? field.value : one.name;
  field.defaultValue = one.name;
  field.value = name;
  field.placeholder = one.title;
  known.replaceChildren(...names().map((value) => el("option", { value })));
  const word = sureness(one);
  const duration = page.cast.duration;
  facts.replaceChildren(
    el("span", {}, el("b", {}, lasting(one.seconds)), ` on screen, ${percent(one.seconds / Math.max(duration, 1e-9))}`),
    el("span", {}, count(one.n_tracks, "track")),
    el("span", { class: `sure ${word.split(" ")[0]}`, title: `${one.sure.toFixed(2)}, from 0 (a guess) to 1 (certain)` }, word),
    el("span", { class: "state" }, one.state === "small" ? "" : one.state),
  );
  const [first, end] = [one.spans[0]?.[0] ?? 0, one.spans.at(-1)?.[1] ?? 0];
  when.replaceChildren(
    timeline(one.spans, duration, `Seen from ${clock(first)} to ${clock(end)}`),
    el("p", { class: "scale" }, el("span", {}, "0:00"), el("span", {}, count(one.spans.length, "appearance")), el("span", {}, clock(duration))));
  mark.textContent = one.background ? "Mark as not background" : "Mark as background";
  mark.dataset.action = one.background ? "foreground" : "background";
}

export const character = {
  name: "character",
  root,
  grid,
  title: () => one?.title ?? "Character",
  load: (number) => get(`api/characters/${number}`),
  draw(data) {
    const other = one?.number !== data.number;
    one = data;
    missing.hidden = true;
    whole.hidden = false;
    if (other) {
      grid.clear();
      grid.current = null;
      player?.leave();
    }
    draw_about();
    draw_tracks();
  },
  refused() {
    one = null;
    missing.hidden = false;
    whole.hidden = true;
    grid.clear();
  },
  leave: () => player?.leave(),
  keys: {
    e: ["E", "edit the name", () => { field.focus(); field.select(); }],
    m: ["M", "move the selection to another character", actions.move],
    s: ["S", "move the selection to a new character", actions.split],
    x: ["X", "mark the selection as not a face", actions.not_face],
    k: ["K", "cut a track that shows two people", actions.cut],
    b: ["B", "mark the character as background, or as not background", () => one && mark.click()],
    o: ["O", "change the order", () => one && order(!byTime)],
    ...(play ? { p: ["P", "play the video at the track", () => grid.targets().slice(-1).forEach(play)] } : {}),
  },
  alsoKeys: [
    [["←", "→", "↑", "↓"], "move between tracks; with Shift, select"],
    [["Space"], "select"],
    [["Ctrl+A"], "select all"],
    ...(play ? [[["Enter"], "play the video at the track"]] : []),
    [["Esc"], "clear the selection"],
  ],
};
