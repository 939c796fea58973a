// Tracks that were marked as not a face, and how to restore them.
import { act } from "./act.js";
import { get } from "./api.js";
import { makeBar } from "./bar.js";
import { el } from "./dom.js";
import { makeGrid } from "./grid.js";
import { say } from "./page.js";
import { placeTracks, trackCards } from "./tracks.js";
import { count } from "./words.js";

let last = 0;
const list = el("ul", { class: "cards tracks" });
const none = el("p", { class: "empty", hidden: true }, "No track is marked as not a face.");
const grid = makeGrid(list, "track", { open: (track) => grid.select([track], !grid.selected.has(track)), changed: (n) => bar.draw(n) });
const bar = makeBar("track", [["face", "Mark as a face", "F", restore]], () => grid.clear());
const root = el("section", { class: "view", tabindex: "-1", "aria-label": "Not faces" },
  el("h2", {}, "Not faces"),
  el("p", { class: "quiet note" }, "These tracks were marked as not a face. They belong to no character."),
  none, list, bar.root);
const kept = trackCards(null);

function restore() {
  const tracks = grid.targets();
  if (!tracks.length) return say("Select a track first.");
  return act({ kind: "not_face", after: last, tracks, yes: false }, `Marked ${count(tracks.length, "track")} as faces again.`);
}

export const notFaces = {
  name: "not-faces",
  root,
  grid,
  title: () => "Not faces",
  load: () => get("api/not-faces"),
  draw(data) {
    last = data.last;
    placeTracks(list, kept, data.all);
    none.hidden = data.all.length > 0;
    grid.sync();
  },
  keys: { f: ["F", "mark the selection as faces again", restore] },
  alsoKeys: [
    [["←", "→", "↑", "↓"], "move between tracks; with Shift, select"],
    [["Space"], "select"],
  ],
};
