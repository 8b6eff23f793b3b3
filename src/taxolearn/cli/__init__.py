"""The command line: `taxolearn fit`, `select`, `predict`, `evaluate`, `inspect`, `explain`, `convert`, `demo`, ..."""

from __future__ import annotations


def main() -> None:
    """Run the command line and leave with its exit code; nothing heavy is imported before it is needed.

    >>> callable(main)
    True
    """
    import sys

    from taxolearn.cli.app import prepare_process, run

    prepare_process()
    sys.exit(run())
