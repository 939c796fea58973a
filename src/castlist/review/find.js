// Find: the scenes in which people are seen together, or any of them, or without somebody.
import { get } from "./api.js";
import { el, face } from "./dom.js";
import { complain, page, say, titleOf } from "./page.js";
import { timecode } from "./timecode.js";
import { placeOf } from "./watch.js";
import { count, lasting } from "./words.js";

const MOST = 12; // suggestions
const SHOWN = 100; // scenes per page of results
const WAIT = 250; // milliseconds after typing
let param = null; // the part of the address that is shown
let result = null; // from the server
let shown = SHOWN;
let fields = 0;

// A field in which people are looked up, and those who were chosen.
function makePicker(title, hint) {
  const id = `people-${++fields}`;
  const chips = el("span", { class: "chips" });
  const hits = el("ul", { class: "hits", role: "listbox", id, "aria-label": title, hidden: true });
  const field = el("input", {
    type: "text", role: "combobox", autocomplete: "off", placeholder: hint, "aria-label": title,
    "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list",
  });
  const root = el("fieldset", {}, el("legend", {}, title), el("div", { class: "people" }, chips, field, hits));
  let numbers = [];
  let some = []; // who is suggested
  let active = 0;

  function suggest() {
    const typed = field.value.trim().toLocaleLowerCase();
    some = page.cast.characters
      .filter((one) => !numbers.includes(one.number) && one.title.toLocaleLowerCase().includes(typed))
      .slice(0, MOST);
    active = 0;
    hits.replaceChildren(...some.map((one, i) =>
      el("li", { role: "option", id: `${id}-${i}`, "data-pick": one.number, onpointerdown: (event) => { event.preventDefault(); add(one.number); } },
        one.faces.length ? small(one.faces[0].id) : null, el("span", {}, one.title), el("small", {}, lasting(one.seconds)))));
    if (!some.length) hits.append(el("li", {}, "No character has this title."));
    mark(true);
  }

  function mark(open) {
    hits.hidden = !open;
    field.setAttribute("aria-expanded", String(open));
    [...hits.children].forEach((one, i) => one.setAttribute("aria-selected", String(i === active)));
    if (open && some.length) {
      field.setAttribute("aria-activedescendant", `${id}-${active}`);
      hits.children[active].scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  }

  function add(number) {
    numbers = [...numbers, number];
    field.value = "";
    mark(false);
    changed();
  }

  function remove(number) {
    numbers = numbers.filter((other) => other !== number);
    field.focus();
    mark(false);
    changed();
  }

  field.addEventListener("input", suggest);
  field.addEventListener("focus", suggest);
  field.addEventListener("click", suggest);
  field.addEventListener("blur", () => mark(false));
  field.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      if (hits.hidden) suggest();
      else active = Math.min(Math.max(active + by, 0), Math.max(0, some.length - 1));
      mark(true);
    } else if (event.key === "Enter" && !hits.hidden && some[active]) add(some[active].number);
    else if (event.key === "Escape" && !hits.hidden) mark(false);
    else if (event.key === "Backspace" && !field.value && numbers.length) remove(numbers.at(-1));
    else return;
    event.preventDefault();
  });

  return {
    root,
    field,
    get numbers() { return numbers; },
    set(chosen) {
      numbers = chosen;
      chips.replaceChildren(...numbers.map((number) => {
        const cover = page.cast.characters.find((one) => one.number === number)?.faces[0];
        return el("span", { class: "chip", "data-chip": number }, cover ? small(cover.id) : null, titleOf(number),
          el("button", { type: "button", "aria-label": `Remove ${titleOf(number)}`, onclick: () => remove(number) }, "×"));
      }));
    },
  };
}

function small(track, title = "") {
  const image = face({ id: track, frame: null }, 0, title);
  image.width = image.height = 34;
  if (title) image.title = title;
  return image;
}

const people = makePicker("People", "Add a person");
const without = makePicker("Without", "Add somebody who must not be seen");
const modes = ["together", "any"].map((mode) =>
  el("button", { type: "button", "data-mode": mode, onclick: () => { settings.mode = mode; changed(); } },
    mode === "together" ? "together" : "any of them"));
const seconds = (name, title) =>
  el("input", { type: "number", min: 0, step: "any", name, "aria-label": `${title}, in seconds`, oninput: () => later() });
const gap = seconds("gap", "Gap");
const shortest = seconds("shortest", "Shortest scene");
const film = el("select", { "aria-label": "Video", onchange: () => changed() });
const settings = { mode: "together" };
const heading = el("h2", {}, "Scenes");
const copyCommand = el("button", { type: "button", "data-action": "command", onclick: () => copy(result.command, "The command") }, "Copy command");
const copyList = el("button", { type: "button", "data-action": "csv", onclick: () => copy(csv(), "The list") }, "Copy as CSV");
const list = el("ol", { class: "scenes" });
const more = el("button", { type: "button", hidden: true, onclick: () => { shown += SHOWN; draw(); } }, "Show more");
const empty = el("p", { class: "empty" });
const root = el("section", { class: "view", tabindex: "-1", "aria-label": "Find" },
  el("div", { class: "ask" }, people.root, without.root),
  el("div", { class: "settings" },
    el("div", { class: "filters", role: "group", "aria-label": "How people are combined" }, modes),
    el("label", { title: "Appearances of one person that are at most this far apart count as one, so that people shown in turn are together." },
      "Gap up to", gap, "s"),
    el("label", {}, "At least", shortest, "s long"), film),
  el("div", { class: "found" }, heading, copyCommand, copyList), list, more, empty);

