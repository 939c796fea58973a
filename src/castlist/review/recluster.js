// The dialog that clusters again: start it, see the changes, accept or discard them.
import { get, post } from "./api.js";
import { el, faces, more } from "./dom.js";
import { takeSelection } from "./grid.js";
import { complain, page, say } from "./page.js";
import { count, sentence } from "./words.js";
import { CHANGED } from "./act.js";

const EVERY = 500; // milliseconds
let dialog = null;
let polling = false;

export async function openRecluster() {
  if (dialog) return;
  const body = el("div", { class: "recluster" });
  const heading = el("h2", { id: "recluster-title" }, "Cluster again");
  dialog = el("dialog", { "aria-labelledby": heading.id, class: "wide" }, heading, body);
  dialog.body = body;
  dialog.addEventListener("close", () => {
    dialog.remove();
    dialog = null;
    page.refresh();
  });
  document.body.append(dialog);
  dialog.showModal();
  await poll();
}

// Poll until clustering is done. If the dialog was closed, only say that it is done.
async function poll() {
  if (polling) return;
  polling = true;
  try {
    for (;;) {
      const job = await get("api/recluster");
      if (dialog) draw(job);
      if (!job.running) {
        if (!dialog) say("Clustering is done. Open Re-cluster to see what would change.");
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY));
    }
  } catch (error) {
    fail(error);
  } finally {
    polling = false;
  }
}

function fail(error) {
  if (dialog) {
    fill(el("p", { class: "bad" }, sentence(error.message)), buttons(closing("Close")));
  } else {
    complain(error);
  }
}

// Replace the content of the dialog and focus its first button.
function fill(...content) {
  dialog.body.replaceChildren(...content);
  dialog.body.querySelector(".first, button").focus();
}

function buttons(...made) {
  return el("div", { class: "buttons" }, made);
}

function closing(label) {
  return el("button", { type: "button", onclick: () => dialog?.close() }, label);
}

function draw(job) {
  if (job.running) running(job);
  else if (job.error) beginning(job.error);
  else if (job.proposal) proposed(job.proposal);
  else beginning("");
}

function beginning(error) {
  fill(
    ...(error ? [el("p", { class: "bad" }, sentence(error))] : []),
    el("p", {}, "The tracks are clustered again, and all corrections are kept. Nothing changes until you accept the result."),
    buttons(
      el("button", { type: "button", class: "first", "data-action": "start", onclick: start }, "Start"),
      closing("Close")));
}

async function start() {
  try {
    await post("api/recluster");
  } catch (error) {
    fail(error);
    return;
  }
  await poll();
}

function running(job) {
  let bar = dialog.body.querySelector("progress");
  if (!bar) {
    bar = el("progress", { max: "1", "aria-label": "Progress" });
    fill(el("p", { class: "stage" }), bar, buttons(closing("Close")),
      el("p", { class: "quiet" }, "Clustering continues if you close this."));
  }
  dialog.body.querySelector(".stage").textContent = sentence(job.stage);
  bar.value = job.share;
}

function proposed(proposal) {
  const changes = proposal.changes.map((change) =>
    el("li", {},
      el("p", {}, el("b", {}, change.from), " → ", el("b", {}, change.to), " ", el("small", {}, count(change.n_tracks, "track"))),
      el("div", { class: "faces", "data-frames": true }, change.tracks.map((track) => faces([track], 1)), more(change))));
  if (!changes.length) {
    fill(el("p", {}, "Nothing would change."), buttons(closing("Close")));
    post("api/recluster/drop").catch(complain); // corrections may follow: the next time starts anew
    return;
  }
  fill(
    el("p", {}, changes.length === 1
      ? `${count(proposal.tracks, "track")} would move to another character.`
      : `${count(proposal.tracks, "track")} would move to another character, in ${changes.length.toLocaleString("en")} groups. All are listed, the largest first.`),
    proposal.given_up ? el("p", {}, proposal.given_up) : "",
    el("ul", { class: "changes", tabindex: "0", "aria-label": "Changes" }, changes),
    buttons(
      el("button", { type: "button", class: "first", "data-action": "accept", onclick: () => accept(proposal) }, "Accept"),
      el("button", { type: "button", "data-action": "drop", onclick: drop }, "Discard")));
}

async function accept(proposal) {
  try {
    await post("api/recluster/accept", { number: proposal.number });
    takeSelection()();
    dialog?.close();
    say("The new clustering was accepted. You can undo it.");
  } catch (error) {
    if (error.kind === "ConflictError") {
      await post("api/recluster/drop").catch(() => {});
      beginning(`${CHANGED}. This clustering does not include the change; start again.`);
    } else {
      fail(error);
    }
  }
}

async function drop() {
  await post("api/recluster/drop").catch(complain);
  dialog?.close();
}
