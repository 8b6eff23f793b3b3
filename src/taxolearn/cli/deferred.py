"""`scipy.stats` only when somebody uses it: half of the time of a short command goes into importing it.

scikit-learn imports it at the top for a function that nothing here calls (sklearn.utils.fixes).
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class Deferred(ModuleType):
    """A stand-in for a module that becomes the module at the first use of a name in it.

    importlib's own LazyLoader does not help: a second import statement counts as a use there.

    >>> stand_in = Deferred("fractions")
    >>> stand_in.Fraction(1, 2)
    Fraction(1, 2)
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__path__":  # asked for by the import system itself
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = importlib.import_module(self.__name__)
        self.__dict__.update(module.__dict__)
        return getattr(module, name)


def defer(name: str) -> None:
    """Let `import name` succeed at once, and the real import happen when it is used.

    >>> import fractions
    >>> defer("fractions")  # already there: nothing to do
    >>> sys.modules["fractions"] is fractions
    True
    """
    sys.modules.setdefault(name, Deferred(name))
