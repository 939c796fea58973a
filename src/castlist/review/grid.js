// Cards in rows and columns: one has the focus, any number is selected. The focus is on the
// checkbox of a card, so that Space and screen readers work as usual.

export class Grid {
  // key: data attribute that names a card; open: called on Enter; changed: called with the number selected.
  constructor(root, key, { open, changed }) {
    this.root = root;
    this.key = key;
    this.open = open;
    this.changed = changed;
    this.selected = new Set();
    this.current = null; // the card that has, or last had, the focus
    this.index = 0; // its position
    this.anchor = null; // the first card of a range
    root.addEventListener("click", (event) => this.#click(event));
    root.addEventListener("dblclick", (event) => {
      if (!event.target.closest("a, button, input")) this.#with(event, (name) => this.open(name));
    });
    root.addEventListener("focusin", (event) => this.#with(event, (name) => this.#rove(name)));
    root.addEventListener("keydown", (event) => this.#press(event));
  }

  cards() {
    return [...this.root.querySelectorAll(".card:not([hidden])")];
  }

  name(card) {
    return card.dataset[this.key];
  }

  card(name) {
    return this.root.querySelector(`.card[data-${this.key}="${CSS.escape(name)}"]`);
  }

  // The cards that an action applies to: the selection, else the card with the focus.
  targets() {
    if (this.selected.size) {
      const all = [...this.root.querySelectorAll(".card")].map((card) => this.name(card));
      return all.filter((name) => this.selected.has(name));
    }
    const focused = document.activeElement?.closest?.(".card");
    return focused && this.root.contains(focused) ? [this.name(focused)] : [];
  }

  // After the cards changed: deselect those that are gone, and keep one card in the tab order.
  sync() {
    const lost = document.activeElement === document.body && this.held;
    const all = [...this.root.querySelectorAll(".card")];
    const there = new Set(all.map((card) => this.name(card)));
    for (const name of this.selected) if (!there.has(name)) this.selected.delete(name);
    const cards = this.cards();
    const gone = !cards.some((card) => this.name(card) === this.current);
    if (gone) {
      const next = cards[Math.min(this.index, cards.length - 1)];
      this.current = next ? this.name(next) : null;
      this.anchor = null;
    }
    for (const card of all) this.#mark(card);
    if (lost) this.focus();
    this.changed(this.selected.size);
  }

  get held() {
    return this.hadFocus === true;
  }

  focus(preventScroll = false) {
    const card = this.current === null ? this.cards()[0] : this.card(this.current);
    card?.querySelector(".pick").focus({ preventScroll });
    return Boolean(card);
  }

  select(names, on = true) {
    for (const name of names) {
      if (on) this.selected.add(name);
      else this.selected.delete(name);
      const card = this.card(name);
      if (card) this.#mark(card);
    }
    this.changed(this.selected.size);
  }

  clear() {
    this.select([...this.selected], false);
  }

  all() {
    this.select(this.cards().map((card) => this.name(card)));
  }

  #mark(card) {
    const name = this.name(card);
    const pick = card.querySelector(".pick");
    pick.checked = this.selected.has(name);
    pick.tabIndex = name === this.current ? 0 : -1;
    card.classList.toggle("selected", pick.checked);
  }

  #with(event, run) {
    const card = event.target.closest(".card");
    if (card) run(this.name(card));
  }

  #rove(name) {
    this.hadFocus = true;
    const before = this.current === null ? null : this.card(this.current);
    if (before) before.querySelector(".pick").tabIndex = -1;
    this.current = name;
    this.index = this.cards().findIndex((card) => this.name(card) === name);
    this.card(name).querySelector(".pick").tabIndex = 0;
  }

  #click(event) {
    if (event.target.closest("a, button")) return;
    this.#with(event, (name) => {
      const on = event.target.matches(".pick") ? event.target.checked : !this.selected.has(name);
      if (event.shiftKey && this.anchor !== null) {
        this.#range(name, true);
      } else {
        this.select([name], on);
        this.anchor = name;
      }
      if (!event.target.matches(".pick")) this.card(name).querySelector(".pick").focus({ preventScroll: true });
    });
  }

  #range(name, on) {
    const names = this.cards().map((card) => this.name(card));
    const [a, b] = [names.indexOf(this.anchor), names.indexOf(name)].sort((x, y) => x - y);
    this.select(names.slice(Math.max(a, 0), b + 1), on);
  }

  #press(event) {
    if (event.altKey || event.target.matches("input[type=text], input[type=search]")) return;
    const all = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "a";
    if (all) {
      this.all();
    } else if (event.ctrlKey || event.metaKey) {
      return;
    } else if (event.key === "Enter" && !event.target.closest("a, button")) {
      this.#with(event, (name) => this.open(name));
    } else if (event.key === "Escape" && this.selected.size) {
      this.clear();
    } else {
      const next = this.#next(event.key);
      if (!next) return;
      if (event.shiftKey && this.anchor === null) this.anchor = this.current;
      next.querySelector(".pick").focus();
      next.scrollIntoView({ block: "nearest" });
      if (event.shiftKey) this.#range(this.name(next), true);
      else this.anchor = null;
    }
    event.preventDefault();
  }

  #next(key) {
    const cards = this.cards();
    const at = cards.findIndex((card) => this.name(card) === this.current);
    if (key === "ArrowRight") return cards[at + 1];
    if (key === "ArrowLeft") return cards[at - 1];
    if (key === "Home") return cards[0];
    if (key === "End") return cards.at(-1);
    if (key !== "ArrowDown" && key !== "ArrowUp") return null;
    return nearestRow(cards, at, key === "ArrowDown" ? 1 : -1);
  }
}

// The nearest card in the row below or above.
function nearestRow(cards, at, by) {
  const from = cards[at]?.getBoundingClientRect();
  if (!from) return cards[0];
  let best = null;
  let row = null;
  for (let i = at + by; cards[i]; i += by) {
    const box = cards[i].getBoundingClientRect();
    if (Math.abs(box.top - from.top) < 2) continue; // the same row
    if (row !== null && Math.abs(box.top - row) > 2) break; // two rows away
    row = box.top;
    const away = Math.abs(box.left - from.left);
    if (!best || away < best.away) best = { away, card: cards[i] };
  }
  return best?.card;
}

addEventListener("focusin", (event) => {
  // sync() restores the focus only if a card had it.
  for (const grid of grids) grid.hadFocus = grid.root.contains(event.target);
});
const grids = new Set();

// Return a function that deselects what is selected now; what is selected later stays selected.
export function takeSelection() {
  const taken = [...grids].map((grid) => [grid, [...grid.selected]]);
  return () => taken.forEach(([grid, names]) => grid.select(names, false));
}

export function makeGrid(...options) {
  const grid = new Grid(...options);
  grids.add(grid);
  return grid;
}
