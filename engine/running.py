"""What a page asks of the reader's file: that it runs, translates, is counted,
and trains."""

import builtins
import json
import sys

import js
import torch

FILE = "my_transformer.py"
place = {}  # the names that the file has defined
shown_before = builtins.print


def shown(*values, **how):
    """Print tensors as PyTorch does."""
    own = torch.Tensor, torch.Size
    texts = [x.__repr__() if isinstance(x, own) else x for x in values]
    shown_before(*texts, **how)


builtins.print = shown


def from_file(name):
    """Give what the file has under a name."""
    if name not in place:
        raise NameError(f"the file has no {name}, which this page needs")
    return place[name]


def run(text, name, *args):
    """Run the file: under the name __main__ as the command does, or to have
    its names."""
    place.clear()
    place["__name__"] = name
    sys.argv[:] = [FILE] + list(args)
    exec(compile(text, FILE, "exec"), place)


def translate(sentence, wrote=None):
    """Translate, and let the model read it once, for a page to watch; or do
    that with another's translation."""
    model, english, nepali = from_file("load")()
    model.eval()
    if wrote is None:
        wrote = from_file("translate")(sentence, model, english, nepali)
    length = len(model.src_embedding.positions.table)
    text = sentence.lower().partition("|")[0]
    read = from_file("encode")(text, english, length)
    written = from_file("encode")(wrote, nepali, length)[:, :length]
    looked.update({"model": model, "read": read, "written": written})
    looked["names"] = words_of(nepali)
    look(written)
    words = from_file("split")(wrote) + ["[EOS]"]
    return {
        "translation": wrote,
        "read": ["[SOS]"] + from_file("split")(text) + ["[EOS]"],
        "written": words[:length],
        "chances": [],
    }


looked = {}  # what was last translated, and by which model


def look(tgt):
    model, read = looked["model"], looked["read"]
    with torch.no_grad():
        js.watch.begin(names_in(model, src=read, tgt=tgt))
        logits = model(read, tgt)
        js.watch.end()
    return logits


def when_writing(t):
    """Look at the moment when the t-th word is written, and nothing behind
    it: its likeliest words."""
    tgt = looked["written"].clone()
    tgt[:, t + 1 :] = from_file("PAD")
    row = look(tgt)[0, t].softmax(-1).tolist()
    order = sorted(range(len(row)), key=lambda i: -row[i])[:4]
    names = looked["names"]
    return [[names.get(i, "[UNK]"), number(row[i])] for i in order]


def names_in(model, **given):
    """Name the modules, and the tensors that no step makes."""
    named = model.named_tensors() + list(given.items())
    return json.dumps({
        "modules": {id(m): path for path, m in model.named_modules()},
        "tensors": {x.own.number: name for name, x in named},
    })  # fmt: skip


def words_of(ids):
    names = {number: word for word, number in ids.items()}
    names.update({1: "[PAD]", 2: "[SOS]", 3: "[EOS]"})
    return names


def encoded(rows, ids, length):
    return torch.cat([from_file("encode")(text, ids, length) for text in rows])


def test_rows(words, length):
    """Give the test's sentences, and the ids of both sides."""
    *both, tests = from_file("read_pairs")("pairs.tsv")
    asked, answers = zip(*[row for row in zip(*both) if row[0] in tests])
    src, tgt = [encoded(x, y, length) for x, y in zip((asked, answers), words)]
    return asked, src, tgt


def count():
    """Translate all test sentences, in one batch, and count the right ones."""
    model, *words = from_file("load")()
    model.eval()
    length = len(model.src_embedding.positions.table)
    asked, src, tgt = test_rows(words, length)
    return {"right": right_of(model, asked, src, tgt), "of": len(set(asked))}


def number(x):
    """Give a number, or None for what JSON has no word for."""
    return x if x - x == 0 else None


