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

// The search finds sections while one types (search.mjs). A page opened from
// the disk may not load that, so there Sphinx's own lists the titles of pages.
if (location.protocol !== "file:") {
  const start = async input => (await import("./search.mjs")).searchIn(input);
  addEventListener("focusin", ({ target }) => {
    if (target.matches(".bd-search input")) start(target);
  });
  document.addEventListener("DOMContentLoaded", () => {
    if (typeof Search === "undefined") return;
    const field = document.querySelector(".bd-search-container input");
    Search.performSearch = () => start(field);
  });
} else {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  // Words are marked in a page that is opened from there, and in no later one.
  addEventListener(
    "pagehide", () => localStorage.removeItem("sphinx_highlight_terms"));
}

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
