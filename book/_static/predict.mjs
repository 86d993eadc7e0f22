/* Lets one type a shape where a question asks for one. Without this script,
   a question is a fold. */
import { check, written } from "./shapes.mjs";

const legend = document.querySelectorAll("details.axes [data-letter]");
const letters = new Map([...legend].map(({ dataset }) => [dataset.letter, {
  name: dataset.name, size: Number(dataset.size), code: dataset.code,
}]));

const FORM = `
<label>Your shape: <input name="shape" autocomplete="off" spellcheck="false"
  autocapitalize="characters" enterkeyhint="done"></label>
<button>Check</button>
<small>sizes or letters, in order</small>
<p role="status"></p>`;

/** Put a form between a question and its answer: the question leaves the
 *  line that opens the fold, so that it is read before the form. */
function ask(fold, number) {
  const summary = fold.querySelector("summary");
  const question = document.createElement("p");
  question.append(...summary.childNodes);
  summary.textContent = "The answer";
  const form = document.createElement("form");
  form.innerHTML = FORM;
  const hint = form.querySelector("small");
  hint.id = `shape-hint-${number}`;
  form.elements.shape.setAttribute("aria-describedby", hint.id);
  const box = document.createElement("div");
  box.className = "predict";
  fold.replaceWith(box);
  box.append(question, form, fold);
  form.addEventListener("submit", event => {
    event.preventDefault();
    answer(form, fold);
  });
}

/** Say what is right and what is not; what is right opens the fold. */
function answer(form, fold) {
  const measured = written(fold.dataset.shape);
  const said = check(form.elements.shape.value, measured, letters);
  if (said.verdict === "right") {
    fold.open = true;
    said.says += " The answer is open below.";
  }
  form.dataset.verdict = said.verdict;
  form.querySelector("[role=status]").textContent = said.says;
}

document.querySelectorAll("details.predict[data-shape]").forEach(ask);
// The blurred paragraph below a question opens the answer, too.
for (const text of document.querySelectorAll(".predict + p")) {
  const box = text.previousElementSibling;
  text.onclick = () => (box.querySelector("details") ?? box).open = true;
}
