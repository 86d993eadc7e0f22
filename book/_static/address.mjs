/* What an address asks a page for. */

/** Read what stands behind the # of an address, {name: text}; null where that
 * leads to a place on the page. */
export function wishes(hash) {
  const text = hash.slice(1);
  return text && !text.includes("=") ? null : Object.fromEntries(new URLSearchParams(text));
}

/** Call f with the wishes of the address now, and whenever it gets others: by a
 * link, by hand, or by going back and forward. */
export function follow(f) {
  addEventListener("hashchange", () => {
    const wanted = wishes(location.hash);
    if (wanted) f(wanted);
  });
  return f(wishes(location.hash) ?? {});
}
