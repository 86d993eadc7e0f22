"""What can be wrong with a page as it is shown: each fault has a name, and
is found together with the parts of the page that have it."""

import io
import json
from collections.abc import Iterator

import numpy as np
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Error, Locator, Page

from tests.helpers.browser import DESK, PHONE, SMALL, View

# Each gives the parts of a page that are wrong.
FAULTS = {
    "the page scrolls sideways": """() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        return scrollWidth <= clientWidth ? []
            : [`${scrollWidth} pixels in ${clientWidth}`];
    }""",
    "the height changes while one scrolls": """async () => {
        const root = document.documentElement, { scrollHeight: high } = root;
        for (let y = 0; y < high; y += innerHeight) {
            scrollTo({ top: y, behavior: "instant" });
            await new Promise(requestAnimationFrame);
        }
        const after = root.scrollHeight;
        return Math.abs(after - high) < high / 10 ? []
            : [`${high} to ${after} pixels`];
    }""",
    "what is printed scrolls sideways": """() => all(".output pre")
        .filter(code => code.scrollWidth > code.clientWidth + 1)
        .map(code => code.textContent)""",
    "a shape breaks inside its brackets": r"""() => {
        const places = [], range = new Range();
        const nodes = document.createTreeWalker(document.body, 4);
        for (let node; node = nodes.nextNode();) {
            const no = node.parentElement.closest(
                ".highlight-python, .shape, .trace pre, .trace code");
            for (let i = no ? 1e9 : 0; i < node.length; i++)
                places.push([node, i]);
        }
        const text = places.map(([node, i]) => node.data[i]).join("");
        const shape = /(?<!\w)\((?:[A-Z\d·]+,\s+)+[A-Z\d·]+\)/g;
        return [...text.matchAll(shape)].filter(({ 0: { length }, index }) => {
            range.setStart(...places[index]);
            range.setEnd(...places[index + length - 1]);
            const feet = [...range.getClientRects()].map(box => box.bottom);
            return Math.max(...feet) - Math.min(...feet) > 9;
        }).map(([shape]) => shape);
    }""",
    "a column of text has no room for pictures": """() => all("article h1")
        .filter(title => title.offsetWidth < Math.min(690, innerWidth - 32))
        .map(title => `${title.offsetWidth} of ${innerWidth} pixels`)""",
    "a section is narrower than its article": """() => {
        const wide = document.querySelector("article h1")?.offsetWidth;
        return all("article section")
            .filter(section => section.checkVisibility())
            .filter(section => section.offsetWidth < wide - 1)
            .map(({ id, offsetWidth }) => `${id}, ${offsetWidth} of ${wide}`);
    }""",
    "a formula is not typeset": """() => all(".math")
        .filter(formula => !formula.querySelector("math")?.clientHeight
            || /[\\\\&]/.test(formula.textContent))
        .map(formula => formula.textContent)""",
    "Nepali has no room above and below": r"""() => all("body *")
        .filter(part => !part.closest("svg, script, style"))
        .filter(part => [...part.childNodes].some(node =>
            node.nodeType === 3 && /\p{sc=Deva}/u.test(node.data)))
        .filter(part => {
            const { lineHeight, fontSize } = getComputedStyle(part);
            return parseFloat(lineHeight) < 1.49 * parseFloat(fontSize);
        })
        .map(part => part.textContent)""",
    "the header has too few buttons": """() => {
        const { length } = all(".bd-header-article button");
        return length >= 4 ? [] : [`${length} buttons`];
    }""",
    "a button of the header shows no icon": """() =>
        all(".bd-header-article button")
        .filter(button => button.checkVisibility())
        .filter(button => ![...button.querySelectorAll("svg")].some(icon => {
            const { width, height } = icon.getBoundingClientRect();
            return width && height && icon.querySelector("path[d^=M]");
        }))
        .map(button => button.outerHTML)""",
    "an icon is missing": """() => all("svg .missing")
        .map(icon => icon.outerHTML)""",
    "a figure does not say what it shows": r"""() => all(".figure")
        .filter(figure => figure.getAttribute("role") !== "img"
            || !/^.{20,}\.$/s.test(figure.ariaLabel ?? ""))
        .map(figure => figure.cloneNode().outerHTML)""",
    "a figure has no real text": """() => all(".figure")
        .filter(figure => !figure.querySelector("text"))
        .map(figure => figure.cloneNode().outerHTML)""",
    "a letter of a figure is below 11 pixels": """() =>
        all("article svg text")
        .filter(text => text.checkVisibility() && !text.closest("a"))
        .filter(text => {
            const { a, b } = text.getScreenCTM();
            const { fontSize } = getComputedStyle(text);
            return parseFloat(fontSize) * Math.hypot(a, b) < 10.95;
        })
        .map(text => text.textContent)""",
    "a cell of a matrix is below 14 pixels": """() =>
        all(".figure[data-panels]").flatMap(figure =>
            JSON.parse(figure.dataset.panels).filter(panel => {
                const { box: [, , wide, high], drawing, values } = panel;
                const drawn = figure.querySelectorAll(".panel")[drawing];
                const { a, d } = drawn.getScreenCTM();
                const columns = values[0].split(";").length;
                return drawn.checkVisibility() && Math.min(
                    a * wide / columns, d * high / values.length) < 13.9;
            }))
        .map(panel => panel.name)""",
    "an image is not described in words": """() => all("article img")
        .filter(image => !image.alt.includes(" "))
        .map(image => image.outerHTML)""",
}
FIND = "async () => {{ {all} return {{ {each} }}; }}".format(
    all="const all = selector => [...document.querySelectorAll(selector)];",
    each=", ".join(
        f"{json.dumps(n)}: await ({f})()" for n, f in FAULTS.items()
    ),
)
UNREACHABLE = """() => [...document.querySelectorAll(
    "pre, .cell_output > .output, .pst-scrollable-table-container"
)].filter(box => (box.tabIndex === 0) !== (
    box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight
)).map(box => box.outerHTML)"""
# Of the texts alike in size, weight, line, colour and all that is around them,
# on whatever page: one. What axe says of its colours, it would say of every
# other. The looks that it has passed are known.
MARK = """known => {
    const passed = new Set(known), seen = new Set();
    const chains = new Map([[null, ""]]);
    const around = part => {
        if (!chains.has(part)) {
            const s = getComputedStyle(part);
            chains.set(part, around(part.parentElement) + [s.color, s.opacity,
                s.backgroundColor, s.backgroundImage, s.position]);
        }
        return chains.get(part);
    };
    const written = part => part.matches("input, textarea, select") ||
        [...part.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    for (const part of document.querySelectorAll("body *")) {
        part.removeAttribute("data-first");
        if (part.closest("svg") || !written(part)) continue;
        if (!part.checkVisibility({ visibilityProperty: true })) continue;
        const { fontSize, fontWeight, textDecorationLine, borderBottomStyle }
            = getComputedStyle(part);
        const look = [fontSize, fontWeight, textDecorationLine,
            borderBottomStyle, around(part)].join();
        if (passed.has(look) || seen.has(look)) continue;
        part.setAttribute("data-first", "");
        seen.add(look);
    }
    return [...seen];
}"""
PALE = "a figure stands on another ground than the page"
PASSED: set[str] = set()
ONE_OF_A_LOOK = """() => axe.configure({ rules: [
    { id: "color-contrast", selector: "[data-first]" },
    { id: "link-in-text-block", selector: "a[href][data-first]:not([role])" },
] })"""
TABLET, WIDE = 820, 1920
# The width changes five times: a page takes a moment to settle after it. Of
# a page whose kind is known some looks would ask the same again.
LOOKS = (
    *(("light", SMALL), ("light", PHONE), ("dark", PHONE), ("dark", DESK)),
    *(("light", DESK), ("light", TABLET), ("light", WIDE)),
)
FEW_LOOKS = (("light", SMALL), ("light", PHONE), ("dark", DESK))
FEW_LOOKS += (("light", DESK),)
COLOURS = ["color-contrast", "link-in-text-block"]
AXE = Axe()
# A figure is one image to axe, and has faults of its own above; and of code,
# what has a class alone is but a colour, which another part of that look is
# asked about. Both are taken out meanwhile: axe walks through all there is.
RUN = """async options => {
    const bare = part => [...part.attributes].every(x => x.name === "class");
    const plain = code => {
        const copy = code.cloneNode(true);
        [...copy.querySelectorAll("span, b")].filter(bare)
            .forEach(part => part.replaceWith(...part.childNodes));
        copy.normalize();
        return copy.childNodes;
    };
    const whole = [...document.querySelectorAll(".figure, code, pre")]
        .filter(part => !part.parentElement.closest("code, pre"))
        .map(part => [part, [...part.childNodes]]);
    whole.forEach(([part]) => part.replaceChildren(
        ...(part.matches(".figure") ? [] : plain(part))));
    try { return (await axe.run(options)).violations; }
    finally {
        whole.forEach(([part, inner]) => part.replaceChildren(...inner));
    }
}"""


