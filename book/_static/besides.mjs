/* Which two models an address asks for, and their rows beside each other. */

/** Read the two models that an address asks for, "" for one that is not known,
 * and what it calls those; null where the address is about something else. */
export function asked(hash, known) {
  const text = new URLSearchParams(hash.slice(1)).get("compare");
  if (text === null) return null;
  const names = text.replaceAll("_", "-").split(",").map((name) => name.trim());
  return {
    names: [0, 1].map((i) => known.includes(names[i]) ? names[i] : ""),
    unknown: names.filter((name) => name && !known.includes(name)),
  };
}

/** Put the rows of two cards, [name, text], beside each other: what the second
 * alone has comes after the row that it follows there. What one lacks is no difference. */
export function besides(first, second) {
  const names = first.map(([name]) => name);
  second.forEach(([name], i) => {
    if (names.includes(name)) return;
    names.splice(i ? names.indexOf(second[i - 1][0]) + 1 : 0, 0, name);
  });
  const texts = [first, second].map((rows) => new Map(rows));
  return names.map((name) => {
    const pair = texts.map((rows) => rows.get(name) ?? "none");
    const both = !pair.includes("none");
    return { name, both, differs: both && pair[0] !== pair[1] };
  });
}
