// Cards of tracks.
import { el, faces, Kept, keepingFocus, place } from "./dom.js";
import { between } from "./words.js";

//: Maximum number of faces per track.
const FACES = 5;

// Cards by track. play is called with a track id; null if there is no video.
export function trackCards(play) {
  return new Kept(
    (track) => {
      const time = between(track.start, track.end);
      return el("li", { class: "card track", "data-track": track.id, "data-frames": true },
        el("div", { class: "head" },
          el("input", { type: "checkbox", class: "pick", tabindex: "-1", "aria-label": `Track at ${time}` }),
          el("span", { class: "time" }, time),
          el("span", { class: "fit", title: "Probability that the track belongs to this character, from its faces" }),
          el("span", { class: "mixed", title: "Shows several people: cut it (K)" }),
          play
            ? el("button", {
                type: "button", class: "play", tabindex: "-1", "data-action": "play",
                "aria-label": `Play at ${time}`, title: "Play (P)", onclick: () => play(track.id),
              }, "▶")
            : null),
        el("div", { class: "faces" }, faces([track], FACES)),
        track.video ? el("span", { class: "film", title: track.video }, track.video) : null);
    },
    (card, track) => {
      card.querySelector(".mixed").textContent = track.mixed ? "mixed" : "";
      card.classList.toggle("pinned", Boolean(track.pinned));
      card.querySelector(".fit").textContent = track.sure < 0.95 ? `${Math.round(100 * track.sure)} % sure` : "";
    },
  );
}

// Show tracks in a list. data-most sets the width of the cards.
export function placeTracks(list, kept, tracks) {
  list.dataset.most = Math.min(FACES, Math.max(1, ...tracks.map((track) => track.pictures)));
  keepingFocus(() => place(list, kept.of(tracks, (track) => track.id)));
}
