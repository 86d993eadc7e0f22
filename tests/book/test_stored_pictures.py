"""Pictures that are stored beside the book are not older than the book."""

import json

import poster
import preview
import pypdf
import pytest
from PIL import Image


def test_the_readme_shows_the_book_as_it_is():
    stored = Image.open(preview.FILE).text.get("digest")
    assert stored == preview.digest(), "run `make preview`"


def test_another_text_or_figure_makes_the_readmes_picture_old(
    monkeypatch, tmp_path
):
    page = tmp_path / f"{preview.PAGE}.ipynb"
    page.parent.mkdir()
    style = tmp_path / "book" / "_static" / "book.css"
    style.parent.mkdir(parents=True)
    style.touch()
    monkeypatch.setattr(preview, "ROOT", tmp_path)
    said = set()
    for heading in preview.SECTION, "Something else":
        for text, figure in ("a", "b"), ("a", "c"), ("d", "b"):
            cells = [
                {"cell_type": "markdown", "source": f"## {heading}\n\n{text}"},
                {"cell_type": "code", "source": "", "outputs": [figure]},
                {"cell_type": "markdown", "source": f"## After\n\n{text}"},
            ]
            page.write_text(json.dumps({"cells": cells}), "utf8")
            if heading == preview.SECTION:
                said.add(preview.digest())
    assert len(said) == 3
    with pytest.raises(ValueError, match="no section"):
        preview.digest()


@pytest.fixture(scope="module")
def sheet() -> pypdf.PdfReader:
    return pypdf.PdfReader(poster.FILE)


@pytest.mark.slow
def test_the_poster_is_drawn_by_the_code_and_the_model_as_they_are(sheet):
    assert sheet.metadata["/Keywords"] == poster.digest(poster.drawn()), (
        "run `make poster`"
    )
    assert poster.FILE.stat().st_size < 200_000


@pytest.mark.full
def test_the_poster_is_a_sheet_of_a3_with_its_fonts_and_no_pixels(sheet):
    (page,) = sheet.pages
    millimetres = [float(x) * 25.4 / 72 for x in page.mediabox[2:]]
    assert millimetres == pytest.approx([420, 297], abs=0.1)
    fonts = page["/Resources"]["/Font"].get_object().values()
    for font in fonts:
        (inner,) = font.get_object()["/DescendantFonts"]
        assert "/FontFile2" in inner.get_object()["/FontDescriptor"]
    assert not page.images
    assert "41,256 parameters" in page.extract_text()
