"""Pictures that are stored beside the book are not older than the book."""

import re

import pypdf
import pytest
import stored_pictures

NUMBER = r"-?\d+\.?\d*"
OLD = "the picture is old: run `make picture`"


@pytest.mark.slow
def test_the_first_page_shows_what_is_drawn_today():
    stored = stored_pictures.FIRST_PAGE.read_text("utf8")
    texts = stored, stored_pictures.figure_text()
    words = [re.split(NUMBER, text) for text in texts]
    assert words[0] == words[1], OLD
    places = [list(map(float, re.findall(NUMBER, x))) for x in texts]
    assert places[0] == pytest.approx(places[1], abs=0.11), OLD


@pytest.fixture(scope="module")
def sheet() -> pypdf.PdfReader:
    return pypdf.PdfReader(stored_pictures.POSTER)


@pytest.mark.full
def test_the_poster_is_drawn_by_the_code_and_the_model_as_they_are(sheet):
    now = stored_pictures.poster_digest(stored_pictures.draw_poster())
    assert sheet.metadata["/Keywords"] == now, "run `make poster`"
    assert stored_pictures.POSTER.stat().st_size < 200_000


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