// What is asked, as a part of the address and of the request.
function query(video = film.value) {
  const asked = new URLSearchParams();
  for (const number of people.numbers) asked.append("people", number);
  for (const number of without.numbers) asked.append("without", number);
  asked.append("mode", settings.mode);
  for (const field of [gap, shortest]) if (Number(field.value) > 0) asked.append(field.name, Number(field.value));
  if (video) asked.append("video", video);
  return asked.toString();
}

// The address has what is asked, so that going back and reloading keep it.
function changed() {
  window.history.replaceState(null, "", `#/find?${query()}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

let waiting = 0;
function later() {
  clearTimeout(waiting);
  waiting = setTimeout(changed, WAIT);
}

// Fill the fields from the address.
function fill(text) {
  const asked = new URLSearchParams(text);
  const known = new Set(page.cast.characters.map((one) => one.number));
  const numbers = (name) => [...new Set(asked.getAll(name).map(Number))].filter((number) => known.has(number));
  people.set(numbers("people"));
  without.set(numbers("without").filter((number) => !people.numbers.includes(number)));
  settings.mode = asked.get("mode") === "any" ? "any" : "together";
  for (const field of [gap, shortest]) {
    const value = asked.get(field.name) ?? "";
    if (document.activeElement !== field) field.value = Number(value) > 0 ? value : "";
  }
  film.dataset.asked = asked.get("video") ?? "";
}

function videos(named) {
  if (named && film.options.length !== named.length + 1) {
    film.replaceChildren(el("option", { value: "" }, "in all videos"), ...named.map(({ name }, i) => el("option", { value: i }, name)));
  }
  film.hidden = film.options.length < 3;
  film.value = film.dataset.asked;
}

function draw() {
  for (const button of modes) button.setAttribute("aria-pressed", String(button.dataset.mode === settings.mode));
  const scenes = result?.scenes ?? [];
  heading.textContent = result
    ? `${count(scenes.length, "scene")}, ${lasting(scenes.reduce((sum, one) => sum + one.end - one.start, 0))}`
    : "Scenes";
  copyCommand.hidden = !result;
  copyList.hidden = !scenes.length;
  more.hidden = scenes.length <= shown;
  empty.hidden = scenes.length > 0;
  empty.textContent = result
    ? "There is no such scene. A larger gap counts people as together who are shown in turn."
    : page.cast.characters.length ? "Add the people to look for." : "This cast has no characters.";
  list.replaceChildren(...scenes.slice(0, shown).map(entry));
}

function entry(scene) {
  const { name, rate, drop } = result.videos[scene.film];
  const code = (time) => timecode(time, rate, drop);
  const [start, end] = [code(scene.start), code(scene.end)];
  const who = people.numbers[0];
  return el("li", {},
    el("a", {
      class: "scene", href: placeOf(scene.film, scene.start, scene.end, scene.faces[0]?.[0] ?? who),
      "aria-label": `Play ${start} to ${end}, ${scene.people.join(", ")}${result.videos.length > 1 ? `, ${name}` : ""}`,
    },
    el("span", { class: "faces-of" }, scene.faces.slice(0, 6).map(([number, track]) => small(track, titleOf(number)))),
    el("span", { class: "times" }, `${start} – ${end}`),
    el("span", { class: "of" }, `${(scene.end - scene.start).toFixed(1)} s`),
    result.videos.length > 1 ? el("span", { class: "of" }, name) : null,
    el("span", { class: "seen" }, scene.people.join(", "))));
}

// The list as CSV. A quote before =, +, - or @ keeps spreadsheets from running it.
function csv() {
  const cell = (value) => {
    const text = typeof value === "string" && /^'*[=+\-@\t\r\n]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const rows = result.scenes.map((scene) => {
    const { rate, drop } = result.videos[scene.film];
    const code = (time) => timecode(time, rate, drop);
    return [scene.video, scene.start, scene.end, code(scene.start), code(scene.end), scene.people.join("; ")];
  });
  return [["video", "start", "end", "in", "out", "people"], ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} was copied.`);
  } catch {
    complain(new TypeError("The browser refused to copy."));
  }
}

export const find = {
  name: "find",
  root,
  title: () => "Find",
  async load(asked) {
    if (asked !== param) shown = SHOWN;
    param = asked || query(); // without one, what was asked before
    fill(param);
    return people.numbers.length ? get(`api/find?${query(film.dataset.asked)}`) : { last: page.cast.last };
  },
  draw(data) {
    result = data.scenes ? data : null;
    videos(data.videos);
    draw();
  },
  keys: {
    "/": ["/", "add a person", () => people.field.focus()],
  },
  alsoKeys: [[["Enter"], "play the scene that has the focus"]],
};
