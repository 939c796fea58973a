// Questions: one at a time, those that settle the most tracks first.
import { act, acting } from "./act.js";
import { get, post } from "./api.js";
import { el, faces } from "./dom.js";
import { complain } from "./page.js";
import { count } from "./words.js";

//: Faces of a strip.
const FACES = 6;
let waiting = []; // questions, the first is shown
let last = 0;
let shown = ""; // which question is drawn

const body = el("div", { class: "question" });
const root = el("section", { class: "view", tabindex: "-1", "aria-label": "Questions" }, body);

function strip(one) {
  return el("span", { class: "faces" }, faces(one.tracks, FACES));
}

function candidate(other, i) {
  return el("button", { type: "button", class: "candidate", "data-candidate": i, onclick: () => answer(i) },
    strip(other),
    el("span", { class: "who" }, el("kbd", { "aria-hidden": "true" }, String(i + 1)), " ",
      el("b", {}, other.title), " ", el("small", {}, count(other.n_tracks, "track"))));
}

function button(action, label, key, run, first = false) {
  return el("button", { type: "button", "data-action": action, class: first ? "first" : null, onclick: run },
    label, " ", el("kbd", { "aria-hidden": "true" }, key));
}

function answers(question, yes, no) {
  const settles = count(Math.max(1, Math.round(question.settles)), "track");
  return el("div", { class: "buttons answers" },
    button("yes", yes, "Y", () => answer(0), true),
    button("no", no, "N", () => answer(null)),
    button("skip", "Skip", "S", skip),
    el("p", { class: "quiet settles" }, `The answer settles about ${settles}.`));
}

function apart(question) {
  const [one, other] = [question.one, question.others[0]];
  return [
    el("h2", {}, "Same person?"),
    el("p", { class: "quiet" }, "Both are ", el("b", {}, one.title), " now."),
    el("div", { class: "sides" },
      el("figure", { class: "one" }, strip(one), el("figcaption", {}, count(one.n_tracks, "track"))),
      el("figure", { class: "one", "data-candidate": 0 }, strip(other), el("figcaption", {}, count(other.n_tracks, "track"))),
      answers(question, "One person", "Two people")),
  ];
}

function compare(question) {
  const [first, ...rest] = question.others.map(candidate);
  first.classList.add("largest");
  const several = rest.length > 0;
  return [
    el("h2", {}, "Same person?"),
    el("p", { class: "quiet" }, several ? "Choose who it is, if it is one of them." : "Are these one person?"),
    el("div", { class: "sides" },
      el("figure", { class: "one" }, strip(question.one),
        el("figcaption", {}, el("b", {}, question.one.title), " ", el("small", {}, count(question.one.n_tracks, "track")))),
      el("div", { class: "candidates" }, first, several ? el("div", { class: "others" }, rest) : null),
      answers(question, several ? `Same as ${question.others[0].title}` : "Same person", several ? "None of these" : "Different people")),
  ];
}

function draw() {
  const question = waiting[0];
  const now = question ? JSON.stringify([last, question]) : "none";
  if (now === shown) return;
  const had = document.activeElement?.closest?.(".question [data-action], .question [data-candidate]");
  const again = had && body.contains(had) ? had.dataset.action : null;
  shown = now;
  if (!question) {
    body.replaceChildren(
      el("h2", {}, "No questions are left"),
      el("p", {}, "castlist has nothing more to ask. Skipped questions come back when it is started again."),
      el("p", {}, el("a", { href: "#/" }, "See the cast.")));
    return;
  }
  body.replaceChildren(...(question.mixed ? apart(question) : compare(question)));
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

function answer(same) {
  const question = waiting[0];
  if (!question || (same !== null && same >= question.others.length)) return;
  const others = question.others.map((other) => other.tracks.map((track) => track.id));
  act({ kind: "answer", after: last, tracks: question.one.ids, others, same }, said(question, same));
}

function said(question, same) {
  if (question.mixed) return same === null ? "They are two characters now." : "They stay one character.";
  if (same === null) return "None of these.";
  return `${question.one.title} is the same person as ${question.others[same].title}.`;
}

async function skip() {
  const question = waiting[0];
  if (!question || acting()) return;
  waiting = waiting.slice(1);
  if (waiting.length) draw();
  try {
    await post("/api/actions", { kind: "skip", after: last, tracks: question.key });
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
    y: ["Y", "the same person as the first", () => answer(0)],
    n: ["N", "none of these, or two people", () => answer(null)],
    s: ["S", "skip", skip],
    ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((i) => [String(i), [String(i), `the same person as number ${i}`, () => answer(i - 1)]])),
  },
};
