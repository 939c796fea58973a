// Questions: up to nine doubts per question, those that settle the most tracks first.
import { act, acting } from "./act.js";
import { get, post } from "./api.js";
import { el, faces } from "./dom.js";
import { complain, say, settle } from "./page.js";
import { photos } from "./photos.js";
import { count } from "./words.js";

//: Number of faces in doubt, and of faces per candidate.
const [FACES, FEW] = [6, 4];
let waiting = []; // questions, the first is shown
let last = 0;
let shown = ""; // which question is drawn
let said = []; // per doubt: the index of the chosen candidate, NOBODY or SEVERAL
const [NOBODY, SEVERAL] = [-1, -2]; // none of the candidates; the tracks show several people

const body = el("div", { class: "question" });
const root = el("section", { class: "view", tabindex: "-1", "aria-label": "Questions" }, body);

function choice(i, k, ...shows) {
  return el("button", { type: "button", class: "choice", role: "radio", "data-choice": k, "data-frames": k >= 0, title: k === SEVERAL ? "They are then asked about in parts, and a single track is marked to be cut (M)" : null, onclick: () => choose(i, k) }, shows);
}

// Tracks in doubt and their candidates.
function doubt(one, i) {
  const who = [el("b", {}, one.inside ? `from ${one.title}` : one.title), " ", el("small", {}, count(one.n_tracks, "track"))];
  const now = (k) => (one.inside && k === 0 ? "stays in " : "");
  return el("div", { class: "doubt", role: "radiogroup", "aria-label": `Who is number ${i + 1}?`, "data-doubt": i },
    el("div", { class: "asked", "data-frames": true }, el("span", { class: "faces" }, faces(one.tracks, FACES)),
      el("span", { class: "who" }, el("kbd", { "aria-hidden": "true" }, String(i + 1)), " ", who)),
    one.ones.map((other, k) => choice(i, k,
      el("span", { class: "faces" }, faces(other.tracks, FEW)), el("span", { class: "name" }, now(k), el("b", {}, other.title)))),
    choice(i, NOBODY, one.ones.length > 1 ? "none of them" : "somebody else"),
    choice(i, SEVERAL, "several people in these pictures"));
}

function button(action, label, key, run, first = false) {
  return el("button", { type: "button", "data-action": action, class: first ? "first" : null, onclick: run },
    label, " ", el("kbd", { "aria-hidden": "true" }, key));
}

function compare(question) {
  const settles = count(Math.max(1, Math.round(question.settles)), "track");
  return [
    el("h2", {}, "Who is this?"),
    el("p", { class: "quiet" }, "Choose who each one is. If you change nothing, the tracks stay where they are."),
    el("div", { class: "doubts" }, question.doubts.map(doubt)),
    el("div", { class: "buttons answers" },
      button("done", "Answer", "↵", asChosen, true),
      button("yes", "First of each", "Y", () => all(0)),
      button("no", "None of them", "N", () => all(NOBODY)),
      button("skip", "Skip", "S", skip),
      el("p", { class: "quiet settles" }, `Your answer settles about ${settles}.`)),
  ];
}

function choose(i, k) {
  if (i >= said.length || acting()) return;
  said[i] = k;
  showChosen();
}

// Choose the next candidate, and after the last one NOBODY.
function next(i) {
  if (i >= said.length) return;
  const { length } = waiting[0].doubts[i].ones;
  choose(i, said[i] < NOBODY ? NOBODY : said[i] + 1 < length ? said[i] + 1 : NOBODY);
}

function all(k) {
  if (acting()) return;
  said = said.map(() => k);
  showChosen();
}

// Mark the doubt with the focus, or the only one, as showing several people.
function mixed() {
  const focused = document.activeElement?.closest?.(".doubt");
  if (!waiting[0] || acting() || photos.current()) return;
  if (focused && body.contains(focused)) choose(Number(focused.dataset.doubt), SEVERAL);
  else if (said.length === 1) choose(0, SEVERAL);
  else say("Press Tab to go to the tracks that show several people, then M.");
}

function showChosen() {
  for (const one of body.querySelectorAll(".doubt")) {
    const chosen = said[Number(one.dataset.doubt)];
    for (const button of one.querySelectorAll("[data-choice]")) {
      button.setAttribute("aria-checked", String(Number(button.dataset.choice) === chosen));
    }
  }
}

