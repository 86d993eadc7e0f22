/* What a browser keeps for its reader, where it may keep anything. */

/** Give what was kept under a name, or null. */
export function recalled(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Keep a text under a name. */
export function keep(name, text) {
  try {
    localStorage.setItem(name, text);
  } catch {
    // It is forgotten with the page.
  }
}
