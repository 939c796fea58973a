// Saying something about the cast: what is sent, what the server may ask back, what is told.
import { post } from "./api.js";
import { askName, askWaiver, choose } from "./dialogs.js";
import { complain, names, page, say } from "./page.js";
import { count, oneLine } from "./words.js";

export const CHANGED = "The cast was changed elsewhere; look again";
let busy = false;

export function acting() {
  return busy;
}

// Do one thing at a time; true if the server took it. The view is then shown anew.
export async function act(action, told = "") {
  if (busy) return false;
  busy = true; // until the view is shown anew: a quick second key would answer the old one
  try {
    if (!(await send(action))) {
      say("Nothing was changed.");
      return false;
    }
    say(told);
    await page.refresh();
    return true;
  } catch (error) {
    if (error.kind === "ConflictError") {
      await page.refresh();
      say(CHANGED, true);
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
    await post("/api/actions", action);
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

// Which of their names to keep; undefined if there is no choice.
async function whichName(numbers) {
  const who = page.cast.characters.filter((one) => numbers.includes(one.number));
  const given = [...new Set(who.map((one) => one.name).filter(Boolean))];
  if (given.length < 2) return undefined;
  return choose("Which name to keep?", "They become one character, and it has one name.",
    given.map((name, i) => ({ value: name, label: name, action: "keep", first: i === 0 })));
}

// The first keeps its number: one with a name if there is any, else who is longest on screen.
function ordered(numbers) {
  const who = page.cast.characters.filter((one) => numbers.includes(one.number));
  return [...who.filter((one) => one.name), ...who.filter((one) => !one.name)].map((one) => one.number);
}

export function merge(numbers, after, name) {
  const told = `Merged ${count(numbers.length, "character")}.`;
  return act({ kind: "merge", after, characters: ordered(numbers), name }, told);
}

// Name one character; whoever has the name already may be the same person.
export async function rename(number, typed, after) {
  const name = oneLine(typed);
  const same = page.cast.characters.filter((one) => name && one.name === name && one.number !== number);
  if (same.length) {
    const chosen = await choose(`${name} is in the cast already`, "Are they one person?", [
      { value: "merge", label: "Merge them", action: "merge-them", first: true },
      { value: "keep", label: "Two people of one name", action: "keep" },
    ]);
    if (!chosen) return false;
    if (chosen === "merge") return merge([same[0].number, number], after, name);
  }
  const told = name ? `Named “${name}”.` : "The name was taken away.";
  return act({ kind: "name", after, characters: [number], name }, told);
}

// Ask for a name and give it; several characters become one.
export async function nameThem(numbers, after) {
  if (!numbers.length) return;
  const who = page.cast.characters.filter((one) => numbers.includes(one.number));
  const many = who.length > 1;
  const had = who.find((one) => one.name)?.name ?? "";
  const text = many ? `These ${who.length} characters become one.` : "Leave it empty to take the name away.";
  const name = await askName(many ? "Name and merge" : `Name ${who[0].title}`, text, had, names());
  if (name === null) return;
  if (!many) await rename(numbers[0], name, after);
  else if (name) await merge(numbers, after, name);
  else say("No name was given.");
}

export function background(numbers, yes, after) {
  const told = `Marked ${count(numbers.length, "character")} as ${yes ? "" : "not "}background.`;
  return act({ kind: "background", after, characters: numbers, yes }, told);
}
