// State that all views share: the current cast, the status line, and a function to refresh.
import { sentence } from "./words.js";

export const page = {
  cast: null, // from /api/cast
  last: -1, // number of the last event that is shown
  video: document.body.dataset.video === "yes",
  refresh: async () => {}, // set by main.js
};

const line = document.getElementById("status");
const STAYS = 10_000; // milliseconds; an error stays until the next message
let passing = 0;

export function say(text, bad = false) {
  clearTimeout(passing);
  line.textContent = sentence(text);
  line.classList.toggle("bad", bad);
  if (!bad) passing = setTimeout(() => (line.textContent = ""), STAYS);
}

// Clear an error: it does not matter in another view.
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

// All names in the cast, sorted, without duplicates.
export function names() {
  const given = (page.cast?.characters ?? []).map((one) => one.name).filter(Boolean);
  return [...new Set(given)].sort((a, b) => a.localeCompare(b));
}

export function dialogOpen() {
  return document.querySelector("dialog[open]") !== null;
}
