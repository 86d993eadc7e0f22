"""The reader's file with a bug, or without a part."""

from weights import MY_TEXT, PARTS_LEFT_OUT

from gallery import bugs

BUGGY = {
    bug.name: MY_TEXT.replace(*bug.mine)
    for bug in bugs()
    if bug.mine[0] in MY_TEXT
}
WITHOUT = {
    name: MY_TEXT.replace(part["right"], part["wrong"])
    for name, part in PARTS_LEFT_OUT.items()
}
