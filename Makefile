# The Transformer, Shape by Shape. `make help` lists the commands.

PYTHON ?= python3
BIN := .venv/bin
# One thread each: with a busy neighbour, two threads are slower than one.
ONE := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 PYTHONHASHSEED=0
# Where our packages are found, by tools that import them.
HERE := PYTHONPATH=.:chapters:book/_tools

.PHONY: help book links weblinks test full check colab cpus nightly \
  sphinx extras zoo lint format notebooks transformer corpus results bench \
  font picture weights sizes atlas preview prints cards repository \
  version dist release browser answers alarm clean

help:
	@echo "make book       build the HTML book in _build/html"
	@echo "make test       build the book, run every chapter, test it: minutes"
	@echo "make full       every other test: each look of each page, and more"
	@echo "make check      the quickest tests: a minute"
	@echo "make notebooks  bring .md and .ipynb together, and run what changed"
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
	@touch $@

# Always from scratch: an incremental build hides warnings.
book: .venv/book.done
	@rm -rf _build/html _build/.doctrees
	@$(BIN)/jupyter-book build . -W -n --keep-going --quiet
	@$(BIN)/python book/_tools/packages.py _build/html
	@$(BIN)/python book/_tools/search_index.py _build/html
	@echo "The book: _build/html/index.html"

links: .venv/book.done
	@$(BIN)/python book/_tools/links.py

weblinks: .venv/book.done
	@$(BIN)/jupyter-book build . --builder linkcheck --quiet \
	  --path-output _build/weblinks

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
	@$(BIN)/python book/_tools/voice.py
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  -r .github/requirements.txt 2>/dev/null || test -z "$$GITHUB_ACTIONS"
	@if [ -x $(BIN)/actionlint ]; then $(BIN)/actionlint; else \
	  echo "actionlint cannot be fetched: the workflows are not checked."; fi

