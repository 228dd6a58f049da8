"""Values that need no reading are taken as they are.

Typer reads every parameter through pydantic, given or not, and importing that costs more than a whole answer.
"""

from collections.abc import Callable
from typing import Any


def lightened(parameters: list[Any]) -> list[Any]:
    """Let pydantic be imported only for values that have to be read: numbers, paths, choices."""
    for parameter in parameters:
        if not isinstance(parameter.get_runtime_param, _Reader):
            parameter.get_runtime_param = _Reader(parameter.type_descriptor.annotation, parameter.get_runtime_param)
    return parameters


class _Reader:
    """Reads one parameter; stands where Typer expects its own reader."""

    def __init__(self, annotation: Any, heavy: Callable[[], Any]) -> None:
        self._annotation = annotation
        self._heavy = heavy

    def __call__(self) -> "_Reader":
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None and not (param.multiple or param.nargs == -1):
            return None
        if self._is_read(value):
            return value
        return self._heavy().coerce(value, param=param, ctx=ctx)

    def _is_read(self, value: Any) -> bool:
        if self._annotation in (str, bool, int):
            # Of an int, only a default is one already: what somebody typed is still text, and its range unknown.
            return type(value) is self._annotation
        return self._annotation == list[str] and bool(value) and not isinstance(value, str)