def faults(view: View, looks=LOOKS) -> list[str]:
    """All that is wrong with a page in some looks; each fault with its name,
    its look and the parts that have it."""
    faults = [f"it asks the network: {url}" for url in view.outside()]
    faults += view.problems
    for scheme, width in looks:
        view.look(scheme, width)
        faults += [
            f"{scheme}, at {width}: {fault}"
            for fault in faults_of_look(view.page, scheme, width)
        ]
    return faults


def faults_of_look(page: Page, scheme: str, width: int) -> list[str]:
    """The faults of a page in a look: what axe finds, on a phone and on a
    desk; at 400 % code may break anywhere, and a page be one column."""
    if width == SMALL:
        wide = page.evaluate(FIND)["the page scrolls sideways"]
        return [f"the page scrolls sideways: {part}" for part in wide]
    # What is dark is laid out as in light.
    faults = [] if scheme == "dark" else [*seen_now(page)]
    if width in (PHONE, DESK):
        faults += obstacles(page, scheme)
    if width == WIDE:
        faults += [f"{PALE}: {ground}" for ground in pale_figures(page)]
    return faults


def seen_now(page: Page) -> list[str]:
    """The faults of a page as it stands."""
    by_name = page.evaluate(FIND)
    by_name["the keyboard cannot reach what scrolls"] = unreachable(page)
    return [
        f"{name}: {part}" for name, parts in by_name.items() for part in parts
    ]


