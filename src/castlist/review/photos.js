// A question from photos: is this character the person in the photo?
import { act, rename } from "./act.js";
import { post } from "./api.js";
import { el, face, nothing } from "./dom.js";
import { complain, page, say } from "./page.js";
import { count, lasting } from "./words.js";

const skipped = new Set(); // until the page is loaded again
let asked = { questions: [], people: 0, error: "", last: 0 };

const keyOf = (one) => `${one.number} ${one.person}`;
const waiting = () => asked.questions.filter((one) => !skipped.has(keyOf(one)));

function button(action, label, key, run, first = false) {
  return el("button", { type: "button", "data-action": action, class: first ? "first" : null, onclick: run },
    label, " ", el("kbd", { "aria-hidden": "true" }, key));
}

async function remove() {
  try {
    await post("api/photos/remove");
    say("The copies of the photos were removed from the cast folder.");
    await page.refresh();
  } catch (error) {
    complain(error);
  }
}

export const photos = {
  // Take what the server returned.
  take(data) {
    asked = data;
  },
  current: () => waiting()[0] ?? null,
  yes() {
    const one = photos.current();
    return rename(one.number, one.person, asked.last);
  },
  no() {
    const one = photos.current();
    return act({ kind: "not_named", after: asked.last, characters: [one.number], name: one.person },
      `${one.title} is not ${one.person}.`);
  },
  skip() {
    skipped.add(keyOf(photos.current()));
    return page.refresh();
  },
  question() {
    const one = photos.current();
    const left = waiting().length;
    return [
      el("h2", {}, `Is this ${one.person}?`),
      el("p", { class: "quiet" }, `The photo and the character look alike. ${left === 1 ? "This is the last question" : `There are ${left} questions`} from your photos.`),
      el("div", { class: "likeness", "data-frames": true },
        el("figure", {}, el("img", { src: `photos/${one.photo}`, alt: `Photo of ${one.person}`, width: 224, height: 224 }),
          el("figcaption", {}, "Your photo: ", el("b", {}, one.person))),
        el("figure", {}, el("div", { class: "faces" }, one.faces.length ? one.faces.map((track, i) => face(track, 0, i ? "" : one.title)) : [nothing()]),
          el("figcaption", {}, "In the video: ", el("a", { href: `#/character/${one.number}` }, one.title), ` ${lasting(one.seconds)}, ${count(one.n_tracks, "track")}`))),
      el("div", { class: "buttons answers" },
        button("yes", "Yes", "Y", photos.yes, true),
        button("no", "No", "N", photos.no),
        button("skip", "Skip", "S", photos.skip)),
    ];
  },
  // What remains to be said when there is no question: an error, or that copies are still there.
  rest() {
    const parts = asked.error ? [el("p", { class: "bad" }, asked.error)] : [];
    if (!asked.people) return parts;
    return [...parts, el("p", { class: "quiet" },
      `The cast folder has copies of photos of ${asked.people === 1 ? "one person" : `${asked.people} people`}. `,
      el("button", { type: "button", "data-action": "remove-photos", onclick: remove }, "Remove the photos"))];
  },
};
