// Keyboard shortcuts: those of all views, and those of the current view.
import { help } from "./dialogs.js";
import { dialogOpen } from "./page.js";

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];

function typing(target) {
  return target.matches?.("textarea, select, [contenteditable], input:not([type=checkbox])");
}

// view: returns the current view; everywhere: { key: [label, description, run] }.
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

// An arrow key moves the focus to the cards; Escape clears the selection.
function toGrid(event, view) {
  if (!view.grid) return null;
  const outside = document.activeElement === document.body || document.activeElement === view.root;
  if (outside && ARROWS.includes(event.key)) return () => view.grid.focus();
  if (event.key === "Escape" && view.grid.selected.size) return () => view.grid.clear();
  return null;
}

export function showKeys(view, everywhere) {
  const listed = (keys) => Object.values(keys).map(([name, what]) => [[name], what]);
  const here = [...listed(view.keys), ...(view.alsoKeys ?? [])];
  const always = [...listed(everywhere), [["Ctrl+Z"], "undo"], [["Ctrl+Shift+Z"], "redo"], [["Esc"], "close a dialog"]];
  return help([...(here.length ? [[view.title(), here]] : []), ["Everywhere", always]]);
}
