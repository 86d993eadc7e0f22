/* A picture of training: the loss, on a logarithmic scale, and the share of the test
 * sentences that are translated right, by steps. */

const TOP = 10; // nats
const TENFOLDS = 4; // from there down: a line for each, and for each quarter of the share
const SIDE = 46; // for numbers at both sides; in train.css the slider has it too
const EDGE = 8; // half a line of text
const WORDS = ["loss", "right"]; // at the ends of the lines

/** Draw runs in an svg, the last one in full colours: of each its `name`, its `curve` of
 * [step, loss] and its `rights` of [step, share]. There is a mark at `step`. */
export function drawChart(svg, runs, steps, step) {
  const { clientWidth: wide, clientHeight: high } = svg;
  const x = (at) => SIDE + (at / steps) * (wide - 2 * SIDE);
  const y = (share) => 2 * EDGE + (1 - share) * (high - 3 * EDGE);
  const height = (loss) => y(Math.max(1 - Math.log10(TOP / loss) / TENFOLDS, 0));
  const grid = Array.from({ length: TENFOLDS + 1 }, (_, line) => {
    const at = y(1 - line / TENFOLDS);
    const loss = +(TOP / 10 ** line).toPrecision(1);
    return `<path d="M${SIDE},${at}H${wide - SIDE}"/>`
      + write(SIDE - 10, at, "end", line ? loss : `${loss} nats`)
      + write(wide - SIDE + 10, at, "", `${100 - 100 * line / TENFOLDS} %`);
  });
  const places = runs.map(({ curve, rights }) => [[curve, height], [rights, y]].map(([points, scale]) =>
    points.filter(([at, one]) => at <= steps && one === one).map(([at, one]) => [x(at), scale(one)])));
  const lines = places.flatMap((both, i) => both.map((line, j) => {
    if (!line.length) return "";
    const [name, look] = [runs[i].name + WORDS[j], WORDS[j] + (i < runs.length - 1 ? " pale" : "")];
    const [left, top] = line.at(-1);
    const full = left > wide - SIDE - EDGE * name.length;
    // A name at the right side keeps away from the same line of the other run.
    const [, other] = ((full && places[1 - i]?.[j]) || both[1 - j]).at(-1) ?? [0, 0];
    const up = top < other || (top === other && j) ? -1 : 1;
    const away = full ? EDGE + 4 : Math.max(0, EDGE - Math.abs(top - other) / 2);
    return `<g class="${look}"><path d="M${line.join("L")}"/>`
      + `${write(full ? left - 4 : left + EDGE, top + up * away, full && "end", name)}</g>`;
  }));
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  svg.innerHTML = `${grid.join("")}<path class="mark" d="M${x(step)},0V${high}"/>${lines.join("")}`;
}

function write(x, y, look, text) {
  return `<text x="${x}" y="${y}" class="${look}">${text}</text>`;
}
