// Actions on the cast: send one, ask the user if the server needs more, and report the result.
import { post } from "./api.js";
import { askName, askWaiver, choose } from "./dialogs.js";
import { takeSelection } from "./grid.js";
import { complain, names, page, say } from "./page.js";
import { count, oneLine } from "./words.js";

export const CHANGED = "The cast was changed elsewhere";
let busy = false;

export function acting() {
  return busy;
}

// Send one action at a time, then refresh the view; returns whether the server accepted it.
// What was selected for it is deselected, so that the next action is about the next selection only.
export async function act(action, done = "") {
  if (busy) return false;
  busy = true; // until the view is refreshed: a quick second key would act on the old one
  const deselect = takeSelection();
  try {
    if (!(await send(action))) {
      say("Nothing was changed.");
      return false;
    }
    deselect();
    say(done);
    await page.refresh();
    return true;
  } catch (error) {
    if (error.kind === "ConflictError") {
      await page.refresh();
      say(`${CHANGED}. Check it and try again.`, true);
    } else {
      complain(error);
    }
    return false;
  } finally {
    busy = false;
  }
}

async function send(action) {
  try {
    await post("api/actions", action);
    return true;
  } catch (error) {
    if (error.kind === "OverlappingTracksError") {
      return (await askWaiver(error.body)) ? send({ ...action, waive: true }) : false;
    }
    if (error.status === 422 && action.kind === "merge" && action.name === undefined) {
      const name = await whichName(action.characters);
      if (name !== undefined) return name === null ? false : send({ ...action, name });
    }
    throw error;
  }
}

// Ask which name to keep; undefined if there are not two.
async function whichName(numbers) {
  const who = page.cast.characters.filter((one) => numbers.includes(one.number));
  const given = [...new Set(who.map((one) => one.name).filter(Boolean))];
  if (given.length < 2) return undefined;
  return choose("Which name do you want to keep?", "The merged character has one name.",
    given.map((name, i) => ({ value: name, label: name, action: "keep", first: i === 0 })));
}

// The first character keeps its number: a named one if there is any, else the one with the most screen time.
function ordered(numbers) {
  const who = page.cast.characters.filter((one) => numbers.includes(one.number));
  return [...who.filter((one) => one.name), ...who.filter((one) => !one.name)].map((one) => one.number);
}

export function merge(numbers, after, name) {
  return act({ kind: "merge", after, characters: ordered(numbers), name }, `Merged ${count(numbers.length, "character")}.`);
}

// Name one character; if another has the name, ask whether to merge them.
export async function rename(number, typed, after) {
  const name = oneLine(typed);
  const same = page.cast.characters.filter((one) => name && one.name === name && one.number !== number);
  if (same.length) {
    const chosen = await choose(`${name} is already in the cast`, "Are they one person?", [
      { value: "merge", label: "Merge them", action: "merge-them", first: true },
      { value: "keep", label: "Keep two people with this name", action: "keep" },
    ]);
    if (!chosen) return false;
    if (chosen === "merge") return merge([same[0].number, number], after, name);
  }
  return act({ kind: "name", after, characters: [number], name }, name ? `Named “${name}”.` : "The name was removed.");
}

// Ask for a name and set it; several characters are merged. Only the name of a single character is
// filled in: a name filled in for several would be given by pressing Enter.
export async function nameThem(numbers, after) {
  if (!numbers.length) return;
  const who = page.cast.characters.filter((one) => numbers.includes(one.number));
  const many = who.length > 1;
  const had = many ? "" : who[0].name;
  const text = many ? `These ${who.length} characters will be merged.` : "Leave it empty to remove the name.";
  const name = await askName(many ? "Name and merge" : `Name ${who[0].title}`, text, had, names());
  if (name === null) return;
  if (!many) await rename(numbers[0], name, after);
  else if (name) await merge(numbers, after, name);
  else say("No name was given.");
}

export function background(numbers, yes, after) {
  const done = `Marked ${count(numbers.length, "character")} as ${yes ? "" : "not "}background.`;
  return act({ kind: "background", after, characters: numbers, yes }, done);
}
