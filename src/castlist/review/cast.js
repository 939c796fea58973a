// The cast: all characters by screen time, background characters last.
import { get } from "./api.js";
import { background, merge, nameThem } from "./act.js";
import { makeBar } from "./bar.js";
import { el, face, Kept, keepingFocus, nothing, place, timeline } from "./dom.js";
import { makeGrid } from "./grid.js";
import { page, say } from "./page.js";
import { clock, count, lasting, percent, sureness } from "./words.js";

// Filters: the label, and which characters it shows.
const FILTERS = {
  all: ["all", () => true],
  unreviewed: ["unreviewed", (one) => one.state === "unreviewed"],
  named: ["named", (one) => one.state === "named"],
  background: ["background", (one) => one.group === "background"],
  small: ["too small to tell", (one) => one.group === "small"],
};
let shown = "all";
let last = 0;

const search = el("input", {
  type: "search", id: "search", placeholder: "Search", autocomplete: "off", "aria-label": "Search the cast by title",
});
const filters = new Map(
  Object.keys(FILTERS).map((state) => [
    state,
    el("button", { type: "button", "data-filter": state, "aria-pressed": "false", onclick: () => filter(state) }),
  ]),
);
const GROUPS = {
  main: ["Characters", ""],
  background: ["Background characters", "Seen only briefly, or marked as background."],
  small: ["Too small to tell", "All faces are too small to recognise."],
};
const lists = Object.fromEntries(Object.keys(GROUPS).map((group) => [group, el("ul", { class: "cards" })]));
const sections = Object.entries(GROUPS).map(([group, [title, note]]) =>
  el("section", { "aria-labelledby": `group-${group}` },
    el("h2", { id: `group-${group}` }, title), note ? el("p", { class: "quiet note" }, note) : null, lists[group]));
const empty = el("p", { class: "empty", hidden: true });
const cards = el("div", {}, sections, empty);
const grid = makeGrid(cards, "character", {
  open: (number) => (location.hash = `#/character/${number}`),
  changed: (n) => draw_bar(n),
});
const who = () => grid.targets().map(Number);
const onSelection = (run) => () => (who().length ? run(who()) : say("Select a character first."));

const actions = {
  name: onSelection((numbers) => nameThem(numbers, last)),
  merge: onSelection((numbers) => (numbers.length < 2 ? say("Select at least two characters to merge.") : merge(numbers, last))),
  background: onSelection((numbers) => background(numbers, true, last)),
  foreground: onSelection((numbers) => background(numbers, false, last)),
};
const bar = makeBar("character", [
  ["name", "Name", "N", actions.name],
  ["merge", "Merge", "M", actions.merge],
  ["background", "Background", "B", actions.background],
  ["foreground", "Not background", "F", actions.foreground],
], () => grid.clear());

const root = el("section", { class: "view", tabindex: "-1", "aria-label": "Cast" },
  el("div", { class: "find" }, search, el("div", { class: "filters", role: "group", "aria-label": "Show by state" }, [...filters.values()])),
  cards, bar.root,
);

const kept = new Kept(
  (one) =>
    el("li", { class: "card", "data-character": one.number, "data-frames": true },
      el("div", { class: "head" },
        el("input", { type: "checkbox", class: "pick", tabindex: "-1" }),
        el("h3", {}, el("a", { href: `#/character/${one.number}`, tabindex: "-1" })),
        el("span", { class: "state" })),
      el("div", { class: "faces" }),
      el("p", { class: "facts" }),
      el("div", { class: "when" })),
  (card, one) => {
    card.querySelector("a").textContent = one.title;
    card.querySelector(".pick").setAttribute("aria-label", `${one.title}, ${FILTERS[one.state][0]}, ${lasting(one.seconds)} on screen`);
    const state = card.querySelector(".state");
    state.textContent = FILTERS[one.state][0];
    card.dataset.state = one.state;
    const faces = card.querySelector(".faces");
    const of = one.faces.map((track) => track.id).join();
    if (faces.dataset.of !== of) {
      faces.dataset.of = of;
      faces.replaceChildren(...(one.faces.length ? one.faces.map((track) => face(track, 0, "")) : [nothing()]));
    }
    const word = sureness(one);
    card.querySelector(".facts").replaceChildren(
      el("span", {}, el("b", {}, lasting(one.seconds)), ` on screen, ${percent(one.seconds / Math.max(page.cast.duration, 1e-9))}`),
      el("span", {}, count(one.n_tracks, "track")),
      el("span", { class: `sure ${word.split(" ")[0]}`, title: `${one.sure.toFixed(2)}, from 0 (a guess) to 1 (certain)` }, word),
    );
    const [first, end] = [one.spans[0]?.[0] ?? 0, one.spans.at(-1)?.[1] ?? 0];
    card.querySelector(".when").replaceChildren(
      timeline(one.spans, page.cast.duration, `Seen from ${clock(first)} to ${clock(end)}`));
  },
);

function filter(state) {
  shown = state;
  sift();
}

// Hide the cards that do not match the search and the filter.
function sift() {
  const typed = search.value.trim().toLocaleLowerCase();
  let left = 0;
  for (const one of page.cast.characters) {
    const found = one.title.toLocaleLowerCase().includes(typed);
    const card = kept.held.get(one.number).element;
    card.hidden = !found || !FILTERS[shown][1](one);
    left += !card.hidden;
  }
  for (const [state, button] of filters) {
    const [label, shows] = FILTERS[state];
    const n = page.cast.characters.filter(shows).length;
    button.textContent = `${label} ${n.toLocaleString("en")}`;
    button.setAttribute("aria-pressed", String(state === shown));
    button.hidden = state === "small" && !n && shown !== state;
  }
  for (const section of sections) section.hidden = !section.querySelector(".card:not([hidden])");
  empty.hidden = left > 0;
  empty.textContent = page.cast.characters.length
    ? "No character matches the search."
    : page.cast.tracks ? "This cast has no characters." : "No faces were found in this video.";
  grid.sync();
}

function draw_bar(n) {
  const numbers = [...grid.selected].map(Number);
  const unseen = numbers.filter((number) => kept.held.get(number)?.element.hidden).length;
  bar.draw(n, unseen ? `${unseen} of them hidden` : "");
  bar.buttons.get("merge").disabled = n < 2;
}

search.addEventListener("input", sift);
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && search.value) {
    search.value = "";
    sift();
    event.preventDefault();
  } else if (event.key === "ArrowDown" || event.key === "Enter") {
    event.preventDefault();
    grid.focus();
  }
});

export const cast = {
  name: "cast",
  root,
  grid,
  search,
  title: () => "Cast",
  load: () => get("api/cast"),
  draw(data) {
    page.cast = data;
    last = data.last;
    keepingFocus(() => {
      const made = kept.of(data.characters, (one) => one.number);
      for (const [group, list] of Object.entries(lists)) {
        place(list, made.filter((_, i) => data.characters[i].group === group));
      }
    });
    sift();
  },
  keys: {
    n: ["N", "name the selection", actions.name],
    m: ["M", "merge the selection", actions.merge],
    b: ["B", "mark as background", actions.background],
    f: ["F", "mark as not background", actions.foreground],
  },
  alsoKeys: [
    [["←", "→", "↑", "↓"], "move between cards; with Shift, select"],
    [["Space"], "select"],
    [["Ctrl+A"], "select all visible characters"],
    [["Enter"], "open the character"],
    [["Esc"], "clear the selection"],
  ],
};
