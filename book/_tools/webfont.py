"""Make the web font of the font that the figures have: `make font`.

Nepali's signs alone, and all that shapes them; a third of the size.
"""

from pathlib import Path

from fontTools import subset

ROOT = Path(__file__).parents[2]
WHOLE = ROOT / "tformer_lite/drawing/fonts/NotoSansDevanagari-Regular.ttf"
WEB = ROOT / "book/_static/NotoSansDevanagari.woff2"
SIGNS = "U+0900-097F,U+200C-200D,U+20B9,U+25CC"  # as book.css says


def main() -> None:
    subset.main(
        [
            str(WHOLE),
            f"--unicodes={SIGNS}",
            "--layout-features=*",
            "--flavor=woff2",
            f"--output-file={WEB}",
        ]
    )
    print(f"{WEB.relative_to(ROOT)}: {WEB.stat().st_size} bytes")


if __name__ == "__main__":
    main()