def pale_figures(page: Page) -> Iterator[str]:
    """The figures whose ground is not that of the page around them, by the
    colours at both left corners: in one of them something may be drawn."""
    for figure in page.locator("article .figure:visible").all():
        figure.scroll_into_view_if_needed()
        rows = [across_edge(page, figure, at) for at in (0, 1)]
        if all(abs(row[0] - row[-1]).max() > 2 for row in rows):
            label = figure.get_attribute("aria-label")
            yield f"{rows[0][-1]} in {rows[0][0]}: {label}"


def across_edge(page: Page, figure: Locator, at: int) -> np.ndarray:
    """The colours of eight pixels across the left edge of a figure, near its
    top or its bottom."""
    down = at * (figure.bounding_box()["height"] - 5) + 2
    away = figure.bounding_box()["y"] + down - page.viewport_size["height"] / 2
    page.evaluate("y => scrollBy({ top: y, behavior: 'instant' })", away)
    box = figure.bounding_box()
    left = max(box["x"] - 4, 0)
    clip = {"x": left, "y": box["y"] + down, "width": 8, "height": 1}
    picture = Image.open(io.BytesIO(page.screenshot(clip=clip)))
    return np.asarray(picture.convert("RGB")).astype(int)[0]


def unreachable(page: Page) -> list[str]:
    """What scrolls and cannot be reached with the keyboard, or the other way
    round; the theme takes a moment for it after a resize."""
    try:
        page.wait_for_function(f"() => !({UNREACHABLE})().length", timeout=5e3)
    except Error:
        return page.evaluate(UNREACHABLE)
    return []


def more(page: Page) -> dict[str, dict[str, bool]]:
    """What axe does only when asked; a mouse needs no large targets."""
    on = {"label-content-name-mismatch": True}
    on["target-size"] = page.viewport_size["width"] <= PHONE
    return {rule: {"enabled": enabled} for rule, enabled in on.items()}


def obstacles(page: Page, scheme: str) -> list[str]:
    """What axe finds on a page: in light by all its rules, in dark by those
    that look at colours, where there are any that it has not passed."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.axe_script)
        page.evaluate(ONE_OF_A_LOOK)
    looks = page.evaluate(MARK, [*PASSED])
    if scheme == "dark" and not looks:
        return []
    # Axe would fetch the style sheets again, and a page on a disk may not.
    options = {"preload": False, "resultTypes": ["violations"]}
    options |= (
        {"runOnly": COLOURS} if scheme == "dark" else {"rules": more(page)}
    )
    violations = page.evaluate(RUN, options)
    if not any(rule["id"] in COLOURS for rule in violations):
        PASSED.update(looks)
    return [
        f"{rule['help']} ({rule['id']}): {node['html']}: "
        + " ".join(node["failureSummary"].split())
        for rule in violations
        for node in rule["nodes"]
    ]
