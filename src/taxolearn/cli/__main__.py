"""`python -m taxolearn.cli` is the same as `taxolearn`."""

from __future__ import annotations

from taxolearn.cli import main

if __name__ == "__main__":
    main()
