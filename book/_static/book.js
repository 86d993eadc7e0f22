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

// Chromium may keep the boxes that it drew in a figure before the font came.
// A figure that is put back in its place is laid out anew.
document.fonts.addEventListener("loadingdone", () => {
  for (const figure of document.querySelectorAll("svg.figure")) {
    figure.replaceWith(figure);
  }
});
