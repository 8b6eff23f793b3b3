"""What people say is right, appended to a file that `taxolearn fit` reads as it is."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from taxolearn.errors import DataError

try:
    import fcntl
except ImportError:  # Windows: one process serves there
    fcntl = None  # type: ignore[assignment]

_MOST_BYTES = 2**30


class Corrections:
    """A file of corrections: JSON lines of text and label, or libsvm lines where the model reads numbers.

    Several processes may append: a line is written as a whole, under a lock, or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     corrections = Corrections(Path(folder, "pets.jsonl"))
    ...     corrections.append("it purrs", ["Cat"], several=False, predicted=["Dog"])
    ...     json.loads(corrections.path.read_text())["label"]
    'Cat'
    """

    def __init__(
        self, path: Path, *, text_field: str = "text", label_field: str | None = None, libsvm: bool = False
    ) -> None:
        self.path = path
        self._text_field, self._label_field = text_field, label_field
        self._libsvm = libsvm
        self._lock = threading.Lock()
        if text_field == label_field:
            raise DataError(f"text and label cannot both be called {text_field!r}; give two names")
        self._check()

    def _check(self) -> None:
        """Whether lines can be appended, rather now than when somebody has made a correction."""
        new = not self.path.exists()
        try:
            with self.path.open("ab"):
                pass
            if new:
                self.path.unlink()
        except OSError as error:
            raise DataError(
                f"corrections cannot be written to {self.path} ({error.strerror}); give --corrections FILE"
            ) from None

    def append(
        self, text: str, labels: Sequence[Hashable], *, several: bool, predicted: Sequence[Hashable]
    ) -> None:
        """Append one correction."""
        line = (
            self._libsvm_line(text, labels)
            if self._libsvm
            else self._json_line(text, labels, several, predicted)
        )
        with self._lock, self._opened() as stream:
            end = stream.seek(0, os.SEEK_END)
            if end + len(line) > _MOST_BYTES:
                raise DataError(
                    f"the file of corrections has {end:,} bytes and takes no more; start another one"
                )
            if end:
                stream.seek(end - 1)
                if stream.read(1) != b"\n":  # somebody edited the file
                    line = b"\n" + line
            try:
                stream.seek(0, os.SEEK_END)
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    stream.truncate(end)
                raise

    @contextlib.contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        with os.fdopen(descriptor, "r+b", buffering=0) as stream:
            if fcntl is not None:
                fcntl.flock(stream, fcntl.LOCK_EX)
            yield stream  # the lock goes with the descriptor

    def _json_line(
        self, text: str, labels: Sequence[Hashable], several: bool, predicted: Sequence[Hashable]
    ) -> bytes:
        label = self._label_field or ("labels" if several else "label")
        names = [_plain(name) for name in labels]
        record = {
            self._text_field: text,
            label: names if several else names[0],
            "predicted": [_plain(name) for name in predicted],
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        return (json.dumps(record, ensure_ascii=True) + "\n").encode("ascii")

    def _libsvm_line(self, text: str, labels: Sequence[Hashable]) -> bytes:
        for name in labels:
            if any(c.isspace() or c in ",#:" for c in str(name)):
                raise DataError(
                    f"the label {str(name)!r} has a blank, comma, colon or #, which libsvm rows cannot hold"
                )
        return f"{','.join(map(str, labels))} {' '.join(text.split())}\n".encode()


def _plain(name: Hashable) -> Any:
    return name if isinstance(name, str | int) and not isinstance(name, bool) else str(name)
