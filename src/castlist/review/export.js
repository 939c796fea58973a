// The Export view: choose a format and its options; the server writes the file beside the cast.
import { get, post } from "./api.js";
import { choose, pickCharacter } from "./dialogs.js";
import { el } from "./dom.js";
import { complain, page, say, titleOf } from "./page.js";
import { count, sentence } from "./words.js";

const EVERY = 500; // milliseconds
let formats = null; // from the server
let chosen = null; // the format
let polling = false;
const values = {}; // by option, kept when another format is chosen

const select = el("select", { id: "export-what", onchange: () => pick(select.value) });
const about = el("p", { class: "quiet note" });
const fields = el("div", { class: "fields" });
const file = el("input", { type: "text", id: "export-name", maxlength: 255, autocomplete: "off", spellcheck: "false" });
const suffix = el("select", { "aria-label": "Type of the file", onchange: retype });
const where = el("p", { class: "quiet note" });
const start = el("button", { type: "submit", class: "first", "data-action": "export" }, "Export");
const job = el("div", { class: "job", role: "status" });
const made = el("ul", { class: "events" });
const form = el("form", { class: "export", onsubmit: (event) => { event.preventDefault(); send(false); } },
  label("Format", select), about, fields,
  el("div", { class: "field" }, el("label", { for: file.id }, "File"), file, suffix), where,
  el("div", { class: "buttons" }, start));
const files = el("section", { hidden: true }, el("h2", {}, "Files"), made);
const root = el("section", { class: "view", tabindex: "-1", "aria-label": "Export" },
  el("h2", {}, "Export"), form, job, files);

function label(text, field, help = "") {
  return el("div", { class: "field" }, el("label", { for: field.id }, text), field, help ? el("small", {}, help) : null);
}

function pick(what) {
  chosen = formats.formats.find((one) => one.what === what);
  select.value = what;
  about.textContent = `${sentence(chosen.about)}.`;
  file.value = chosen.name;
  suffix.replaceChildren(...chosen.suffixes.map(([value, text]) => el("option", { value }, text)));
  suffix.hidden = chosen.suffixes.length < 2;
  where.textContent = chosen.folder
    ? `A folder with one file per video, in ${formats.home}.` : `The file is written to ${formats.home}.`;
  drawFields();
}

// Give the file name the suffix of the chosen type.
function retype() {
  const known = chosen.suffixes.map(([value]) => value).find((value) => file.value.toLowerCase().endsWith(value));
  file.value = (known ? file.value.slice(0, -known.length) : file.value) + suffix.value;
}

function drawFields() {
  fields.replaceChildren(...chosen.options.map((key) => {
    const option = formats.options[key];
    return { people, choice, check, seconds: number, rate: number }[option.type](option, key);
  }));
}

function number(option, key) {
  const field = el("input", {
    type: "number", id: `export-${key}`, step: "any", min: "0", max: option.type === "rate" ? "1000" : "3600",
    value: values[key] ?? "", placeholder: option.type === "rate" ? "" : "0",
    oninput: () => (values[key] = field.value === "" ? undefined : Number(field.value)),
  });
  return label(option.label, field, option.help);
}

function check(option, key) {
  const field = el("input", { type: "checkbox", id: `export-${key}`, onchange: () => (values[key] = field.checked) });
  field.checked = Boolean(values[key]);
  return label(option.label, field, option.help);
}

function choice(option, key) {
  const field = el("select", { id: `export-${key}`, onchange: () => (values[key] = option.choices[field.selectedIndex][0]) },
    option.choices.map(([, text]) => el("option", {}, text)));
  values[key] = option.choices.some(([value]) => value === values[key]) ? values[key] : option.choices[0][0];
  field.selectedIndex = option.choices.findIndex(([value]) => value === values[key]);
  return label(option.label, field, option.help);
}

