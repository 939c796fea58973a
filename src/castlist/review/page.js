// What all views share: the cast as last seen, the status line, and a way to look again.
import { sentence } from "./words.js";

export const page = {
  cast: null, // of /api/cast
  last: -1, // number of the last event that is shown
  video: document.body.dataset.video === "yes",
  refresh: async () => {}, // set by main.js
};

const line = document.getElementById("status");
const STAYS = 10_000; // milliseconds; what went wrong stays until something else is said
let passing = 0;

export function say(text, bad = false) {
  clearTimeout(passing);
  line.textContent = sentence(text);
  line.classList.toggle("bad", bad);
  if (!bad) passing = setTimeout(() => (line.textContent = ""), STAYS);
}

// What went wrong in one view does not matter in another.
export function settle() {
  if (line.classList.contains("bad")) say("");
}

export function complain(error) {
  say(error.message, true);
  if (!("status" in error) && error.constructor === Error) console.error(error);
}

export function titleOf(number) {
  const one = page.cast?.characters.find((character) => character.number === number);
  return one ? one.title : `Character ${number}`;
}

// All names of the cast, each once.
export function names() {
  const given = (page.cast?.characters ?? []).map((one) => one.name).filter(Boolean);
  return [...new Set(given)].sort((a, b) => a.localeCompare(b));
}

export function dialogOpen() {
  return document.querySelector("dialog[open]") !== null;
}
