"""The file of chapters 14 and 17 is the module's model, learns any text and
goes on with it."""

import re
import subprocess
import sys
from runpy import run_path
from types import SimpleNamespace

import pytest
import torch
from packages import MY_GPT
from torch.testing import assert_close

from tformer_lite import Config, DecoderOnly, book_text

GPT = SimpleNamespace(**run_path(str(MY_GPT)))
SIZES = {"vocab_size": 11, "max_len": 8, "n_layers": 2, "d_model": 12}
SIZES |= {"n_heads": 3, "d_ff": 48}


def test_it_is_the_modules_decoder_with_the_same_weights():
    mine, ids = GPT.DecoderOnly(*SIZES.values()), torch.arange(8)[None]
    theirs = DecoderOnly(Config(**SIZES, bias=False, positions="learned"))
    theirs.load_state_dict(mine.state_dict())
    assert_close(mine(ids), theirs.eval()(ids))


def test_of_one_likeliest_it_takes_the_likeliest():
    model, ids = GPT.DecoderOnly(*SIZES.values()), torch.tensor([[3]])
    written = GPT.generate(model, ids, 20, top_k=1)
    for t in range(1, 21):
        logits = model(written[:, max(0, t - 8) : t])[0, -1]
        assert written[0, t] == logits.argmax()


def test_it_learns_a_text_and_goes_on_with_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_text.txt").write_text(book_text()[:5000], "utf8")
    GPT.main("train", "my_text.txt", "100")
    [loss] = re.findall(r"^100: loss (\d\.\d\d), on", capsys.readouterr().out)
    assert float(loss) < 3.2
    GPT.main("A model", "0", "5")
    assert re.fullmatch(r"A model(.|\n){500}\n", capsys.readouterr().out)
    with pytest.raises(SystemExit, match=r"has no \['é'\]"):
        GPT.main("A modél")


def test_what_it_cannot_do_it_says_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short.txt").write_text("too short")
    with pytest.raises(SystemExit, match=r"^short\.txt: 9 characters"):
        GPT.main("train", "short.txt")
    done = subprocess.run([sys.executable, MY_GPT, "Hi"], stderr=-1, text=True)
    assert done.returncode == 1
    assert re.match(r".*: 'my_gpt\.pt'\n\nA language model", done.stderr)
