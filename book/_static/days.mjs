/* A bug a day: whose turn it is, and what a reader has found. */

const DAY = 24 * 60 * 60 * 1000;
export const [FOUND, MISSED, HINT, SHOWN] = "●○◐×";

/** Give the date of a moment, as it is in Greenwich: 2026-11-27. */
export const dateOf = (moment) => new Date(moment).toISOString().slice(0, 10);

/** Count the days from 1970 to a date; NaN unless there is such a date. */
export function dayNumber(date) {
  const moment = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(date) : NaN;
  return moment >= 0 && dateOf(moment) === date ? moment / DAY : NaN;
}

/** Write a date in words. */
export const longDate = (date) => new Date(date)
  .toLocaleDateString("en-GB", { dateStyle: "long", timeZone: "UTC" });

/** Give the number that the n-th turn has, of so many numbers. Each has its turn
 * before one has a second, and neighbours lie far apart. */
export function turn(n, many) {
  let step = Math.round(0.618 * many); // the golden section
  while (divisor(step, many) > 1) step++;
  return (n * step) % many;
}

const divisor = (a, b) => (b ? divisor(b, a % b) : a);

/** Read what was kept of earlier days, {date: signs}; whatever else it is, nothing. */
export function record(text) {
  try {
    return Object.fromEntries(Object.entries(JSON.parse(text) ?? {})
      .filter(([date, signs]) => dayNumber(date) >= 0 && typeof signs === "string"));
  } catch {
    return {};
  }
}

/** Say how many bugs of a record were found, and how many on days in a row, of which
 * the last is today or yesterday. */
export function score(kept, today) {
  const found = new Set(Object.keys(kept).filter((date) => kept[date].endsWith(FOUND)));
  let row = 0;
  const has = (ago) => found.has(dateOf((dayNumber(today) - ago) * DAY));
  for (let ago = has(0) ? 0 : 1; has(ago); ago++) row++;
  const days = row === 1 ? "day" : "days";
  return `${found.size} of ${Object.keys(kept).length} found, ${row} ${days} in a row`;
}
