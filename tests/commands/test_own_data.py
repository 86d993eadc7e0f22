"""--resume and the data: a training goes on with what it began with."""

import os
import re

import pytest
import torch

from tests.helpers.commands import PAIRS, TEXT, char, refusal, translate
from tformer_lite import english_nepali, load_checkpoint, resume
from tformer_lite.__main__ import main

STEPS = "--steps", "1"
MORE = "--resume", "--steps", "2"


def without_path(command: list[str]) -> list[str]:
    """The words of a command, its file forgotten."""
    return [word for word in command if not re.search(r"\.t(xt|sv)$", word)]


def losses(folder) -> list[float]:
    kept = load_checkpoint(folder / "model.pt")
    return kept.train_losses + kept.val_losses


def edited(folder, edit) -> None:
    """Write the checkpoint anew, edited."""
    path = folder / "model.pt"
    packed = torch.load(path, weights_only=True)
    edit(packed)
    torch.save(packed, path)


def silent(packed) -> None:
    """Make a checkpoint as one was before: it says nothing of the data."""
    packed["format"] = 1
    for part, key in ((packed, "buffers"), (packed, "tied")):
        del part[key]
    del packed["training"]["data"]


@pytest.mark.full
@pytest.mark.parametrize("begin", [char, translate])
def test_with_the_file_forgotten_it_goes_on_with_the_same(
    begin, tmp_path, monkeypatch
):
    """Also from another folder, and with the file typed; the witness: a
    training without a break."""
    short = "--steps", "2", "--schedule", "constant"
    monkeypatch.chdir(tmp_path)
    command = begin(tmp_path, *short, "--force")
    file = next(word for word in command if word not in without_path(command))
    long = [word.replace(file, os.path.basename(file)) for word in command]
    assert main([*long, "--steps", "4"]) == 0
    whole = losses(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    for path in ([], [file]):
        assert main(long) == 0
        monkeypatch.chdir(tmp_path / "elsewhere")
        again = [*without_path(begin(tmp_path, "--resume")), *path]
        assert main([*again, "--steps", "4"]) == 0
        assert losses(tmp_path) == whole
        monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_losses_on_other_data_do_not_count_any_more(tmp_path):
    """Else what was best before would stay best for ever."""
    more = "--patience", "2", "--resume", "--force"
    main(char(tmp_path, "--steps", "4", "--patience", "2"))

    def best(packed):
        packed["val_losses"] = [0.0 for _ in packed["val_losses"]]

    edited(tmp_path, best)
    assert main(char(tmp_path, *more, "--steps", "8", text=TEXT[::-1])) == 0
    kept = load_checkpoint(tmp_path / "model.pt")
    assert kept.training["step"] == 8
    assert kept.val_losses
    assert min(kept.val_losses) > 0


@pytest.mark.slow
def test_a_slip_in_the_path_comes_before_a_file_that_is_there(
    capsys, tmp_path
):
    main(char(tmp_path, *STEPS))
    slip = [w.replace("text.txt", "txet.txt") for w in char(tmp_path)]
    assert "txet.txt: No such file" in refusal(capsys, *slip)


@pytest.mark.slow
@pytest.mark.parametrize("begin", [char, translate])
def test_a_file_that_changed_is_refused_until_it_is_forced(
    begin, capsys, tmp_path
):
    main(begin(tmp_path, *STEPS))
    before = (tmp_path / "model.pt").read_bytes()
    new = {"text": TEXT + "amar"} if begin is char else {"pairs": PAIRS[1:]}
    for change in (lambda words: words, without_path):
        said = refusal(capsys, *change(begin(tmp_path, *MORE, **new)))
        assert "has changed since" in said
        assert "add --force to go on" in said
        assert "another --save_path to train from the start" in said
    assert (tmp_path / "model.pt").read_bytes() == before
    assert main(begin(tmp_path, *MORE, "--force", **new)) == 0
    assert main(begin(tmp_path, *MORE, "--steps", "3", **new)) == 0


@pytest.mark.slow
def test_another_file_is_refused_and_one_that_only_moved_is_not(
    capsys, tmp_path
):
    main(char(tmp_path, *STEPS))
    other = tmp_path / "other.txt"
    other.write_text(TEXT[::-1])
    again = without_path(char(tmp_path, *MORE))
    said = refusal(capsys, *again, other)
    assert f"{other} is not {tmp_path / 'text.txt'}, which" in said
    (tmp_path / "text.txt").rename(tmp_path / "moved.txt")
    said = refusal(capsys, *again)
    assert "text.txt, which cannot be read (No such file" in said
    assert "give PATH, where it is now" in said
    assert main([*again, str(tmp_path / "moved.txt")]) == 0
    assert main([*again, "--steps", "3"]) == 0


@pytest.mark.slow
def test_what_was_trained_on_the_corpus_goes_on_with_that_alone(
    capsys, tmp_path
):
    new = without_path(translate(tmp_path, *STEPS))
    assert main(new) == 0
    again = translate(tmp_path, *MORE)
    for extra in ([], ["--force"]):
        said = refusal(capsys, *again, *extra)
        assert "was trained on the English-Nepali corpus" in said
        assert "leave" in said
        assert "pairs.tsv out to go on" in said
    assert main(without_path(again)) == 0


@pytest.mark.slow
def test_characters_that_it_does_not_know_are_named(capsys, tmp_path):
    main(char(tmp_path, *STEPS))
    words = char(tmp_path, *MORE, "--force", text=TEXT + "QX" * 99)
    said = refusal(capsys, *words)
    assert "text.txt has 'Q', 'X', which the vocabulary of" in said


@pytest.mark.slow
def test_the_share_for_training_is_the_checkpoints(capsys, tmp_path):
    main(char(tmp_path, *STEPS, "--train_split", "0.6"))
    assert main(char(tmp_path, *MORE)) == 0
    path = tmp_path / "model.pt"
    assert resume(path).origin.share == 0.6
    said = refusal(capsys, *char(tmp_path, *MORE, "--train_split", "0.7"))
    assert "--train_split 0.7, but" in said
    assert "has 0.6: leave it out" in said
    said = refusal(capsys, *char(tmp_path, "--force", "--train_split", "1"))
    assert "--train_split 1.0: choose a share between 0 and 1" in said


@pytest.mark.slow
def test_the_seed_of_the_split_stays_whatever_seed_goes_on(capsys, tmp_path):
    main(translate(tmp_path, *STEPS, "--seed", "3"))
    first = capsys.readouterr().out.splitlines()
    main(translate(tmp_path, *MORE, "--seed", "4"))
    capsys.readouterr()
    main(translate(tmp_path, "--resume", "--steps", "3"))
    second = capsys.readouterr().out.splitlines()
    assert first[1] == second[1]
    assert [x.split(" -> ")[0] for x in first if " -> " in x] == [
        x.split(" -> ")[0] for x in second if " -> " in x
    ]
    assert resume(tmp_path / "model.pt").origin.seed == 3


@pytest.mark.slow
def test_an_older_file_of_a_text_goes_on_with_the_same_characters(
    capsys, tmp_path
):
    main(char(tmp_path, *STEPS))
    edited(tmp_path, silent)
    again = char(tmp_path, *MORE)
    assert "PATH is missing" in refusal(capsys, *without_path(again))
    other = char(tmp_path, *MORE, text=TEXT.replace("a", "o"))
    assert "other characters than its vocabulary" in refusal(capsys, *other)
    assert main(char(tmp_path, *MORE)) == 0
    said = capsys.readouterr().err
    assert "does not say what it was trained on, as older files do" in said
    assert main([*without_path(again), "--steps", "3"]) == 0


@pytest.mark.slow
def test_an_older_file_of_pairs_goes_on_where_that_is_safe(capsys, tmp_path):
    """On the corpus; pairs were split in another way."""
    main(translate(tmp_path, *STEPS))
    edited(tmp_path, silent)
    again = translate(tmp_path, *MORE)
    assert "not: give PATH, or" in refusal(capsys, *without_path(again))
    said = refusal(capsys, *again)
    assert "may be for the test of" in said
    assert "--force" in said
    assert main([*again, "--force"]) == 0
    main(without_path(translate(tmp_path, *STEPS, "--force")))
    edited(tmp_path, silent)
    assert "was trained on the English-Nepali" in refusal(capsys, *again)
    capsys.readouterr()
    assert main(without_path(again)) == 0
    said = capsys.readouterr().err
    assert "the English-Nepali corpus that comes with tformer_lite" in said


@pytest.mark.slow
def test_an_existing_file_is_replaced_when_that_is_typed(capsys, tmp_path):
    command = char(tmp_path, *STEPS)
    main(command)
    before = (tmp_path / "model.pt").read_bytes()
    said = refusal(capsys, *command)
    assert "is there already: --resume goes on from it, --force" in said
    assert (tmp_path / "model.pt").read_bytes() == before
    assert main([*command, "--force", "--seed", "1"]) == 0
    assert (tmp_path / "model.pt").read_bytes() != before


def test_no_text_and_no_checkpoint_is_one_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in ([], ["--resume"], ["--force"]):
        said = refusal(capsys, "train", "char", *words)
        assert "PATH is missing: give a text to train on" in said


def test_pairs_of_two_sentences_cannot_be_split(capsys, tmp_path):
    pairs = [(f"{'yes' if i % 2 else 'No'}.", f"{i} ।") for i in range(20)]
    said = refusal(capsys, *translate(tmp_path, pairs=pairs))
    assert "2 different source sentences cannot be split" in said


@pytest.mark.slow
def test_the_library_says_what_a_training_learned_from(tmp_path):
    main(translate(tmp_path, *STEPS, "--seed", "2"))
    found = resume(tmp_path / "model.pt").origin
    assert (found.path, found.split) == (str(tmp_path / "pairs.tsv"), "pairs")
    assert (found.share, found.seed) == (0.8, 2)
    main(without_path(translate(tmp_path, *STEPS, "--force")))
    found = resume(tmp_path / "model.pt").origin
    assert (found.path, found.split) == (None, "shipped")
    assert len(english_nepali("train")) > 1000


@pytest.mark.slow
def test_a_name_that_is_no_utf_8_is_no_hindrance(tmp_path):
    """Such names can be had on Linux; the file is asked for again."""
    words = char(tmp_path, *STEPS)
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")
    os.rename(tmp_path / "text.txt", odd)
    assert main([*words[:2], odd, *words[3:]]) == 0
    assert main([*words[:2], odd, *words[3:], *MORE]) == 0
