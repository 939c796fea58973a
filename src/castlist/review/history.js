// Everything that was said, the latest first, and what could not be found again.
import { get } from "./api.js";
import { el } from "./dom.js";
import { clock, count, sentence, when } from "./words.js";

const events = el("ol", { class: "events" });
const none = el("p", { class: "empty", hidden: true }, "Nothing was said yet.");
const lost = el("ul", { class: "events" });
const gone = el("section", { hidden: true },
  el("h2", {}, "Not found again"),
  el("p", { class: "quiet note" }, "This was said of tracks that the last scan did not find. It waits until they are found."),
  lost);
const root = el("section", { class: "view", tabindex: "-1", "aria-label": "History" },
  el("h2", {}, "What was said"), none, events, gone);

function line(event) {
  const about = ["undo", "redo"].includes(event.kind); // neither holds nor is undone itself
  const text = sentence(event.text);
  return el("li", { "data-event": event.number, class: about ? "aside" : event.holds ? null : "undone" },
    el("span", { class: "text" }, about || event.holds ? text : el("s", {}, text)),
    el("span", { class: "quiet" }, `${event.who ? `${event.who}, ` : ""}${when(event.at)}`));
}

function missing(event) {
  const times = event.tracks.filter((track) => track.time !== null).map((track) => clock(track.time));
  const at = times.length ? ` at ${times.slice(0, 8).join(", ")}${times.length > 8 ? " and later" : ""}` : "";
  return el("li", { "data-event": event.number },
    el("span", { class: "text" }, sentence(event.text)),
    el("span", { class: "quiet" }, `${count(event.tracks.length, "track")}${at}`));
}

export const history = {
  name: "history",
  root,
  title: () => "History",
  load: () => get("/api/history"),
  draw(data) {
    events.replaceChildren(...data.events.map(line));
    none.hidden = data.events.length > 0;
    lost.replaceChildren(...data.lost.map(missing));
    gone.hidden = data.lost.length === 0;
  },
  keys: {},
};
