// Dialogs. Each resolves to what the user chose, or to null if it was closed.
import { el, face } from "./dom.js";
import { clock, lasting } from "./words.js";

let fields = 0;

// Show a dialog; content is called with a function that closes it with a value.
export function show(title, content) {
  return new Promise((resolve) => {
    const had = document.activeElement;
    const heading = el("h2", { id: `dialog-${++fields}` }, title);
    const dialog = el("dialog", { "aria-labelledby": heading.id }, heading);
    let value = null;
    const close = (chosen) => {
      value = chosen;
      dialog.close();
    };
    dialog.append(...content(close));
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (had?.isConnected) had.focus({ preventScroll: true });
      resolve(value);
    });
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close(); // a click outside
    });
    document.body.append(dialog);
    dialog.showModal();
    dialog.scrollTop = 0; // the focus may be on a button at the end of a long list
  });
}

function buttons(...made) {
  return el("div", { class: "buttons" }, made);
}

function button(label, run, attributes = {}) {
  return el("button", { type: "button", onclick: run, ...attributes }, label);
}

// Offer several choices: [{ value, label, action, first }].
export function choose(title, text, choices) {
  return show(title, (close) => [
    ...[text].flat().map((part) => (typeof part === "string" ? el("p", {}, part) : part)),
    buttons(
      choices.map((choice) =>
        button(choice.label, () => close(choice.value), {
          class: choice.first ? "first" : null,
          autofocus: choice.first,
          "data-action": choice.action,
        }),
      ),
      button("Cancel", () => close(null), { autofocus: !choices.some((choice) => choice.first) }),
    ),
  ]);
}

// Ask for a name, with the known names as suggestions.
export function askName(title, text, value, known) {
  return show(title, (close) => {
    const list = el("datalist", { id: `known-${fields}` }, known.map((name) => el("option", { value: name })));
    const field = el("input", {
      type: "text", list: list.id, maxlength: 200, autocomplete: "off", autofocus: true, value,
      "aria-label": "Name", placeholder: "Name",
    });
    const given = (event) => {
      event.preventDefault();
      close(field.value.trim());
    };
    const form = el("form", { onsubmit: given },
      el("p", {}, text), field, list,
      buttons(
        el("button", { type: "submit", class: "first", "data-action": "ok" }, "Name"),
        button("Cancel", () => close(null)),
      ),
    );
    queueMicrotask(() => field.select());
    return [form];
  });
}

// Choose a character by typing a part of its title.
export function pickCharacter(title, characters) {
  return show(title, (close) => {
    const field = el("input", {
      type: "text", autocomplete: "off", autofocus: true, "aria-label": "Character", placeholder: "Title of a character",
    });
    const list = el("div", { class: "picks" });
    const found = () => {
      const typed = field.value.trim().toLocaleLowerCase();
      const match = characters.filter((one) => one.title.toLocaleLowerCase().includes(typed));
      const exact = (one) => one.title.toLocaleLowerCase() === typed;
      return match.sort((a, b) => exact(b) - exact(a)); // stable: by screen time otherwise
    };
    const draw = () => {
      const some = found();
      list.replaceChildren(
        ...some.slice(0, 60).map((one) =>
          el("button", { type: "button", "data-pick": one.number, "data-frames": true, onclick: () => close(one.number) },
            one.faces.length ? face(one.faces[0], 0, "") : el("span", { class: "nothing" }),
            el("span", {}, one.title), el("small", {}, lasting(one.seconds)),
          ),
        ),
      );
      if (!some.length) list.append(el("p", { class: "quiet" }, "No character has this title."));
    };
    field.addEventListener("input", draw);
    list.addEventListener("keydown", (event) => step(event, list, field));
    field.addEventListener("keydown", (event) => step(event, list, field));
    const given = (event) => {
      event.preventDefault();
      const first = found()[0];
      if (first && field.value.trim()) close(first.number);
    };
    draw();
    return [
      el("form", { onsubmit: given }, field, list, buttons(button("Cancel", () => close(null)))),
    ];
  });
}

function step(event, list, field) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const all = [field, ...list.querySelectorAll("button")];
  all[Math.min(Math.max(all.indexOf(document.activeElement) + by, 0), all.length - 1)].focus();
}

// Ask where to cut a track and which part stays: { at, keep }, or null. The track has picture_times.
export function askCut(title, track, at) {
  return show("Cut the track", (close) => {
    const field = el("input", {
      type: "number", step: "0.01", min: track.start, max: track.end, value: at.toFixed(2), autofocus: true,
      "aria-label": "Seconds",
    });
    const moments = track.picture_times.map((time, k) => [time, k]).sort((a, b) => a[0] - b[0])
      .map(([time, k]) => el("button", { type: "button", "data-moment": time, onclick: () => { field.value = time.toFixed(2); field.focus(); } },
        face({ id: track.id }, k, `The face at ${time.toFixed(2)} s`), ` ${time.toFixed(2)} s`));
    const cut = (keep) => () => field.reportValidity() && close({ at: Number(field.value), keep });
    const form = el("form", { onsubmit: (event) => { event.preventDefault(); cut("before")(); } },
      el("p", {}, `The track shows two people, one after the other. It lasts from ${track.start} to ${track.end} s. At which second does the second person begin?${moments.length > 1 ? " Type it, or choose the first face of the second person." : ""}`),
      moments.length > 1 ? el("div", { class: "moments" }, moments) : null,
      field, el("p", {}, `Which part is ${title}? The other part becomes a new character.`),
      buttons(
        el("button", { type: "submit", class: "first", "data-action": "before" }, "The first part"),
        button("The second part", cut("after"), { "data-action": "after" }),
        button("Cancel", () => close(null))));
    queueMicrotask(() => field.select());
    return [form];
  });
}

// Ask whether tracks that share a frame are one person all the same; true if so.
export function askWaiver({ pairs, seconds }) {
  const [one, other] = pairs[0];
  const more = pairs.length > 1 ? " They share other frames too." : "";
  return choose("These tracks share a frame", [
    `Both faces are visible at ${clock(seconds)}.${more} Two faces in one frame are two people, except in a mirror, a split screen or a photograph.`,
    el("div", { class: "pair" }, face({ id: one }, 0, "one face"), face({ id: other }, 0, "the other face")),
  ], [{ value: true, label: "They are one person", action: "waive" }]);
}

export function help(groups) {
  return show("Keys", (close) => [
    ...groups.map(([title, keys]) =>
      el("section", {}, el("h3", {}, title),
        el("dl", { class: "keys" }, keys.map(([names, what]) => [
          el("dt", {}, names.flatMap((name, i) => [i ? " " : "", el("kbd", {}, name)])),
          el("dd", {}, what),
        ])),
      ),
    ),
    buttons(button("Close", () => close(null), { autofocus: true })),
  ]);
}
