// Chromium prints a pattern as a coarse picture. Here each hatched shape gets
// the lines of its pattern as lines: repeated, and cut off at its edge.
function hatch(shape, number) {
  const id = shape.style.fill.match(/#([^")]+)/)?.[1];
  const tile = document.getElementById(id);
  if (tile?.localName !== "pattern") return;
  const edge = element("clipPath", shape.cloneNode());
  edge.id = `edge-${number}`;
  const lines = element("g", ...repeated(tile, shape.getBBox()));
  lines.style.clipPath = `url(#${edge.id})`;
  shape.replaceWith(edge, lines);
}

// Copies of a tile's parts, as many as cover a box.
function* repeated(tile, box) {
  const across = tile.width.baseVal.value, down = tile.height.baseVal.value;
  for (const x of steps(box.x, box.width, across)) {
    for (const y of steps(box.y, box.height, down)) {
      for (const part of tile.children) {
        const copy = part.cloneNode();
        copy.setAttribute("transform", `translate(${x}, ${y})`);
        yield copy;
      }
    }
  }
}

// Where tiles of a width begin, from a start on: multiples of the width.
function* steps(start, length, width) {
  let place = width * Math.floor(start / width);
  for (; place < start + length; place += width) yield place;
}

function element(name, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  made.append(...children);
  return made;
}

document.querySelectorAll('svg [style*="url("]').forEach(hatch);
