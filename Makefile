# The Transformer, Shape by Shape. `make help` lists the commands.

PYTHON ?= python3
BIN := .venv/bin
# One thread each: with a busy neighbour, two threads are slower than one.
ONE := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONHASHSEED=0
# Where our packages are found, by tools that import them.
HERE := PYTHONPATH=.:chapters

.PHONY: help book links weblinks pdf test full check colab cpus nightly extras \
  zoo lint format notebooks corpus results bench lighthouse font \
  picture poster weights sizes preview repository version dist release \
  browser machine answers alarm clean

help:
	@echo "make book       build the HTML book in _build/html"
	@echo "make test       build the book, run every chapter, test it: minutes"
	@echo "make full       every other test: each look of each page, and more"
	@echo "make check      the quickest tests: a minute"
	@echo "make notebooks  bring .md and .ipynb together, and run what changed"
	@echo "make pdf        print the book as one PDF in _build/pdf"
	@echo "make lint       look for mistakes without running anything"
	@echo "make format     lay the code out as ruff does"
	@echo "make repository URL=https://... SITE=https://...  set the addresses"
	@echo "make clean      remove everything that make made"
	@echo
	@echo "PYTHON=python3.12 chooses the Python to set up with (3.11 or newer)."
	@echo "CONTRIBUTING.md names the others."

.venv/book.done: book/requirements.txt book/constraints.txt
	@"$(PYTHON)" book/_tools/environment.py .venv book/requirements.txt 1
	@touch $@

.venv/all.done: requirements.txt .venv/book.done
	@"$(PYTHON)" book/_tools/environment.py .venv requirements.txt 3
	@mkdir -p .venv/etc/jupyter
	@ln -sf ../../../book/_tools/jupyter_server_config.py .venv/etc/jupyter
	@touch $@

# Always from scratch: an incremental build hides warnings.
book: .venv/book.done
	@rm -rf _build/html _build/.doctrees
	@$(BIN)/jupyter-book build . -W -n --keep-going --quiet
	@$(BIN)/python book/_tools/packages.py _build/html
	@echo "The book: _build/html/index.html"

links: .venv/book.done
	@$(BIN)/python book/_tools/links.py

weblinks: .venv/book.done
	@$(BIN)/jupyter-book build . --builder linkcheck --quiet \
	  --path-output _build/weblinks

# Fails where a figure is cut, a line is too wide or a link leads nowhere.
pdf: .venv/all.done book
	@$(BIN)/python book/_tools/pdf.py

# Each of the three runs what the one before left out: `check` what is quick,
# `test` also what is marked slow, and the chapters; `full` what is marked so.
PYTEST := $(ONE) $(BIN)/python -m pytest -q -n 2 --dist loadfile

test: .venv/all.done book
	@$(PYTEST) tests chapters --nbval --nbval-current-env -m "not full"

full: .venv/all.done book
	@$(PYTEST) tests -m full

# For the loop of edit and run.
check: .venv/all.done
	@$(PYTEST) tests -m "not slow and not full"

lint: .venv/all.done
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m mypy --cache-dir _build/mypy
	@$(BIN)/codespell
	@$(BIN)/python book/_tools/workflows.py

format: .venv/all.done
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# Several minutes: for the night, or by hand after a change of the numbers.
cpus: .venv/all.done
	@$(BIN)/python book/_tools/cpus.py

# `make test` runs a few, in which Colab's versions can make a difference.
colab: .venv/all.done
	@COLAB=all $(ONE) $(BIN)/python -m pytest tests/book/test_colab.py -q

# In an environment of its own, like `extras`; both fetch gigabytes.
nightly:
	@"$(PYTHON)" book/_tools/newest.py

# EXTRAS="alone bert" tries these alone.
extras:
	@"$(PYTHON)" book/_tools/extras.py $(EXTRAS)

# The book's own environment stays as it is.
zoo: .venv/all.done
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --upgrade --target _build/zoo -r tests/zoo.txt
	@ZOO=all $(ONE) PYTHONPATH=_build/zoo $(BIN)/python -m pytest \
	  tests/shapewatch/tracing/test_foreign.py -n 2 -q

