// The search while one types: sections by Pagefind's index, and questions that
// lead to the sections that answer them (search_index.py).
const ROOT = new URL("../", import.meta.url);
const RANKING = { metaWeights: { title: 1 }, termSimilarity: 2 };
const ENTRIES = 1000, WORTH_AT_MOST = 8; // in the index, about; of one word
const ENOUGH = 0.6; // of what is asked, by weight, or else nothing is found
const ON_PAGE = 20, IN_DIALOG = 6, PAUSE = 150; // entries; ms without a key
// With which questions begin, and what holds them together.
const IDLE = `a am an and are as at be but by can can't do does for from get has have how
  i if in into is it it's me must my need not of on one or should so such than that
  the their then there these they this to vs was what when where which why with you your`.split(/\s+/);
const WORD = /[\p{L}\p{M}\p{N}_](?:[\p{L}\p{M}\p{N}_.'=−-]*[\p{L}\p{M}\p{N}_])?/gu;
const PLACE = /^\/?(.*)\/([^/]+?)(\.\d+)?\.html$/; // of a question numbered

const library = import(new URL("pagefind/pagefind.js", ROOT)).then(async index =>
  (await index.options({ ranking: RANKING, excerptLength: 40 }), index));
const lexicon = fetch(new URL("pagefind/words.json", ROOT)).then(x => x.json());

// The minus in name=-1 is no hyphen.
function wordsOf(text) {
  const plain = text.toLowerCase().replaceAll("’", "'").replaceAll("=-", "=−");
  const words = [...new Set(plain.match(WORD))];
  const telling = words.filter(word => !IDLE.includes(word));
  return telling.length ? telling : words;
}

const lettersOf = text => text.replace(/[^\p{L}\p{M}\p{N}]/gu, "");
// One letter too many, too few, another, or two that changed places: without
// one letter each, the two words are the same.
const gaps = word => [word, ...[...word].map(
  (_, i) => word.slice(0, i) + word.slice(i + 1))];

// The form in which the book has a word: as typed, a name without its value,
// the beginning of a word, or a word that is nearly so, the most frequent.
async function formOf(word, has) {
  const name = word.replace(/=.*/, ""), words = await lexicon;
  for (const form of [word, name]) if (await has(form)) return form;
  const letters = lettersOf(name), mine = letters.length > 6 ? gaps(letters) : [];
  if (words.some(one => one.startsWith(letters))) return letters;
  return words.find(one => one[0] === word[0] && gaps(one).some(x => mine.includes(x)));
}

// The words of a question, with what they find and weigh: a rare one tells more.
// Two side by side may be one word, as in multi-query.
async function weighed(words, index) {
  const has = async form => (await index.search(`"${form}"`)).results.length;
  const all = [];
  for (const [i, word] of words.entries()) {
    const form = await formOf(word, has), pair = `${words[i - 1]}${word}`;
    const { results } = form ? await index.search(form) : { results: [] };
    const weight = Math.log(1 + ENTRIES / (results.length || 1));
    all.push({ word, form, results, weight });
    if (i && await has(pair)) all.push({ ...await index.search(pair), weight: 0 });
  }
  return all;
}

// The entries that have half of what the best has, by weight; first those whose
// words are worth most. (A result that is let go loses its data.)
function ranked(all) {
  const entries = new Map();
  for (const { results, weight } of all) for (const result of results) {
    const old = entries.get(result.id) ?? { part: 0, worth: 0, weight: -1 };
    const best = weight > old.weight ? { result, weight } : old;
    const worth = old.worth + Math.min(result.score, WORTH_AT_MOST);
    entries.set(result.id, { ...best, worth, part: old.part + weight });
  }
  const most = Math.max(...[...entries.values()].map(one => one.part));
  return [...entries.values()].filter(one => one.part >= most / 2)
    .sort((a, b) => b.worth - a.worth);
}

// So many places at most, each once: a question stands for its section.
export async function search(asked, most) {
  const all = await weighed(wordsOf(asked), await library), found = new Map();
  const sum = part => part.reduce((total, one) => total + one.weight, 0);
  const enough = sum(all.filter(one => one.form)) >= ENOUGH * sum(all);
  const entries = enough ? ranked(all) : [], near = entries.slice(0, 2 * most);
  for (const one of await Promise.all(near.map(({ result }) => result.data()))) {
    const [, page, name, asks] = one.raw_url.match(PLACE);
    const place = `${page}.html#${name}`;
    if (!found.has(place)) found.set(place, { ...one, place, asks });
  }
  const total = entries.length > near.length ? entries.length : found.size;
  return { found: [...found.values()].slice(0, most), total, all };
}

// What is said, aloud too, of what was found.
function summary({ found, total, all }) {
  const words = all.filter(one => one.word), said = words.map(({ word, form }) =>
    !form ? ` The book does not have “${word}”.`
    : lettersOf(form) !== lettersOf(word) ? ` “${word}” was read as “${form}”.` : "");
  const more = total > found.length ? `; the first ${found.length} are below` : "";
  return (total ? `Found ${total} ${total > 1 ? "places" : "place"}${more}.`
    : "Nothing found.") + said.join("");
}

function entry({ place, asks, meta, excerpt }, forms) {
  const item = document.createElement("li"), marked = encodeURIComponent(forms);
  item.innerHTML = '<a></a> <span></span><p class="context"></p>';
  const [link, page, text] = item.children;
  link.href = new URL(place.replace("#", `?highlight=${marked}#`), ROOT);
  link.textContent = meta.title;
  page.textContent = asks ? `Question, answered in ${meta.page}` : meta.page;
  const mark = new RegExp(`(?<![\\p{L}&])(?:${forms.replaceAll(" ", "|")})`, "giu");
  const plain = excerpt.replace(/<.?mark>/g, "");
  const rest = plain.startsWith(meta.title) ? plain.slice(meta.title.length) : plain;
  text.innerHTML = rest.replace(/^[. ]+/, "").replace(
    mark, '<mark class="highlighted">$&</mark>');
  return item;
}

// Fill a list below a field whenever somebody types; the arrows lead through it.
// Enter opens what they have reached; in the field it leads to the search's page.
export function searchFrom(input) {
  if (input.oninput) return input.oninput();
  const place = input.closest("dialog, .bd-search-container");
  place.insertAdjacentHTML(
    "beforeend", '<p role="status"></p><ol class="search"></ol>');
  let [told, list, timer] = [...place.children].slice(-2);
  const show = async () => {
    const asked = input.value.trim();
    const result = await search(asked, place.open ? IN_DIALOG : ON_PAGE);
    if (asked !== input.value.trim()) return;
    const forms = result.all.map(one => one.form).filter(Boolean).join(" ");
    told.textContent = asked && summary(result);
    list.replaceChildren(...result.found.map(one => entry(one, forms)));
  };
  input.oninput = () => { clearTimeout(timer); timer = setTimeout(show, PAUSE); };
  place.addEventListener("keydown", event => {
    const stops = [input, ...list.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    stops.at((stops.indexOf(event.target) + step) % stops.length).focus();
  });
  show();
}