// Enter on another button presses that button.
function asChosen() {
  const focused = document.activeElement?.closest?.(".question button");
  if (focused && focused.dataset.action !== "done") focused.click();
  else answer();
}

function draw() {
  const photo = photos.current();
  const question = photo ? null : waiting[0];
  const now = JSON.stringify([photo || question ? last : 0, photo ?? question ?? "none"]);
  if (now === shown) return;
  const had = document.activeElement?.closest?.(".question [data-action]");
  const again = had && body.contains(had) ? had.dataset.action : null;
  shown = now;
  settle(); // an error of the last answer no longer matters
  if (photo) {
    said = [];
    body.replaceChildren(...photos.question());
    if (again) body.querySelector(`[data-action="${again}"]`)?.focus({ preventScroll: true });
    return;
  }
  if (!question) {
    body.replaceChildren(
      el("h2", {}, "No questions are left"),
      el("p", {}, "The remaining tracks are hardly ever wrong. Skipped questions come back when you start castlist review again."),
      el("p", {}, el("a", { href: "#/" }, "See the cast.")),
      ...photos.rest());
    return;
  }
  said = question.doubts.map((one) => (one.inside ? 0 : NOBODY));
  body.replaceChildren(...compare(question));
  showChosen();
  if (again) body.querySelector(`[data-action="${again}"]`)?.focus({ preventScroll: true });
  ahead(waiting[1]);
}

// Prefetch the faces of the next question.
function ahead(question) {
  for (const one of question?.doubts ?? []) {
    for (const image of [one, ...one.ones].flatMap((strip) => faces(strip.tracks, FEW))) {
      if (image.src) new Image().src = image.src;
    }
  }
}

// The answers to one doubt, for the server.
function answersTo(one, k) {
  const ones = one.ones.map((other) => other.ids);
  if (k === SEVERAL) return [{ tracks: ones[0], mixed: [one.ids] }];
  if (k >= 0 && !(one.inside && k > 0)) return [{ tracks: ones[k], same: [one.ids] }];
  const leaves = one.inside ? [{ tracks: ones[0], different: [one.ids], instead: [k > 0 ? ones[k] : null] }] : [];
  const others = one.inside ? ones.slice(1) : ones;
  return k === NOBODY && others.length ? [...leaves, { tracks: one.ids, different: others }] : leaves;
}

function answer() {
  const question = waiting[0];
  if (!question || photos.current()) return;
  const changed = question.doubts.filter((one, i) => said[i] !== (one.inside ? 0 : NOBODY)).length;
  const answers = question.doubts.flatMap((one, i) => answersTo(one, said[i]));
  act({ kind: "answer", after: last, answers }, `Changed ${changed} of ${question.doubts.length}.`);
}

async function skip() {
  if (photos.current()) return photos.skip();
  const question = waiting[0];
  if (!question || acting()) return;
  waiting = waiting.slice(1);
  if (waiting.length) draw();
  try {
    // For a part of a character, only the comparison with the rest of it is skipped.
    const answers = question.doubts.flatMap((one) => one.ones.slice(0, one.inside ? 1 : undefined)
      .map((other) => ({ tracks: other.ids, different: [one.ids] })));
    await post("api/actions", { kind: "skip", after: last, answers });
    if (waiting.length < 2) questions.draw(await questions.load());
  } catch (error) {
    complain(error);
  }
}

export const questions = {
  name: "questions",
  root,
  title: () => "Questions",
  async load() {
    const [asked, fromPhotos] = await Promise.all([get("api/questions?most=10"), get("api/photos")]);
    return { ...asked, photos: fromPhotos };
  },
  draw(data) {
    photos.take(data.photos);
    waiting = data.questions;
    last = data.last;
    draw();
  },
  keys: {
    Enter: ["Enter", "answer", asChosen],
    y: ["Y", "choose the first of each; yes, to a question from a photo", () => (photos.current() ? photos.yes() : all(0))],
    n: ["N", "choose none of them; no, to a question from a photo", () => (photos.current() ? photos.no() : all(NOBODY))],
    m: ["M", "mark the tracks with the focus as several people", mixed],
    s: ["S", "skip", skip],
    ...Object.fromEntries([...Array(9).keys()].map((i) => [String(i + 1), [String(i + 1), `choose the next candidate for number ${i + 1}`, () => next(i)]])),
  },
};
