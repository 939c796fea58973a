// Keys: those of every page, and those of the view that is shown.
import { help } from "./dialogs.js";
import { dialogOpen } from "./page.js";

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

function typing(target) {
  return target.matches?.("textarea, select, [contenteditable], input:not([type=checkbox])");
}

// view: gives the view that is shown; everywhere: { key: [shown, what, run] }; undo and redo.
export function listen(view, everywhere, undo, redo) {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || dialogOpen() || typing(event.target)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    let run = null;
    if ((event.ctrlKey || event.metaKey) && !event.altKey) {
      if (key === "z") run = event.shiftKey ? redo : undo;
      else if (key === "y") run = redo;
    } else if (!event.altKey) {
      run = (view().keys[key] ?? everywhere[key])?.[2];
      if (!run) run = toGrid(event, view());
    }
    if (!run || (event.repeat && !ARROWS.includes(event.key))) return;
    event.preventDefault();
    run();
  });
}

// An arrow brings the focus to the cards; Escape gives up what is selected.
function toGrid(event, view) {
  if (!view.grid) return null;
  const outside = document.activeElement === document.body || document.activeElement === view.root;
  if (outside && ARROWS.includes(event.key)) return () => view.grid.focus();
  if (event.key === "Escape" && view.grid.selected.size) return () => view.grid.clear();
  return null;
}

export function showKeys(view, everywhere) {
  const told = (keys) => Object.values(keys).map(([name, what]) => [[name], what]);
  const here = [...told(view.keys), ...(view.alsoKeys ?? [])];
  const always = [...told(everywhere), [["Ctrl+Z"], "undo"], [["Ctrl+Shift+Z"], "redo"], [["Esc"], "close a dialog"]];
  return help([...(here.length ? [[view.title(), here]] : []), ["Everywhere", always]]);
}