notebooks: .venv/all.done
	@$(ONE) $(HERE) $(BIN)/python book/_tools/shapes.py
	@$(ONE) $(HERE) $(BIN)/python book/_tools/exercise_list.py
	@$(ONE) $(BIN)/python book/_tools/notebooks.py

corpus: .venv/all.done
	@$(HERE) $(BIN)/python book/_tools/grammar.py
	@$(HERE) $(BIN)/python book/_tools/corpus_page.py

# RUNS="positions wider" does these alone.
results: .venv/all.done
	@$(ONE) $(HERE) $(BIN)/python -m benchmarks.results $(RUNS)

# About twelve minutes on one thread, on a machine that does nothing else;
# QUICK=1 only tries everything out, NANOGPT=folder compares with a checkout
# of nanoGPT, too. Tools that cannot be had are left out.
bench: .venv/all.done
	-@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --upgrade --target _build/bench/tools \
	  -r benchmarks/requirements.txt
	@$(ONE) $(HERE):_build/bench/tools $(BIN)/python \
	  -m benchmarks.measure

# Some minutes: what `make test` does with a few seeds and one answer each.
answers: .venv/all.done
	@ANSWERS=all $(ONE) $(BIN)/python -m pytest tests/classroom -n 2 \
	  --dist load -q -k "seed or fault"

# PAGES="chapters/06_scores.html ..." these alone; all take half an hour.
lighthouse: .venv/all.done
	@$(BIN)/python book/_tools/lighthouse.py $(PAGES)

font: .venv/all.done
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --upgrade --target _build/brotli brotli==1.2.1
	@PYTHONPATH=_build/brotli $(BIN)/python book/_tools/webfont.py

picture: .venv/all.done
	@$(BIN)/python book/_tools/architecture.py
	@$(ONE) $(HERE) $(BIN)/python book/_tools/landing.py

weights: .venv/all.done
	@$(ONE) $(HERE) $(BIN)/python book/_tools/weights.py

sizes: .venv/all.done
	@$(ONE) $(HERE) $(BIN)/python book/_tools/sizes.py

poster: .venv/all.done
	@$(ONE) $(HERE) $(BIN)/python book/_tools/poster.py
	@mkdir -p _build
	@cp book/_static/poster.pdf _build

preview: .venv/all.done book
	@$(BIN)/python book/_tools/preview.py

repository:
	@"$(PYTHON)" book/_tools/repository.py "$(URL)" "$(SITE)"

version:
	@"$(PYTHON)" book/_tools/version.py "$(VERSION)"

# TAG=v0.2.0 makes sure that this is the version.
dist: .venv/all.done
	@$(BIN)/python book/_tools/dist.py

release:
	@find _build/release -type f -exec \
	  gh release create "$(TAG)" --verify-tag --generate-notes {} +

# As root, or with sudo; libatomic1 is for the program that leads the browser,
# bubblewrap for what grades notebooks; on a machine of CI it may work at once.
USERNS := kernel.apparmor_restrict_unprivileged_userns
# Of the browsers any will do, and where nothing is to be done, nothing is.
browser:
	@command -v apt-get >/dev/null || exit 0; need=chromium; \
	for name in chromium chromium-browser google-chrome; do \
	  command -v $$name && need=; done; \
	dpkg -s libatomic1 >/dev/null 2>&1 || need="$$need libatomic1"; \
	command -v bwrap >/dev/null || need="$$need bubblewrap"; \
	sudo=$$(command -v sudo); \
	[ -z "$$CI" ] || $$sudo sysctl -qw $(USERNS)=0 2>/dev/null || true; \
	[ -z "$$need" ] && exit; \
	$$sudo apt-get update -qq; $$sudo apt-get install -y -qq $$need

# SUITE=testing has a newer Python; CARRY="/etc/pip.conf ..." goes along.
machine:
	@"$(PYTHON)" book/_tools/fresh_machine.py $(or $(SUITE),bookworm) $(CARRY)

alarm:
	@"$(PYTHON)" book/_tools/alarm.py

clean:
	rm -rf .venv _build install.log .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
