// Watch: the video with names on the faces, and a timeline of who is seen when.
import { get } from "./api.js";
import { el } from "./dom.js";
import { makeLanes } from "./lanes.js";
import { page, say } from "./page.js";
import { makeScreen } from "./screen.js";
import { timecode } from "./timecode.js";
import { count } from "./words.js";

//: Colours of characters in turn: readable on light and dark pages and on pictures.
const COLOURS = ["#3d8bd4", "#d9822b", "#4aa564", "#c9518f", "#8a6fd1", "#b59b21", "#2fa3a3", "#d65f4c"];
const SKIP = 5; // seconds per arrow key
const EDGE = 0.05; // seconds: an appearance that begins this near is the current one
const FOLD = "background"; // key of the row that folds the background characters

let line = null; // the timeline, from the server
let rows = [];
let key = null; // of the chosen row
let open = false; // whether background characters are shown
let video = 0; // the video that was shown last
let entered = null; // the address whose place was shown

const screen = makeScreen({ moved, pressed: pressed, state: () => buttons() });
const lanes = makeLanes({ seek: (time) => screen.seek(time), play: playSpan, choose });
const button = (action, label, title, run) =>
  el("button", { type: "button", "data-action": action, "aria-label": title, title, onclick: run }, label);
// Pictures of buttons, 16 × 16: fonts may lack the symbols.
const ICONS = {
  before: "M2 3h2v10h-2z M14 3v10l-9-5z", back: "M10 3v10l-6-5z", play: "M3 2l11 6-11 6z",
  pause: "M3 2h4v12h-4z M9 2h4v12h-4z", on: "M6 3v10l6-5z", after: "M12 3h2v10h-2z M2 3v10l9-5z",
};
function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const [picture, path] = [document.createElementNS(space, "svg"), document.createElementNS(space, "path")];
  picture.setAttribute("viewBox", "0 0 16 16");
  picture.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  picture.append(path);
  return picture;
}
const controls = {
  before: button("before", icon("before"), "Previous appearance of the chosen person (P)", () => appear(-1)),
  back: button("back", icon("back"), "Previous frame (,)", () => screen.step(-1)),
  play: button("play", icon("play"), "Play (Space)", toggle),
  on: button("on", icon("on"), "Next frame (.)", () => screen.step(1)),
  after: button("after", icon("after"), "Next appearance of the chosen person (N)", () => appear(1)),
};
const code = el("output", { class: "timecode", "aria-live": "off", "aria-label": "Time code" }, "00:00:00:00");
const who = el("p", { class: "quiet now", "aria-hidden": "true" });
const speed = el("select", { "aria-label": "Speed", onchange: () => (screen.video.playbackRate = Number(speed.value)) },
  [0.25, 0.5, 1, 1.5, 2].map((rate) => el("option", { value: rate, selected: rate === 1 }, `${rate}×`)));
const sound = button("sound", "Sound", "Sound (S)", () => {
  screen.video.muted = !screen.video.muted;
  buttons();
});
const names = button("boxes", "Names", "Names on faces (B)", () => boxes(names.getAttribute("aria-pressed") !== "true"));
const full = button("full", "Full screen", "Full screen (F)", () =>
  (document.fullscreenElement ? document.exitFullscreen() : screen.root.requestFullscreen()).catch(() => say("The browser refused full screen.", true)));
const zooms = el("div", { class: "filters", role: "group", "aria-label": "Zoom" },
  button("zoom-out", "−", "Zoom out (−)", () => lanes.zoom(1 / 1.6)),
  button("zoom-in", "+", "Zoom in (+)", () => lanes.zoom(1.6)),
  button("zoom-all", "Whole video", "Whole video (0)", () => lanes.all()));
const tracksOf = el("a", { href: "#/" });
const films = el("select", { "aria-label": "Video", onchange: () => (location.hash = `#/watch/${films.value}`) });
const choice = el("div", { class: "films", hidden: true }, films);
const empty = el("p", { class: "empty", hidden: true }, "No faces were found in this video.");
const root = el("section", { class: "view watch", tabindex: "-1", "aria-label": "Watch" },
  choice, screen.root,
  el("div", { class: "controls" },
    el("div", { class: "filters", role: "group", "aria-label": "Playback" }, Object.values(controls)),
    code, who,
    el("div", { class: "filters" }, speed, sound, names, full)),
  el("div", { class: "controls below" }, el("h2", {}, "Timeline"), el("p", { class: "tracks-of" }, tracksOf), zooms),
  empty, lanes.root);

