"use strict";
// Shows the time of an appearance on hover, on click and by the arrow keys.
for (const strip of document.querySelectorAll(".strip")) {
  const output = strip.parentElement.querySelector("output");
  const atRest = output.textContent;
  const rects = [...strip.querySelectorAll("rect")];
  let kept = -1; // the clicked appearance, shown while none is under the pointer

  const show = (index) => {
    strip.querySelector(".chosen")?.classList.remove("chosen");
    rects[index]?.classList.add("chosen");
    output.textContent = index < 0 ? atRest : rects[index].textContent;
    output.classList.toggle("chosen", index >= 0);
  };

  // The nearest appearance within 6 pixels: most are too narrow to point at.
  const nearest = (event) => {
    let found = -1;
    let least = 6;
    rects.forEach((rect, index) => {
      const box = rect.getBoundingClientRect();
      const away = Math.max(box.left - event.clientX, event.clientX - box.right, 0);
      if (away < least) [found, least] = [index, away];
    });
    return found;
  };

  strip.addEventListener("pointermove", (event) => {
    const index = nearest(event);
    show(index < 0 ? kept : index);
  });
  strip.addEventListener("pointerleave", () => show(kept));
  strip.addEventListener("click", (event) => show((kept = nearest(event))));

  strip.tabIndex = 0; // set here, as the strip does nothing without this script
  strip.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) kept = Math.min(Math.max(kept + step, 0), rects.length - 1);
    else if (event.key === "Home") kept = 0;
    else if (event.key === "End") kept = rects.length - 1;
    else if (event.key === "Escape") kept = -1;
    else return;
    event.preventDefault();
    show(kept);
  });
}

// Set here too, as there is no frame without this script.
for (const cover of document.querySelectorAll(".cover")) {
  cover.tabIndex = 0;
  cover.setAttribute("role", "button");
  cover.setAttribute("aria-label", `${cover.firstElementChild.alt}: show the whole frame`);
}

// Open all details for printing.
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
