// Light or dark: the reader's choice, or else the system's. Said here, before
// the page is drawn, so that nothing flashes.
{
  const root = document.documentElement.dataset;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  root.mode ||= "auto";
  root.theme ||= dark ? "dark" : "light";
}

// A page opened from the disk may not read other pages, so the search cannot
// show extracts of them there: it lists the titles.
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// What opens a part of the contents has no name of its own.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll(".bd-sidenav summary")) {
    const link = summary.closest("li")?.querySelector("a");
    summary.ariaLabel = `Pages below ${link?.textContent.trim()}`;
  }
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

// The search shows extracts of a page's text, not of its set-up and figures.
// Its words are marked in a page that is opened from it, and in no later one.
const FURNITURE = "svg, script, style, .headerlink, .colab, .tag_setup";
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  Search.htmlToText = (html, place) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    const article = page.querySelector("article");
    article?.querySelectorAll(FURNITURE).forEach(part => part.remove());
    const part = place && article?.querySelector(place) || article;
    return part?.textContent.replace(/\s+/g, " ") ?? "";
  };
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  const words = asked.toLowerCase().split(/\s+/)
    .filter(word => !stopwords.includes(word));
  const mark = event => {
    const link = event.target.closest("#search-results a");
    if (!link) return;
    const to = new URL(link.href);
    to.searchParams.set("highlight", words.join(" "));
    link.href = to;
  };
  for (const name of ["click", "auxclick"]) addEventListener(name, mark, true);
  const forget = () => localStorage.removeItem("sphinx_highlight_terms");
  addEventListener("pagehide", forget);
});
