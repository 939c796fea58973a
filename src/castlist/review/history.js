// All corrections, the latest first, and those whose tracks are lost.
import { act } from "./act.js";
import { get } from "./api.js";
import { el, face, faces, more } from "./dom.js";
import { clock, count, sentence, when } from "./words.js";

let last = 0;
const events = el("ol", { class: "events" });
const none = el("p", { class: "empty", hidden: true }, "No corrections yet.");
const lost = el("ul", { class: "events" });
const gone = el("section", { hidden: true },
  el("h2", {}, "Lost tracks"),
  el("p", { class: "quiet note" }, "These corrections are about tracks that the last scan did not find, or that show another face now. They do not apply until the tracks are found."),
  lost);
const root = el("section", { class: "view", tabindex: "-1", "aria-label": "History" },
  el("h2", {}, "Corrections"), none, events, gone);

function line(event) {
  const about = ["undo", "redo"].includes(event.kind); // these cannot be undone themselves
  const text = sentence(event.text);
  return el("li", { "data-event": event.number, class: about ? "aside" : event.holds ? null : "undone" },
    el("span", { class: "text" }, about || event.holds ? text : el("s", {}, text)),
    el("span", { class: "quiet" }, `${event.who ? `${event.who}, ` : ""}${when(event.at)}`),
    event.about.length && !event.moves.length ? concerned(event.about) : null,
    event.moves.map(moved));
}

// The characters that an event named or marked.
function concerned(about) {
  return el("div", { class: "move", "data-frames": true },
    el("div", { class: "faces" }, about.flatMap((one) => one.faces.map((track) => face(track, 0, one.title)))));
}

const MOST = 6; // times that are listed

// The tracks that an event moved from one character to another.
function moved(move) {
  return el("div", { class: "move", "data-frames": true },
    el("p", {}, el("b", {}, move.from), " → ", el("b", {}, move.to), " ",
      el("small", {}, `${count(move.n_tracks, "track")}, at ${move.tracks.slice(0, MOST).map((track) => clock(track.start)).join(", ")}${move.n_tracks > MOST ? " …" : ""}`)),
    el("div", { class: "faces" }, move.tracks.map((track) => faces([track], 1)), more(move)));
}

function missing(track) {
  const at = track.time === null ? "" : ` at ${clock(track.time)}`;
  return el("li", { "data-anchor": track.number },
    el("span", { class: "text" }, sentence(track.text)),
    el("span", { class: "quiet" }, `${track.partly ? "a part of " : ""}track ${track.track}${at}${track.there.length ? ": shows another face now" : ""}`),
    track.there.map((there) =>
      el("div", { class: "move", "data-frames": true }, el("div", { class: "faces" }, faces([there], 3)),
        el("button", { type: "button", "data-action": "found", onclick: () => found(track, there) }, "It is the same track"))));
}

function found(track, there) {
  return act({ kind: "found", after: last, anchor: track.number, tracks: [there.id] }, "The correction applies to this track.");
}

export const history = {
  name: "history",
  root,
  title: () => "History",
  load: () => get("api/history"),
  draw(data) {
    last = data.last;
    events.replaceChildren(...data.events.map(line));
    none.hidden = data.events.length > 0;
    lost.replaceChildren(...data.lost.map(missing));
    gone.hidden = data.lost.length === 0;
  },
  keys: {},
};
