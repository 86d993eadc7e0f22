// A page opened from the disk may not read other pages, so the search cannot
// show extracts of them there: it lists the titles.
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
