"""What Jupyter reads as it starts: chapters open as pairs, with words.

`make test` puts it where the Jupyter of .venv finds it. For another one:
jupyter lab --config=book/_tools/jupyter_server_config.py
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent))

c = get_config()  # noqa: F821, Jupyter defines it
c.ServerApp.contents_manager_class = "manager.ChapterManager"