function people(option, key) {
  values[key] = (values[key] ?? []).filter((one) => page.cast.characters.some((other) => other.number === one));
  const add = async () => {
    const left = page.cast.characters.filter((one) => !values[key].includes(one.number));
    const one = await pickCharacter(option.label, left);
    if (one === null) return;
    values[key].push(one);
    drawFields();
    fields.querySelector(`[data-add="${key}"]`).focus();
  };
  const drop = (one) => {
    values[key] = values[key].filter((other) => other !== one);
    drawFields();
    fields.querySelector(`[data-add="${key}"]`).focus();
  };
  return el("div", { class: "field", role: "group", "aria-label": option.label },
    el("span", { class: "label" }, option.label),
    el("span", { class: "chips" },
      values[key].map((one) => el("button", { type: "button", class: "chip", "aria-label": `Remove ${titleOf(one)}`, onclick: () => drop(one) }, titleOf(one), " ×")),
      el("button", { type: "button", "data-add": key, onclick: add }, "Add a person")),
    el("small", {}, option.help));
}

async function send(replace) {
  const given = Object.fromEntries(chosen.options.filter((key) => values[key] !== undefined)
    .map((key) => [formats.options[key].field ?? key, values[key]]));
  start.disabled = true;
  try {
    await post("api/export", { what: chosen.what, name: file.value.trim(), replace, ...given });
    await poll();
  } catch (error) {
    if (error.kind === "ExistsError") {
      const yes = await choose("Replace the file?", `${error.message}.`, [{ value: true, label: "Replace it", action: "replace" }]);
      if (yes) return await send(true);
    } else {
      failed(error.message);
    }
  } finally {
    start.disabled = false;
  }
}

function failed(text) {
  job.replaceChildren(el("p", { class: "bad" }, text)); // as it is: it may begin with a file name
  job.scrollIntoView({ block: "nearest" });
}

// Poll until the export is done, if one is running.
async function poll() {
  if (polling) return;
  polling = true;
  try {
    for (;;) {
      const now = await get("api/export");
      draw(now);
      if (!now.running) return;
      await new Promise((resolve) => setTimeout(resolve, EVERY));
    }
  } catch (error) {
    complain(error);
  } finally {
    polling = false;
  }
}

function draw(now) {
  start.disabled = now.running;
  if (now.running) {
    let bar = job.querySelector("progress");
    if (!bar) {
      bar = el("progress", { max: "1", "aria-label": "Progress" });
      job.replaceChildren(el("p", { class: "stage" }), bar, el("div", { class: "buttons" },
        el("button", { type: "button", "data-action": "cancel", onclick: () => post("api/export/cancel").catch(complain) }, "Cancel")));
    }
    job.querySelector(".stage").textContent = `${sentence(now.stage)} …`;
    bar.value = now.share;
  } else if (now.error) {
    failed(now.error);
  } else {
    job.replaceChildren();
  }
  files.hidden = !now.made.length;
  if (made.children.length !== now.made.length) {
    if (made.children.length < now.made.length && made.isConnected && job.dataset.seen) {
      say(`Wrote ${now.made[0].files.length === 1 ? now.made[0].files[0] : count(now.made[0].files.length, "file")}.`);
    }
    made.replaceChildren(...now.made.map((one) =>
      el("li", {}, el("span", { class: "text" }, one.files.map((name, k) =>
        [k ? ", " : "", el("a", { href: `exports/${one.number}/${k}`, download: name.split("/").at(-1) }, name)])),
      one.notes.map((text) => el("p", { class: "quiet wide" }, text)))));
  }
  job.dataset.seen = "yes";
}

export const exports = {
  name: "export",
  root,
  title: () => "Export",
  load: () => get("api/export/formats"),
  draw(data) {
    formats = data;
    if (!select.children.length) {
      const groups = [...new Set(data.formats.map((one) => one.group))];
      select.replaceChildren(...groups.map((group) => el("optgroup", { label: group },
        data.formats.filter((one) => one.group === group).map((one) => el("option", { value: one.what }, one.title)))));
      pick(data.formats[0].what);
    }
    poll();
  },
  keys: {},
};
