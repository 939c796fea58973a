// Dialogs of the library. Each resolves to what the user chose, or to null if it was closed.
import { choose, show } from "./dialogs.js";
import { el } from "./dom.js";
import { count } from "./words.js";

function buttons(label, close) {
  return el("div", { class: "buttons" },
    el("button", { type: "submit", class: "first", "data-action": "ok" }, label),
    el("button", { type: "button", onclick: () => close(null) }, "Cancel"));
}

function numberField(label, hint, attributes) {
  const field = el("input", { type: "number", step: 1, autocomplete: "off", ...attributes });
  return [field, el("label", { class: "field" }, el("span", {}, label), field, el("small", {}, hint))];
}

function checkField(label, hint) {
  const field = el("input", { type: "checkbox" });
  return [field, el("label", { class: "field check-field" }, field, el("span", {}, label), el("small", {}, hint))];
}

// Ask for the options of a scan, as the API takes them.
export function askScan(videos) {
  const title = videos.length === 1 ? `Scan ${videos[0].name}` : `Scan ${count(videos.length, "video")}`;
  return show(title, (close) => {
    const [characters, people] = numberField("Number of characters", "Leave empty if you do not know it.", { min: 1, max: 100000, autofocus: true });
    const [fast, pace] = checkField("Fast", "About 1.6 times as fast, with more to correct afterwards.");
    const [face, smallest] = numberField("Smallest face, in pixels", "Smaller faces are left out.", { min: 1, max: 10000, value: 15, required: true });
    const [look, width] = numberField("Width of searched frames, in pixels", "A larger width finds smaller faces and takes longer. Leave empty for the default.", { min: 64, max: 16384 });
    const [replace, other] = checkField("Replace the cast of another video", "If the cast folder holds another video of the same name. Its corrections are kept in a dated file.");
    const given = (event) => {
      event.preventDefault();
      const number = (field) => (field.value === "" ? null : Number(field.value));
      close({
        characters: number(characters), fast: fast.checked, min_face: number(face), look_width: number(look),
        replace: replace.checked,
      });
    };
    return [el("form", { onsubmit: given },
      people, pace, el("details", {}, el("summary", {}, "More options"), smallest, width, other),
      buttons("Scan", close))];
  });
}

// Ask for the name of a new series, or whether to add casts to one.
export function askJoin(casts, series) {
  if (series) {
    return choose(`Add to ${series.name}`, `${count(casts.length, "cast")} will be added. Existing characters stay as they are.`,
      [{ value: series.name, label: "Add", action: "ok", first: true }]);
  }
  return show(`Join ${count(casts.length, "cast")}`, (close) => {
    const field = el("input", { type: "text", maxlength: 200, required: true, autocomplete: "off", autofocus: true, "aria-label": "Name of the series", placeholder: "Name, such as season1" });
    const given = (event) => {
      event.preventDefault();
      close(field.value.trim());
    };
    return [el("form", { onsubmit: given },
      el("p", {}, "The same people are found in all of these videos. Names and corrections are carried over."),
      field, buttons("Join", close))];
  });
}

// Ask before work is thrown away; true if it is to be.
export function confirmCancel(items) {
  const begun = items.filter((item) => ["scanning", "paused"].includes(item.state));
  if (!begun.length) return true;
  const what = items.length === 1 ? `the scan of ${items[0].name}` : `${count(items.length, "scan")}`;
  return choose(`Cancel ${what}?`, "What was scanned so far is removed. To keep it, pause the scan instead.",
    [{ value: true, label: "Cancel the scan", action: "ok" }]);
}
