/* Says what an axis letter means where one points at it, or touches it; from
   the keyboard, the legend says the same: a hundred letters on a page are not
   a hundred stops. The legend stays folded for who has folded it. */
import { keep, recalled } from "./memory.mjs";

const legend = document.querySelector("details.axes");
const rows = new Map([...legend.querySelectorAll("[data-letter]")].map(
  row => [row.dataset.letter, row],
));
const tip = document.createElement("div");
tip.role = "tooltip";
tip.className = "axis-tip";
tip.hidden = true;
document.querySelector("main").append(tip);

/** Find the letter that one points at: in text, or in a figure, where it has
 *  the colour of its axis. */
function letterAt(target) {
  const part = target.closest?.(".axis, .figure text");
  const row = part && rows.get(part.textContent.trim());
  if (!row || legend.contains(part)) return null;
  if (part.matches(".axis")) return part;
  const { color } = getComputedStyle(row.querySelector("b"));
  return getComputedStyle(part).fill === color ? part : null;
}

/** Show what a letter means, right above it, or below where there is no
 *  room; the pointer can go there, and it stays. */
function show(part) {
  const { letter, means, size, code } = rows.get(part.textContent.trim())
    .dataset;
  const count = Number(size).toLocaleString("en");
  tip.textContent = `${letter}: ${means}; `
    + (code ? `${code} = ${count}` : count) + " in the running example";
  tip.hidden = false;
  const at = part.getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth - width - 8;
  const left = Math.max(8, Math.min(at.left + (at.width - width) / 2, room));
  const top = at.top < height ? at.bottom : at.top - height;
  Object.assign(tip.style, { left: `${left}px`, top: `${top}px` });
}

function hide() {
  tip.hidden = true;
}

function point({ target }) {
  if (tip.contains(target)) return;
  const part = letterAt(target);
  part ? show(part) : hide();
}

document.addEventListener("pointerover", event => {
  if (event.pointerType === "mouse") point(event);
});
document.addEventListener("click", point);
document.addEventListener("scroll", hide, { capture: true, passive: true });
document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") hide();
});

if (recalled("axes") === "folded") legend.open = false;
legend.addEventListener("toggle", () => keep("axes", legend.open ? "open" : "folded"));