screen.stage.addEventListener("click", (event) => {
  if (!event.target.closest(".face-box") && screen.plays) toggle();
});
// Space and Enter press the button that has the focus, and nothing else.
root.addEventListener("keydown", (event) => {
  if ([" ", "Enter"].includes(event.key) && event.target.matches("button, a")) event.stopPropagation();
});

const chosen = () => rows.findIndex((row) => row.key === key);
const person = () => rows.find((row) => row.key === key);
const coded = (time) => timecode(time, line?.rate, line?.drop);

// The rows: characters, then the background characters, folded into one row or shown below it.
function arrange() {
  const colour = new Map(line.characters.map((one, i) => [one.number, COLOURS[i % COLOURS.length]]));
  const covers = new Map(page.cast.characters.map((one) => [one.number, one.faces[0]?.id]));
  const made = line.characters.map((one) => ({
    ...one, key: String(one.number), colour: colour.get(one.number), quiet: one.background, face: covers.get(one.number) ?? one.face,
  }));
  const behind = made.filter((row) => row.background);
  rows = made.filter((row) => !row.background);
  if (behind.length) {
    const all = behind.flatMap((row) => row.spans).toSorted((a, b) => a[0] - b[0]);
    rows.push({
      key: FOLD, number: null, title: `${open ? "▾" : "▸"} ${count(behind.length, "background character")}`,
      seconds: behind.reduce((sum, row) => sum + row.seconds, 0), spans: merged(all), colour: "#8a8780", quiet: true, face: null,
    });
    if (open) rows.push(...behind);
  }
  if (chosen() < 0) key = rows[0]?.key ?? null;
  lanes.draw(rows, line.duration, chosen());
  screen.open(line, (number) => colour.get(number));
}

// The union of sorted intervals.
function merged(spans) {
  const made = [];
  for (const [start, end] of spans) {
    if (made.length && start <= made.at(-1)[1]) made.at(-1)[1] = Math.max(made.at(-1)[1], end);
    else made.push([start, end, null]);
  }
  return made;
}

function unfold(yes) {
  open = yes;
  arrange();
}

// Choose a row by its position; the fold opens or closes when it is pressed.
function choose(k, press = false) {
  if (!rows[k]) return;
  key = rows[k].key;
  if (press && key === FOLD) unfold(!open);
  lanes.choose(chosen());
  buttons();
}

// A face in the picture was pressed.
function pressed(number) {
  const one = line.characters.find((other) => other.number === number);
  if (one?.background && !open) unfold(true);
  choose(rows.findIndex((row) => row.number === number));
}

function playSpan(k, [start, end]) {
  screen.play(start, end);
}

// Go to the next (1) or previous (-1) appearance of the chosen person; play it, or show its first frame.
function appear(by, playing = screen.playing) {
  const row = person();
  if (!row) return;
  const now = screen.time;
  const at = by > 0
    ? row.spans.findIndex(([start]) => start > now + EDGE)
    : row.spans.findLastIndex(([start]) => start < now - (screen.playing ? 1 : EDGE));
  if (at < 0) return say(`${row.title} does not appear ${by > 0 ? "later" : "earlier"} in this video.`);
  const [start, end] = row.spans[at];
  say(`${row.title}, appearance ${at + 1} of ${row.spans.length}, ${coded(start)}.`);
  if (playing) screen.play(start, end);
  else screen.show(start);
}

function toggle() {
  if (!screen.plays) return say("The browser cannot play this video.");
  if (screen.playing) screen.pause();
  else screen.play();
}

function boxes(yes) {
  names.setAttribute("aria-pressed", String(yes));
  screen.drawBoxes(yes);
}

function seen() {
  const numbers = new Set(screen.faces().map((face) => face.character));
  return line ? line.characters.filter((one) => numbers.has(one.number)).map((one) => one.title) : [];
}

// The time changed.
let listed = "";
function moved(time) {
  const text = coded(time);
  code.textContent = text;
  lanes.at(time, text, screen.playing);
  const now = seen().join(", ");
  if (now !== listed) who.textContent = listed = now;
}

