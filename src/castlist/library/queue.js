// The queue of scans: what runs, what waits, in which order.
import { el } from "./dom.js";
import { labelOf, progressBar, showProgress } from "./items.js";
import { count } from "./words.js";

// change: called with an action and the items it applies to.
export function makeQueue(change) {
  const title = el("h2", {});
  const all = el("div", { class: "buttons" });
  const note = el("p", { class: "quiet", hidden: true });
  const list = el("ol", { class: "queue-list" });
  const root = el("section", { class: "queue", "aria-label": "Queue of scans", hidden: true },
    el("div", { class: "queue-top" }, title, all), note, list);

  const button = (label, action, items, name = "") =>
    el("button", { type: "button", "data-action": action, "aria-label": name ? `${name}: ${label}` : null, onclick: () => change(action, items) }, label);

  const row = (item, index, last) =>
    el("li", { "data-queued": item.key, "data-state": item.state },
      el("span", { class: "name", title: item.name }, item.name),
      item.state === "scanning" ? progressBar(item) : el("span", { class: "quiet" }, labelOf(item)),
      el("span", { class: "order" },
        named("↑", "earlier", item, "Earlier", index === 0 || item.state === "scanning"),
        named("↓", "later", item, "Later", last || item.state === "scanning")));

  const named = (text, action, item, label, disabled) =>
    el("button", { type: "button", "data-action": action, disabled, "aria-label": `${label}: ${item.name}`, title: label, onclick: () => change(action, [item]) }, text);

  return {
    root,
    draw(items) {
      const open = items.filter((item) => item.state !== "failed");
      const focused = document.activeElement;
      const had = list.contains(focused) && [focused.closest("li").dataset.queued, focused.dataset.action];
      root.hidden = !open.length;
      title.textContent = `${count(open.length, "scan")} in the queue`;
      const running = open.filter((item) => ["waiting", "scanning"].includes(item.state));
      const paused = open.filter((item) => item.state === "paused");
      all.replaceChildren(
        ...(running.length ? [button("Pause all", "pause", running)] : []),
        ...(paused.length ? [button("Resume all", "resume", paused)] : []));
      const stopped = paused.some((item) => item.reason);
      note.hidden = !stopped;
      note.textContent = "castlist was stopped before these scans were done. They resume where they were when you choose Resume.";
      list.replaceChildren(...open.map((item, index) => row(item, index, index === open.length - 1)));
      if (had) list.querySelector(`[data-queued="${had[0]}"] [data-action="${had[1]}"]`)?.focus();
    },
    progress(now) {
      showProgress(list.querySelector(`[data-queued="${now.key}"]`), now);
    },
  };
}