def right_of(model, asked, src, tgt):
    """Count sentences that get one of their translations."""
    right = (from_file("greedy")(model, src) == tgt).all(-1).tolist()
    return len({text for text, yes in zip(asked, right) if yes})


class BegunError(Exception):
    """train() has come as far as learn(): here is what it would learn from."""


class Training:
    """The file's own training, a few steps at a time."""

    def __init__(self, seed, steps, sentences, sample):
        learn, vocabulary = from_file("learn"), from_file("vocabulary")
        words, given = [], []

        def keep_words(texts):
            words.append(vocabulary(texts))
            return words[-1]

        def keep_given(*values):
            given.extend(values)
            raise BegunError

        place.update({"learn": keep_given, "vocabulary": keep_words})
        try:
            from_file("train")("pairs.tsv", "trained.pt", steps, seed)
        except BegunError:
            pass
        place.update({"learn": learn, "vocabulary": vocabulary})
        self.model, self.words = given[0], words
        self.losses = learn(*given)
        length = given[1].shape[1]
        self.asked, self.src, self.tgt = test_rows(words, length)
        self.every = max(1, len(self.asked) // sample)
        self.place = dict(place)
        self.watch(sentences)

    def watch(self, sentences):
        """Take sentences to write, with the names that the file had then."""
        place.update(self.place)
        length = self.src.shape[1]
        self.sentences = encoded(sentences, self.words[0], length)

    def go_on(self, steps):
        """Learn: the losses, fewer than `steps` at the end."""
        found = []
        for loss in self.losses:
            found.append(number(loss))
            if len(found) == steps:
                break
        return found

    def counts(self, whole=False):
        """Tell how many test sentences are right, or of a sample."""
        rows = range(0, len(self.src), 1 if whole else self.every)
        asked = [self.asked[i] for i in rows]
        self.model.eval()
        right = right_of(self.model, asked, self.src[rows], self.tgt[rows])
        self.model.train()
        return {"right": right, "of": len(set(asked))}

    def writes(self):
        """Write the sentences that are watched."""
        model = self.model
        model.eval()
        with torch.no_grad():
            written = from_file("greedy")(model, self.sentences)
            js.watch.begin(names_in(model))
            model(self.sentences, written)
            js.watch.end()
        model.train()
        names = words_of(self.words[1])
        shots = []
        for row in written.tolist():
            end = row.index(3) if 3 in row else len(row)
            shots.append([names.get(i, "[UNK]") for i in row[1:end]])
        return shots


# --- Write it here ----------------------------------------------------------


def check(text, cell, own):
    """Compare what `own` makes with what `cell` makes, in whose place it
    stands: for each name, on all that came in when a sentence was translated,
    and when the model read a shorter one, which has padding."""
    lines = [x.replace("(", " ").replace(":", " ") for x in cell.split("\n")]
    firsts = [line.split(" ")[:2] for line in lines]
    names = [x[1] for x in firsts if x[0] in ("def", "class")]
    calls = {name: [] for name in names}
    run(text, "my_transformer")
    for name in names:
        part = place[name]
        if isinstance(part, type):
            part.forward = kept(part.forward, calls[name])
            part.__init__ = with_given(part.__init__)
        else:
            place[name] = kept(part, calls[name])
    model, *words = from_file("load")()
    wrote = from_file("translate")("the hungry dog saw hari.", model, *words)
    src = from_file("encode")("we saw ram.", words[0])
    model(src, from_file("encode")(wrote, words[1]))
    run(text.replace(cell, own), "my_transformer")
    return [compared(name, list(calls[name])) for name in names]


def compared(name, calls):
    """Do again what was kept, and say what differs first."""
    found = {
        "name": name,
        "says": "" if name in place else "is not there yet.",
    }
    for given, named, book in calls:
        if found["says"]:
            break
        part = place[name]
        if isinstance(part, type):
            before, given = given[0], given[1:]
            part = anew(part, before.given)
            found["says"] = unlike(part, anew(type(before), before.given))
            if found["says"]:
                break
            part.load_state_dict(before.state_dict())
        with torch.no_grad():
            mine = part(*given, **named)
        found["says"] = difference(mine, book)
        if isinstance(mine, torch.Tensor) and "made" not in found:
            read = [x for x in given if isinstance(x, torch.Tensor)]
            found["given"] = [list(x.shape) for x in read]
            found["made"] = list(mine.shape)
    return found


def anew(kind, given):
    """Make a module with the numbers that one seed draws."""
    torch.manual_seed(1)
    return kind(*given)


def unlike(part, book):
    """Say which parameter a new module lacks, or has drawn too large or too
    small: another order of drawing gives other numbers, but no such ones."""
    own, book = part.state_dict(), book.state_dict()
    for key in book:
        if key not in own:
            return f"has no {key} yet, and the book's numbers look for it."
        x, y = [z[key].square().mean().item() ** 0.5 for z in (own, book)]
        if not y / 1.3 <= x <= y * 1.3:
            size = "larger" if x > y else "smaller"
            says = f"begins with {size} numbers in {key}: about {x:.2g}"
            return f"{says}, the book's {y:.2g}."
    return ""


def kept(f, calls):
    """Keep what f is given, as it is then, and what it makes of it."""

    def keeping(*given, **named):
        then = [x.clone() if isinstance(x, torch.Tensor) else x for x in given]
        calls.append((then, named, f(*given, **named)))
        return calls[-1][-1]

    return keeping


def with_given(init):
    def begin(self, *given):
        init(self, *given)
        object.__setattr__(self, "given", given)

    return begin


def difference(mine, book):
    """Say how a result differs from the book's: "" if it does not."""
    if mine is None and book is not None:
        return "gives None: is there a return?"
    if type(mine) is tuple and type(book) is tuple and len(mine) == len(book):
        says = [difference(x, y) for x, y in zip(mine, book)]
        return ([x for x in says if x] + [""])[0]
    if isinstance(mine, torch.nn.Module) and isinstance(book, torch.nn.Module):
        mine, book = [tuple(x.state_dict().values()) for x in (mine, book)]
        return difference(mine, book)
    if not isinstance(book, torch.Tensor):
        same = repr(mine) == repr(book)
        return "" if same else f"gives {mine!r:.80}, the book's {book!r:.80}."
    if not isinstance(mine, torch.Tensor):
        return f"gives no tensor but something of type {type(mine).__name__}."
    says = "gives the right shape"
    if mine.shape != book.shape:
        says = f"gives {tuple(mine.shape)}, the book's {tuple(book.shape)}"
    elif mine.kind != book.kind:
        return f"gives {mine.dtype}, the book's {book.dtype}."
    elif close(mine, book).all():
        return ""
    for a in range(book.ndim):
        for b in range(a):
            other = book.transpose(a, b)
            if other.shape == mine.shape and close(mine, other).all():
                axes = f"axes {b} and {a} swapped"
                return f"{says}: the same numbers, with {axes}."
    if mine.shape != book.shape:
        return says + "."
    if mine.isnan().any():
        return f"{says}, and NaN in it. Is a whole row hidden?"
    one, other = mine.float().flatten(), book.float().flatten()
    at = other.abs().argmax().item()
    factor = (one[at] / other[at]).item()
    if close(one, other * factor).all():
        return f"{says}; every number is {factor:.4g} times the book's."
    first = far = close(one, other).tolist().index(False)
    where = []
    for n in reversed(book.shape):
        where.insert(0, far % n)
        far //= n
    x, y = one[first].item(), other[first].item()
    says += f"; the first number that differs, at {where}, is {x:.5g}"
    return f"{says}, the book's {y:.5g}."


def close(x, y):
    """Compare numbers; infinities, and what is no number, are equal to
    themselves."""
    same = (x == y).logical_or(x.isnan().logical_and(y.isnan()))
    return same.logical_or((x - y).abs() <= 1e-4 * (1 + y.abs()))