// Say where the video is and who is seen.
function where() {
  const some = seen();
  say(`${coded(screen.time)}. ${some.length ? `On screen: ${some.join(", ")}.` : "Nobody is on screen."}`);
}

function buttons() {
  const { playing, plays } = screen;
  controls.play.replaceChildren(icon(playing ? "pause" : "play"));
  controls.play.setAttribute("aria-label", playing ? "Pause (Space)" : "Play (Space)");
  controls.play.title = playing ? "Pause (Space)" : "Play (Space)";
  for (const one of [controls.play, controls.back, controls.on]) one.disabled = !plays;
  for (const one of [sound, full, speed]) one.hidden = !plays;
  const row = person();
  tracksOf.hidden = !row?.number;
  tracksOf.href = `#/character/${row?.number}`;
  tracksOf.textContent = row ? `Tracks of ${row.title}` : "";
  for (const one of [controls.before, controls.after]) one.disabled = !row?.spans.length;
  sound.setAttribute("aria-pressed", String(!screen.video.muted));
}

// The part of an address: "2?t=12.5&end=14&who=3" is a video, a time, where to stop, and a character.
function parse(param) {
  const [number, query] = param.split("?");
  const asked = new URLSearchParams(query ?? "");
  const seconds = (name) => (asked.has(name) && Number.isFinite(Number(asked.get(name))) ? Number(asked.get(name)) : null);
  return { number: /^[0-9]{1,6}$/.test(number) ? Number(number) : video, from: seconds("t"), until: seconds("end"), who: asked.get("who") };
}

// The address of a place in Watch.
export function placeOf(film, start, end, number) {
  return `#/watch/${film}?t=${start}&end=${end}${number ? `&who=${number}` : ""}`;
}

let param = "";
const move = (by) => () => choose(Math.min(Math.max(chosen() + by, 0), rows.length - 1));
export const watch = {
  name: "watch",
  root,
  title: () => "Watch",
  load(asked) {
    param = asked;
    return get(`api/timeline/${parse(asked).number}`).catch((error) => {
      if (error.status !== 404) throw error;
      return get("api/timeline/0"); // the address is of another cast
    });
  },
  draw(data) {
    line = data;
    video = data.video;
    choice.hidden = data.videos.length < 2;
    if (films.options.length !== data.videos.length) {
      films.replaceChildren(...data.videos.map(({ name }, i) => el("option", { value: i }, name)));
    }
    films.value = data.video;
    empty.hidden = data.characters.length > 0;
    lanes.root.hidden = data.characters.length === 0;
    arrange();
    const { from, until, who: number } = parse(param);
    if (entered !== param) {
      entered = param;
      if (number) pressed(Number(number));
      if (from !== null) screen.play(from, until);
      else moved(screen.time);
    }
    buttons();
  },
  leave() {
    screen.pause();
    entered = null;
  },
  keys: {
    " ": ["Space", "play or pause", toggle],
    n: ["N", "next appearance of the chosen person", () => appear(1)],
    p: ["P", "previous appearance of the chosen person", () => appear(-1)],
    ".": [".", "next frame", () => screen.step(1)],
    ",": [",", "previous frame", () => screen.step(-1)],
    ArrowRight: ["→", `${SKIP} seconds on`, () => screen.seek(screen.time + SKIP)],
    ArrowLeft: ["←", `${SKIP} seconds back`, () => screen.seek(screen.time - SKIP)],
    ArrowDown: ["↓", "choose the next person", move(1)],
    ArrowUp: ["↑", "choose the previous person", move(-1)],
    Enter: ["Enter", "play the next appearance, or unfold the background characters", () => (key === FOLD ? choose(chosen(), true) : appear(1, true))],
    "+": ["+", "zoom in", () => lanes.zoom(1.6)],
    "-": ["−", "zoom out", () => lanes.zoom(1 / 1.6)],
    0: ["0", "show the whole video", () => lanes.all()],
    o: ["O", "open the tracks of the chosen person", () => tracksOf.hidden || tracksOf.click()],
    t: ["T", "say the time code and who is on screen", where],
    b: ["B", "names on faces on or off", () => names.click()],
    s: ["S", "sound on or off", () => sound.click()],
    f: ["F", "full screen", () => full.click()],
  },
  alsoKeys: [[["Ctrl+wheel"], "zoom the timeline at the pointer"]],
};
boxes(true);
