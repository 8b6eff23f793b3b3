"""Columns of any table that narwhals reads, as lists of Python values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from taxolearn.errors import TaxonomyError
from taxolearn.structure.names import hint, show

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw


def read_table(table: object) -> nw.DataFrame[Any]:
    """The table through narwhals; a lazy one is collected.

    >>> read_table([1, 2])
    Traceback (most recent call last):
    ...
    taxolearn.errors.TaxonomyError: expected a pandas, polars or pyarrow table, found [1, 2] (list)
    """
    import narwhals.stable.v2 as nw

    frame: nw.DataFrame[Any]
    try:
        found: Any = nw.from_native(table)
        frame = found.collect() if isinstance(found, nw.LazyFrame) else found
        frame.columns  # noqa: B018  some backends find duplicated columns only here
    except Exception as error:  # noqa: BLE001  each backend raises its own errors, all about the table
        if isinstance(error, TypeError):
            raise TaxonomyError(
                f"expected a pandas, polars or pyarrow table, found {show(table)} ({type(table).__name__})"
            ) from None
        raise TaxonomyError(f"the table cannot be read: {str(error).splitlines()[0]}") from None
    return frame


def columns_of(frame: nw.DataFrame[Any], names: Sequence[str], what: str) -> list[list[Any]]:
    """Some columns as lists; TaxonomyError when one is missing or the table has no rows.

    >>> import pandas
    >>> columns_of(read_table(pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})), ["b", "a"], "levels")
    [['x', 'y'], [1, 2]]
    """
    for name in names:
        if name not in frame.columns:
            raise TaxonomyError(f"{what}: the table has no column {show(name)}{hint(name, frame.columns)}")
    if not len(frame):
        raise TaxonomyError("the table has no rows; a taxonomy needs at least one node")
    return [frame.get_column(name).to_list() for name in names]
