// Questions: one at a time, those that settle the most tracks first.
import { act, acting } from "./act.js";
import { get, post } from "./api.js";
import { el, faces } from "./dom.js";
import { complain, settle } from "./page.js";
import { count } from "./words.js";

//: Faces of a strip.
const FACES = 6;
let waiting = []; // questions, the first is shown
let last = 0;
let shown = ""; // which question is drawn
let said = []; // of each of its others: SAME, OTHER, SEVERAL, or INSTEAD: who castlist thinks it is
const [SAME, OTHER, INSTEAD] = ["true", "false", "mixed"]; // as aria-checked has it
const SEVERAL = "several"; // people are in it

const body = el("div", { class: "question" });
const root = el("section", { class: "view", tabindex: "-1", "aria-label": "Questions" }, body);

function strip(one) {
  return el("span", { class: "faces" }, faces(one.tracks, FACES));
}

function caption(other) {
  const where = other.inside ? "together now" : other.title;
  return [el("b", {}, where), " ", el("small", {}, count(other.n_tracks, "track"))];
}

// One of several: a tick says that it is the same person, a second key that it is who it may be
// instead.
function candidate(other, i) {
  const key = el("kbd", { "aria-hidden": "true" }, String(i + 1));
  const { instead } = other;
  return el("button",
    { type: "button", class: "candidate", role: "checkbox", "data-candidate": i, "data-frames": true, onclick: () => tick(i) },
    strip(other), el("span", { class: "who" }, key, " ", caption(other)),
    instead && el("span", { class: "instead" },
      el("span", {}, "or ", el("b", {}, instead.title)),
      el("span", { class: "faces" }, faces(instead.tracks, 3))));
}

function button(action, label, key, run, first = false) {
  return el("button", { type: "button", "data-action": action, class: first ? "first" : null, onclick: run },
    label, " ", el("kbd", { "aria-hidden": "true" }, key));
}

function answers(question) {
  const settles = count(Math.max(1, Math.round(question.settles)), "track");
  const several = question.others.length > 1;
  return el("div", { class: "buttons answers" },
    several ? button("done", "As ticked", "↵", asTicked, true) : null,
    button("yes", several ? "All of them" : "Same person", "Y", () => answer(() => SAME), !several),
    button("no", several ? "None of them" : "Different people", "N", () => answer(() => OTHER)),
    button("mixed", "This one is mixed", "M", mixed),
    button("skip", "Skip", "S", skip),
    el("p", { class: "quiet settles" }, `The answer settles about ${settles}.`));
}

function compare(question) {
  const several = question.others.length > 1;
  const [other] = question.others;
  const hint = several ? "Tick those who are the same person as the one in the frame."
    : other.inside ? "They are together now." : "They are apart now.";
  return [
    el("h2", {}, "Same person?"),
    el("p", { class: "quiet" }, hint),
    el("div", { class: several ? "sides" : "sides two" },
      el("figure", { class: "one", "data-frames": true }, strip(question.one),
        el("figcaption", {}, el("b", {}, question.one.title), " ", el("small", {}, count(question.one.n_tracks, "track")))),
      several ? el("div", { class: "candidates" }, question.others.map(candidate))
        : el("figure", { class: "one", "data-candidate": 0, "data-frames": true }, strip(other), el("figcaption", {}, caption(other))),
      answers(question)),
  ];
}

function tick(i) {
  if (i >= said.length || acting()) return;
  const next = { [SAME]: waiting[0].others[i].instead ? INSTEAD : OTHER, [INSTEAD]: OTHER, [OTHER]: SAME, [SEVERAL]: SAME };
  said[i] = next[said[i]];
  showTicks();
}

// Several people are in the one that is asked about; or in the other that has the focus.
function mixed() {
  const question = waiting[0];
  const focused = document.activeElement?.closest?.("button.candidate");
  if (!question || acting()) return;
  if (focused && body.contains(focused)) {
    const i = Number(focused.dataset.candidate);
    said[i] = said[i] === SEVERAL ? OTHER : SEVERAL;
    showTicks();
    return;
  }
  const { ids } = question.one;
  const told = ids.length > 1 ? "It is mixed: it is asked about in parts." : "It is mixed: open its character to cut the track.";
  act({ kind: "answer", after: last, tracks: ids, mixed: [ids] }, told);
}