format: .venv/all.done
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# Several minutes: the notebooks, unchanged, as other processors would run
# them. These add up in other orders, so numbers part in the last bit, and
# nothing that a chapter prints may hang on that.
OWN := import torch; print(torch.backends.cpu.get_cpu_capability().lower())
cpus: .venv/all.done
	@own=$$($(BIN)/python -c "$(OWN)"); failed=; \
	kinds="$$own:AUTO default:COMPATIBLE"; case $$own in avx*) \
	kinds="$$kinds default:AVX2 avx2:COMPATIBLE avx2:AVX2";; esac; \
	for kind in $$kinds; do for threads in 1 2; do \
	  echo "==== $$kind with $$threads threads"; \
	  ATEN_CPU_CAPABILITY=$${kind%:*} MKL_CBWR=$${kind#*:} \
	  OMP_NUM_THREADS=$$threads MKL_NUM_THREADS=$$threads \
	  OMP_WAIT_POLICY=PASSIVE PYTHONHASHSEED=0 \
	  $(BIN)/python -m pytest chapters -q -n 2 --dist loadfile --nbval \
	    --nbval-current-env || failed="$$failed $$kind:$$threads"; \
	done; done; [ -z "$$failed" ] || { echo "Failed:$$failed"; exit 1; }

# `make test` runs a few, in which Colab's versions can make a difference.
colab: .venv/all.done
	@COLAB=all $(ONE) $(BIN)/python -m pytest tests/book/test_first_cell.py -q

# The tests with the newest of what readers have, in an environment of its own
# like `extras`; both fetch gigabytes.
NEWEST := torch|matplotlib|seaborn|transformers|tokenizers
nightly:
	@"$(PYTHON)" -m venv --clear _build/newest
	@sed -nE 's/^($(NEWEST))==.*/\1/; /^[a-z]/p' requirements.txt | xargs \
	  _build/newest/bin/python -m pip install -q -r book/requirements.txt
	@_build/newest/bin/python -m pip list
	@$(ONE) _build/newest/bin/python -m pytest tests chapters --nbval \
	  --nbval-current-env -m "not full" -n 2 --dist loadfile -q
	@$(ONE) $(HERE) _build/newest/bin/python book/_tools/atlas.py moved

# The pages with the newest Sphinx and theme. Jupyter Book would hold both
# back, so only its reading of _config.yml is taken, without what it asks for.
PLAIN := s/^([a-z][a-z0-9_-]*)==.*/\1/; /^jupyter-book$$/d; /^[a-z]/p
sphinx:
	@"$(PYTHON)" -m venv --clear _build/sphinx
	@sed -nE '$(PLAIN)' book/requirements.txt | xargs \
	  _build/sphinx/bin/python -m pip install -q click jsonschema pybtex \
	    linkify-it-py sphinx-comments sphinx-copybutton sphinx-external-toc
	@_build/sphinx/bin/python -m pip install -q --no-deps 'jupyter-book<2' \
	  sphinx-jupyterbook-latex sphinx-multitoc-numbering
	@_build/sphinx/bin/python -m pip list
	@trap 'rm -f conf.py' EXIT; \
	  _build/sphinx/bin/jupyter-book config sphinx . && \
	  PYTHONPATH=book/_ext _build/sphinx/bin/python -m sphinx -q -W -n \
	    --keep-going . _build/sphinx/html

# EXTRAS="alone bert" tries these alone.
extras:
	@"$(PYTHON)" book/_tools/extras.py $(EXTRAS)

# The book's own environment stays as it is.
zoo: .venv/all.done
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --upgrade --target _build/zoo -r tests/zoo.txt
	@ZOO=all $(ONE) PYTHONPATH=_build/zoo $(BIN)/python -m pytest \
	  tests/shapewatch/tracing/test_foreign.py tests/pytorch/test_tools.py -n 2 -q

# The models of the atlas, from their configurations: minutes.
atlas: .venv/all.done
	@$(ONE) $(HERE) $(BIN)/python book/_tools/atlas.py

notebooks: transformer
	@$(ONE) $(BIN)/python book/_tools/notebooks.py

# The cells in which readers build the model, in one file.
transformer: .venv/all.done
	@$(BIN)/python chapters/one_file.py

corpus: .venv/all.done
	@$(HERE) $(BIN)/python book/_tools/grammar.py
	@$(HERE) $(BIN)/python book/_tools/corpus_page.py

# RUNS="positions starts" does these alone.
results: .venv/all.done
	@$(ONE) $(HERE) $(BIN)/python -m benchmarks.results $(RUNS)

_build/tools.done: benchmarks/requirements.txt .venv/all.done
	-@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --upgrade --target _build/tools/site-packages \
	  -r benchmarks/requirements.txt
	@touch $@

# About twelve minutes on one thread, on a machine that does nothing else;
# NANOGPT=folder compares with a checkout of nanoGPT, too. Tools that cannot
# be had are left out.
bench: _build/tools.done
	@$(ONE) $(HERE):_build/tools/site-packages $(BIN)/python \
	  -m benchmarks.measure

# More than an hour: what `make test` does with a few seeds and one answer each.
answers: .venv/all.done
	@ANSWERS=all $(ONE) $(BIN)/python -m pytest tests/classroom -n 2 \
	  --dist load -q -k "seed or fault"

# What is shown of a page where its address is sent: for a book that has one.
cards: .venv/book.done
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  $$(grep -hE "^(playwright|pillow)==" requirements.txt book/constraints.txt)
	@$(BIN)/python book/_tools/share_cards.py _build/html

# Nepali's signs alone, as book.css says, and all that shapes them.
font: .venv/all.done
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --upgrade --target _build/brotli brotli==1.2.1
	@PYTHONPATH=_build/brotli $(BIN)/python -m fontTools.subset \
	  tformer_lite/drawing/fonts/NotoSansDevanagari-Regular.ttf \
	  --unicodes=U+0900-097F,U+200C-200D,U+20B9,U+25CC \
	  "--layout-features=*" --flavor=woff2 \
	  --output-file=book/_static/NotoSansDevanagari.woff2

picture: .venv/all.done
	@$(ONE) $(HERE) $(BIN)/python book/_tools/stored_pictures.py picture

weights: .venv/all.done
	@$(ONE) $(HERE) $(BIN)/python book/_tools/weights.py

sizes: .venv/all.done
	@$(ONE) $(HERE) $(BIN)/python book/_tools/sizes.py

# What book/own_model.md shows, with nanoGPT's real file: NANOGPT is the folder
# of a checkout; and book/other_tools.md.
prints: _build/tools.done
	@$(ONE) $(HERE):_build/tools/site-packages $(BIN)/python \
	  book/_tools/prints.py "$(NANOGPT)"

preview: .venv/all.done book
	@$(HERE) $(BIN)/python book/_tools/stored_pictures.py preview

# Both look afterwards at the addresses of pages, README and notebooks.
repository:
	@"$(PYTHON)" book/_tools/repository.py "$(URL)" "$(SITE)"
	@$(MAKE) --no-print-directory book links

version:
	@"$(PYTHON)" book/_tools/repository.py "$(VERSION)"
	@$(MAKE) --no-print-directory book links

# TAG=v0.2.0 makes sure that this is the version.
dist: .venv/book.done
	@grep -E "^(build|hatchling)==" requirements.txt | xargs \
	  $(BIN)/python -m pip -q install -c book/constraints.txt
	@$(BIN)/python book/_tools/dist.py

release:
	@find _build/release -type f -exec \
	  gh release create "$(TAG)" --verify-tag --generate-notes {} +

# As root, or with sudo; libatomic1 is for the program that leads the browser,
# bubblewrap for what grades notebooks; on a machine of CI it may work at once.
# A few pages are opened in Firefox and in WebKit, which needs a screen: xvfb.
USERNS := kernel.apparmor_restrict_unprivileged_userns
# Of the browsers any will do, and where nothing is to be done, nothing is.
browser:
	@command -v apt-get >/dev/null || exit 0; need=chromium; \
	for name in chromium chromium-browser google-chrome; do \
	  command -v $$name && need=; done; \
	dpkg -s libatomic1 >/dev/null 2>&1 || need="$$need libatomic1"; \
	command -v bwrap >/dev/null || need="$$need bubblewrap"; \
	fox=firefox; grep -qx ID=debian /etc/os-release && fox=firefox-esr; \
	command -v $$fox || need="$$need $$fox"; \
	command -v WebKitWebDriver || need="$$need webkit2gtk-driver"; \
	command -v xvfb-run || need="$$need xvfb"; \
	sudo=$$(command -v sudo); \
	[ -z "$$CI" ] || $$sudo sysctl -qw $(USERNS)=0 2>/dev/null || true; \
	[ -z "$$need" ] && exit; \
	$$sudo apt-get update -qq; $$sudo apt-get install -y -qq $$need

# On GitHub: the first failure of a nightly run opens an issue, and later ones
# are comments on it.
TITLE := The nightly run fails
alarm:
	@number=$$(gh issue list --search 'in:title "$(TITLE)"' --json number \
	  --jq '.[0].number // empty'); \
	text="$$GITHUB_SERVER_URL/$$GITHUB_REPOSITORY/actions/runs/$$GITHUB_RUN_ID"; \
	if [ -n "$$number" ]; then gh issue comment "$$number" --body "$$text"; \
	else gh issue create --title "$(TITLE)" --body "$$text"; fi

clean:
	rm -rf .venv _build .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
