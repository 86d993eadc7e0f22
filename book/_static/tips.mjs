/* Says what an axis letter or a word means where one points at it, touches it,
   or reaches it with the keyboard. A letter has no stop of its own: there are a
   hundred on a page, and the legend says the same. */
import { keep, recalled } from "./memory.mjs";

const legend = document.querySelector("details.axes");
const rows = new Map([...legend?.querySelectorAll("[data-letter]") ?? []].map(
  row => [row.dataset.letter, row],
));
const tip = document.createElement("div");
tip.role = "tooltip";
tip.id = tip.className = "axis-tip";
tip.hidden = true;
document.querySelector("main").append(tip);
let shown = null; // the part whose tip this is

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

/** Say what a part means: a word has its tip, a letter has its row. */
function meaning(part) {
  if (part.dataset.tip) return part.dataset.tip;
  const { letter, means, size, code } = rows.get(part.textContent.trim())
    .dataset;
  const count = Number(size).toLocaleString("en");
  return `${letter}: ${means}; `
    + (code ? `${code} = ${count}` : count) + " in the running example";
}

/** Show what a part means, right above it, or below where there is no room;
 *  the pointer can go there, and it stays. */
function show(part) {
  hide();
  shown = part;
  tip.textContent = meaning(part);
  tip.hidden = false;
  if (part.dataset.tip) part.setAttribute("aria-describedby", tip.id);
  const at = part.getClientRects()[0];
  const { width, height } = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth - width - 8;
  const left = Math.max(8, Math.min(at.left + (at.width - width) / 2, room));
  const top = at.top < height ? at.bottom : at.top - height;
  Object.assign(tip.style, { left: `${left}px`, top: `${top}px` });
}

function hide() {
  tip.hidden = true;
  shown?.removeAttribute("aria-describedby");
  shown = null;
}

function point({ target }) {
  if (tip.contains(target)) return;
  const part = target.closest?.("[data-tip]") ?? letterAt(target);
  part ? show(part) : hide();
}

document.addEventListener("pointerover", event => {
  if (event.pointerType === "mouse") point(event);
});
document.addEventListener("focusin", event => {
  if (event.target.matches(":focus-visible")) point(event);
});
// A finger asks first what a word means; the second time it follows the link.
document.addEventListener("click", event => {
  const word = event.target.closest?.("[data-tip]");
  if (word && event.pointerType === "mouse") return;
  if (word && word !== shown && event.pointerType) event.preventDefault();
  point(event);
});
document.addEventListener("scroll", hide, { capture: true, passive: true });
document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") hide();
});

if (recalled("axes") === "folded") legend?.removeAttribute("open");
legend?.addEventListener("toggle",
  () => keep("axes", legend.open ? "open" : "folded"));