function showTicks() {
  for (const one of body.querySelectorAll("button.candidate")) {
    const of = said[Number(one.dataset.candidate)];
    one.setAttribute("aria-checked", of === SEVERAL ? OTHER : of);
    one.classList.toggle("several", of === SEVERAL);
  }
}

// Enter on a button is that button's.
function asTicked() {
  const focused = document.activeElement?.closest?.(".answers button");
  if (focused && focused.dataset.action !== "done") focused.click();
  else if ((waiting[0]?.others.length ?? 0) > 1) answer((i) => said[i]);
}

function draw() {
  const question = waiting[0];
  const now = question ? JSON.stringify([last, question]) : "none";
  if (now === shown) return;
  const had = document.activeElement?.closest?.(".question [data-action], .question [data-candidate]");
  const again = had && body.contains(had) ? had.dataset.action : null;
  shown = now;
  settle(); // what was wrong with another answer is past
  if (!question) {
    body.replaceChildren(
      el("h2", {}, "No questions are left"),
      el("p", {}, "castlist has nothing more to ask. Skipped questions come back when it is started again."),
      el("p", {}, el("a", { href: "#/" }, "See the cast.")));
    return;
  }
  said = question.others.map((other) => (other.inside ? SAME : OTHER));
  body.replaceChildren(...compare(question));
  showTicks();
  if (again) body.querySelector(`[data-action="${again}"]`)?.focus({ preventScroll: true });
  ahead(waiting[1]);
}

// Fetch the faces of the next question while this one is looked at.
function ahead(question) {
  if (!question) return;
  for (const one of [question.one, ...question.others]) {
    for (const image of faces(one.tracks, FACES)) {
      if (image.src) new Image().src = image.src;
    }
  }
}

// what: says of each of the others, by number, who it is.
function answer(what) {
  const question = waiting[0];
  if (!question) return;
  const yes = question.others.filter((_, i) => what(i) === SAME);
  const several = question.others.filter((_, i) => what(i) === SEVERAL);
  const no = question.others.filter((_, i) => ![SAME, SEVERAL].includes(what(i)));
  const tracks = (some) => some.map((other) => other.ids);
  const instead = no.map((other) => (what(question.others.indexOf(other)) === INSTEAD ? other.instead.ids : null));
  const action = { kind: "answer", after: last, tracks: question.one.ids, same: tracks(yes), different: tracks(no), instead, mixed: tracks(several) };
  act(action, `${yes.length} of ${question.others.length} are the same person.`);
}

async function skip() {
  const question = waiting[0];
  if (!question || acting()) return;
  waiting = waiting.slice(1);
  if (waiting.length) draw();
  try {
    const different = question.others.map((other) => other.ids);
    await post("/api/actions", { kind: "skip", after: last, tracks: question.one.ids, different });
    if (waiting.length < 2) questions.draw(await questions.load());
  } catch (error) {
    complain(error);
  }
}

export const questions = {
  name: "questions",
  root,
  title: () => "Questions",
  load: () => get("/api/questions?most=10"),
  draw(data) {
    waiting = data.questions;
    last = data.last;
    draw();
  },
  keys: {
    Enter: ["Enter", "the same person are those ticked", asTicked],
    y: ["Y", "all of them are the same person", () => answer(() => SAME)],
    n: ["N", "none of them is", () => answer(() => OTHER)],
    m: ["M", "several people are in the one asked about, or in the other that has the focus", mixed],
    s: ["S", "skip", skip],
    ...Object.fromEntries([...Array(9).keys()].map((i) => [String(i + 1), [String(i + 1), `tick number ${i + 1}, or not; or who it is instead`, () => tick(i)]])),
  },
};
