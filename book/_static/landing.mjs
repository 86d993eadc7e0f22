/* The translator on the first page: two change places, and what they are to each
 * other is seen in the colours and in the endings. The address has the sentence. */
import { element, partsOf } from "./elements.mjs";
import { fitting, turnRound } from "./sentences.mjs";
import { Alignment, exchangeable, inNepali, joined, split } from "./alignment.mjs";
import { follow } from "./address.mjs";
import { Engine } from "./client.mjs";

const DONE = { saw: "seen", knew: "known", met: "met", called: "called", bit: "bitten" };
const { first, grammar, glosses, sounds } = translator;
const [OWN] = Object.keys(first);
const page = partsOf(":is(#landing, .ways)");
const alignment = new Alignment(page, 0.08, 900);
const engine = new Engine();
const stateOf = (typed) => `#${new URLSearchParams({ s: joined(typed) })}`;
const change = (typed) => { location.hash = stateOf(typed); };
let [wanted, stands] = ["", OWN]; // what was asked for last; what is seen

/** Show the sentence of an address, and say it; the stored ones need no engine. */
async function takeUp({ s = OWN }) {
  const typed = split(s), sentence = wanted = joined(typed);
  const [front, one, verb, other] = turnRound(grammar, typed)?.parts ?? [];
  const found = front?.length !== 0 || !(verb in DONE)
    ? { error: { message: `Nobody can change places in “${s.slice(0, 60)}”.` } }
    : first[sentence] ?? await engine.ask({ do: "translate", text: myTransformer, sentence });
  if (wanted !== sentence) return;
  page.error.textContent = found.error ? `${found.error.message} Shown: ${stands}` : "";
  if (found.error || sentence === stands) return;
  stands = sentence;
  show(typed, found);
  page.said.replaceChildren(`${sentence} → `, inNepali(found.translation),
    ` Who ${verb.join(" ")}: ${one.join(" ")}. Who was ${DONE[verb]}: ${other.join(" ")}.`);
}

/** Show a sentence of who did what to whom, and its translation. */
function show(typed, found) {
  const { parts: [, one, verb, other], turned } = turnRound(grammar, typed);
  const read = typed.slice(0, -1).map((word, place) => {
    const others = fitting(grammar, typed, place).filter((known) =>
      known !== word && turnRound(grammar, typed.with(place, known)));
    const shown = exchangeable(typed, place, others, change);
    const before = (role) => place < one.length + (role === "who" ? 0 : verb.length);
    shown.className = ["who", "did"].find(before) ?? "whom";
    return shown;
  });
  const words = found.written.filter((word) => word in glosses);
  const shown = words.map((word, t) => inRole(word, roleOf(words.slice(t)), { who: one, did: verb, whom: other }));
  const heads = found.attentions.at(-1).weights;
  const share = (t, s) => heads.reduce((sum, head) => sum + head[t][s + 1], 0) / heads.length;
  alignment.show(read, shown, share); // [SOS] is left out
  page.one.textContent = one.join(" ");
  page.other.textContent = other.join(" ");
  page.did.textContent = verb.join(" ");
  page.done.textContent = DONE[verb];
  page.swap.onclick = () => change(turned);
  page.play.href = `play.html${stateOf(typed)}`;
}

/** Tell what the first of some Nepali words belongs to, by the next ending. */
function roleOf(words) {
  const ending = words.join(" ").match(/(ले|लाई)( |$)/)?.[1];
  return { ले: "who", लाई: "whom" }[ending] ?? "did";
}

/** Write a Nepali word with how it is said, and what it says of whom. */
function inRole(word, role, { who, did, whom }) {
  const shown = element("span");
  const plain = glosses[word].replace(" (object)", "").replace(/^(i|hari|ram)$/, (name) =>
    name[0].toUpperCase() + name.slice(1));
  const the = (role === "who" ? who : whom).includes("the") ? "the " : "";
  const was = /^(us|you|them)$/.test(plain) ? "were" : "was";
  const says = { who: `, who ${did}`, whom: `, who ${was} ${DONE[did]}` }[role];
  const gloss = /(ले|लाई)$/.test(word) ? the + plain + says : plain;
  shown.className = role;
  shown.append(inNepali(word), element("i", sounds[word]), element("small", gloss));
  return shown;
}

document.querySelector("#landing").classList.remove("waiting");
page.read.addEventListener("focusin", () => engine.worker ?? engine.next()); // needed, perhaps
show(split(OWN), first[OWN]);
follow(takeUp);
