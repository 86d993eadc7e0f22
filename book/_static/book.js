// Light or dark: the reader's choice, or else the system's. Said here, before
// the page is drawn, so that nothing flashes.
{
  const root = document.documentElement.dataset;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.mode ||= "auto";
  root.theme ||= dark ? "dark" : "light";
}

// The contents open where one is; what opens a part has no name of its own.
sessionStorage.removeItem("sidebar-scroll-top");
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll(".bd-sidenav summary")) {
    const link = summary.closest("li")?.querySelector("a");
    summary.ariaLabel = `Pages below ${link?.textContent.trim()}`;
  }
});

// What scrolls can be reached from the keyboard.
document.addEventListener("DOMContentLoaded", () => {
  const scrolling = new ResizeObserver(parts => {
    for (const { target: part } of parts) {
      const scrolls = part.scrollWidth > part.clientWidth
        || part.scrollHeight > part.clientHeight;
      part.tabIndex = scrolls ? 0 : -1;
    }
  });
  const parts = "pre, .cell_output > .output, .pst-scrollable-table-container";
  document.querySelectorAll(parts).forEach(part => scrolling.observe(part));
});

// Chromium may keep the boxes that it drew before the font came. What is put
// back in its place is laid out anew.
{
  const anew = () => {
    for (const part of document.querySelectorAll(".figure, article pre")) {
      if (/\p{sc=Deva}/u.test(part.textContent)) part.replaceWith(part);
    }
  };
  document.fonts.ready.then(anew);
  document.fonts.addEventListener("loadingdone", anew);
}

// Paper is light.
{
  const root = document.documentElement.dataset;
  let onScreen;
  addEventListener("beforeprint", () => {
    onScreen = root.theme;
    root.theme = "light";
  });
  addEventListener("afterprint", () => { root.theme = onScreen; });
}

// The search finds sections: on a site by Pagefind's index (search_index.py).
// A page opened from the disk may not read that, so there Sphinx's own search
// lists the titles of pages.
const FOUND_AT_MOST = 20;
const RANKING = { metaWeights: { title: 1 }, termSimilarity: 2 };
const WORTH_AT_MOST = 8; // of one word, however often it stands there
// With which questions begin, and which Sphinx does not know to be idle.
const IDLE = "can do does get have how i it's me must my need one should the what "
  + "when where which while why you your";

function wordsOf(text) {
  const idle = [...stopwords, ...IDLE.split(" ")];
  const words = text.toLowerCase().replace(/(?<=\w)=\S*/g, "") // name=value
    .match(/[\p{L}\p{M}\p{N}_.'’-]+/gu) ?? [];
  return [...new Set(words.map(word => word.replace(/[.'’-]+$/, "")))]
    .filter(word => !idle.includes(word));
}

// Two words that ask for one section at once may get nothing the first time.
const read = async one => await one.data() ?? one.data();

// Where Pagefind knows no word like this, it takes what only begins alike.
async function isThere(word, results) {
  const letters = text => text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]/gu, "");
  const best = await Promise.all(results.slice(0, 3).map(read));
  const stem = letters(word).replace(/(?<=.{4})..$/, "");
  return best.some(
    one => letters(one.meta.title + one.content).includes(stem));
}

// The sections that have the words, those first that have most: a question
// asks in more words than a section has. And the words that no section has.
async function sections(words) {
  const index = await import(new URL("pagefind/pagefind.js", location.href));
  await index.options({ ranking: RANKING });
  const worth = new Map(), missing = [];
  for (const word of words) {
    const { results } = await index.search(word);
    if (!await isThere(word, results)) {
      missing.push(word);
      continue;
    }
    for (const { id, score, data } of results) {
      const old = worth.get(id)?.score ?? 0;
      const more = Math.min(score, WORTH_AT_MOST);
      worth.set(id, { score: old + more, data });
    }
  }
  const best = [...worth.values()].sort((a, b) => b.score - a.score)
    .slice(0, FOUND_AT_MOST);
  const found = await Promise.all(best.map(read));
  return { found, total: worth.size, missing };
}

function entry({ raw_url: path, meta, excerpt }, words) {
  const item = document.createElement("li"), link = document.createElement("a");
  const [, page, name] = path.match(/^\/?(.*)\/([^/]+)\.html$/);
  const marked = encodeURIComponent(words.join(" "));
  link.href = `${page}.html?highlight=${marked}#${name}`;
  link.textContent = meta.title;
  const text = document.createElement("p");
  text.className = "context";
  text.innerHTML = excerpt.replaceAll("<mark>", '<mark class="highlighted">');
  item.append(link, meta.title === meta.page ? "" : ` · ${meta.page}`, text);
  return item;
}

async function searchSections(asked) {
  const words = wordsOf(asked), list = document.createElement("ol");
  const { found, total, missing } = await sections(words);
  const told = document.createElement("p");
  list.className = "search";
  list.append(...found.map(one => entry(one, words)));
  told.textContent =
    `Search finished, found ${total} ${total === 1 ? "section" : "sections"}`
    + (total > found.length ? `; the best ${found.length} are below.` : ".")
    + (missing.length ? ` No section has “${missing.join("” or “")}”.` : "");
  document.getElementById("search-results").replaceChildren(told, list);
}

document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  if (location.protocol === "file:") {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  } else {
    Search.performSearch = searchSections;
  }
  // Words are marked in a page that is opened from here, and in no later one.
  const forget = () => localStorage.removeItem("sphinx_highlight_terms");
  addEventListener("pagehide", forget);
});

// What is folded opens when an address leads to it.
{
  const unfold = () => {
    // A %-escape may be broken: this reads it as well as it can.
    const [name] = new URLSearchParams(location.hash.slice(1)).keys();
    const place = document.getElementById(name);
    const fold = place?.closest("details");
    if (!fold || fold.open) return;
    fold.open = true;
    place.scrollIntoView();
  };
  addEventListener("DOMContentLoaded", unfold);
  addEventListener("hashchange", unfold);
}
