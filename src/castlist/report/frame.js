"use strict";
// Shows the whole frame around a face on hover, focus or touch. A face has data-frame (the address
// of the frame), data-box (of the face, in per cent) and data-caption.
{
  const [REST, FOCUSED] = [150, 400]; // milliseconds before the frame is shown, on hover and on focus
  const [APART, WIDEST] = [12, 440]; // pixels between a face and its frame; maximum width of a frame
  const figure = document.createElement("figure");
  const screen = document.createElement("div");
  const box = document.createElement("i");
  const caption = document.createElement("figcaption");
  figure.className = "frame";
  figure.setAttribute("aria-hidden", "true"); // the face has a label
  if ("popover" in figure) figure.popover = "manual"; // above dialogs
  figure.hidden = true;
  figure.append(screen, caption);
  document.body.append(figure);

  let shown = null; // the face whose frame is shown or loading
  let byFocus = false;
  let waiting = 0;
  let moved = -1e9; // when a key last moved the focus; a focus set by the page shows no frame

  const hide = () => {
    clearTimeout(waiting);
    if (!figure.hidden) figure.hidePopover?.();
    figure.hidden = true;
    shown?.removeAttribute("aria-expanded");
    shown = null;
  };

  // Place the frame on the side of the card with the most room, inside the window.
  const place = (face, image) => {
    const [wide, high] = [document.documentElement.clientWidth, innerHeight];
    const at = (face.closest("[data-frames]") ?? face).getBoundingClientRect();
    const shape = image.naturalWidth / image.naturalHeight;
    const rooms = [
      ["right", wide - at.right, high], ["left", at.left, high],
      ["below", wide, high - at.bottom], ["above", wide, at.top],
    ].map(([side, x, y]) => [side, Math.min(WIDEST, x - 2 * APART, (y - 2 * APART) * shape)]);
    const [side, width] = rooms.reduce((best, room) => (room[1] > best[1] ? room : best));
    const [w, h] = [Math.max(width, 120), Math.max(width, 120) / shape];
    const left = { right: at.right + APART, left: at.left - APART - w }[side] ?? at.left;
    const top = { below: at.bottom + APART, above: at.top - APART - h }[side] ?? at.top;
    const within = (value, size, room) => Math.max(APART, Math.min(value, room - size - APART));
    figure.style.left = `${within(left, w, wide)}px`;
    figure.style.top = `${within(top, h, high)}px`;
    screen.style.width = `${w}px`;
    screen.style.height = `${h}px`;
  };

  const show = (face, focus = false) => {
    if (face === shown) return;
    hide();
    shown = face;
    byFocus = focus;
    const image = new Image();
    image.alt = "";
    image.onload = () => {
      if (shown !== face || !face.isConnected) return;
      const [left, top, width, height] = (face.dataset.box ?? "").split(" ").map((n) => `${n}%`);
      Object.assign(box.style, { left, top, width, height });
      box.hidden = !height;
      screen.replaceChildren(image, box);
      caption.textContent = face.dataset.caption ?? "";
      place(face, image);
      figure.hidden = false;
      figure.showPopover?.();
      if (face.getAttribute("role") === "button") face.setAttribute("aria-expanded", "true");
    };
    image.src = face.dataset.frame;
  };

  const rest = (face, focus) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => face.isConnected && show(face, focus), focus ? FOCUSED : REST);
  };

  const faceAt = (element) => element?.closest?.("[data-frame]") ?? null;
  // The faces inside an element with the focus: a card, or a candidate of a question.
  const facesIn = (element) => [...(element?.closest?.("[data-frames]")?.querySelectorAll("[data-frame]") ?? [])];

  document.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const face = faceAt(event.target);
    if (face && face !== shown) rest(face, false);
    else if (!face && !byFocus) hide();
  });
  document.addEventListener("pointerout", (event) => {
    const gone = event.pointerType !== "touch" && !event.relatedTarget; // left the window
    if (gone && !byFocus) hide();
  });
  document.addEventListener("focusin", (event) => {
    if (!event.target.matches(":focus-visible") || performance.now() - moved > 100) return;
    const face = faceAt(event.target) ?? facesIn(event.target)[0];
    if (face) rest(face, true);
    else hide();
  });
  document.addEventListener("focusout", () => byFocus && hide());
  document.addEventListener("click", (event) => {
    if (!event.detail) return; // a key press
    const face = faceAt(event.target);
    if (face?.getAttribute("role") !== "button") hide();
    else if (face === shown && !figure.hidden && event.pointerType === "touch") hide();
    else show(face);
  });
  document.addEventListener("keydown", (event) => {
    if (/^(Tab|Arrow|Home|End)/.test(event.key)) moved = performance.now();
    const face = faceAt(event.target);
    if (event.key === "Escape" && !figure.hidden) {
      hide();
      event.preventDefault();
      event.stopPropagation(); // keep the selection
    } else if (face && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      if (face === shown) hide();
      else show(face, true);
    }
  }, true);
  // Show the next face inside the element with the focus.
  document.addEventListener("nextframe", () => {
    const faces = facesIn(document.activeElement);
    const at = figure.hidden ? -1 : faces.indexOf(shown);
    const next = faces.slice(at + 1).find((face) => at < 0 || face.dataset.frame !== shown.dataset.frame);
    clearTimeout(waiting);
    if (next) show(next, true);
    else hide();
  });
  // A frame that is not shown yet is kept: moving the focus scrolls the page.
  addEventListener("scroll", () => figure.hidden || hide(), { capture: true, passive: true });
  addEventListener("resize", hide);
  addEventListener("hashchange", hide);
}
