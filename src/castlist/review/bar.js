// The toolbar of actions on the selection.
import { el } from "./dom.js";
import { count } from "./words.js";

// buttons: [[action, label, key, run]]; the bar is visible while something is selected.
export function makeBar(what, buttons, clear) {
  const number = el("b", {});
  const hint = el("span", { class: "quiet" });
  const made = new Map(
    buttons.map(([action, label, key, run]) => [
      action,
      el("button", { type: "button", "data-action": action, title: `${label} (${key})`, onclick: run },
        label, " ", el("kbd", { "aria-hidden": "true" }, key)),
    ]),
  );
  const root = el("div", { class: "actions", role: "toolbar", "aria-label": "Actions on the selection", hidden: true },
    el("p", {}, number, " ", hint),
    el("div", {}, [...made.values()],
      el("button", { type: "button", "data-action": "clear", onclick: clear }, "Clear ", el("kbd", { "aria-hidden": "true" }, "Esc"))),
  );
  return {
    root,
    buttons: made,
    draw(selected, note = "") {
      root.hidden = selected === 0;
      number.textContent = `${count(selected, what)} selected`;
      hint.textContent = note;
    },
  };
}
