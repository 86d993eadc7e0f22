"""What a listing of source says beside a line, and what tables say when no
style reaches them."""

import re
from xml.etree import ElementTree

LEFT = '<pre style="text-align: left">'


def shown(listing, code: str) -> str:
    """The note beside, or below, the line that begins so."""
    lines = str(listing).splitlines()
    i = next(i for i, s in enumerate(lines) if s.strip().startswith(code))
    note = lines[i].partition("#")[2]
    return (note or lines[i + 1].partition("#")[2]).strip()


def unstyled(page: str) -> str:
    """HTML where style sheets are taken away."""
    return re.sub(r"<style>.*?</style>", "", page)


def letters(page: str) -> str:
    """HTML whose shapes are letters alone, with no marks and sizes."""
    page = re.sub(r"<sub>\d+</sub>", "", page)
    return re.sub(r"</?(?:span|b|var)\b[^>]*>", "", unstyled(page))


def elements(page: str) -> ElementTree.Element:
    """HTML without its styles, where every tag is closed that may be."""
    page = unstyled(page).replace("<br>", "<br/>")
    return ElementTree.fromstring(page.replace(" open>", ' open="">'))


def text_of(element: ElementTree.Element) -> str:
    return "".join(element.itertext())
