"""The calculator's notation: reads an expression and works it out. No code is run.

Knows how expressions are written; what numbers are is in `exact`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from odysseus.tools import exact
from odysseus.tools.exact import CONSTANTS, FUNCTIONS, CalculationError, Value, bounded

LENGTH_LIMIT = 1000
DEPTH_LIMIT = 50
EXPONENT_LIMIT = 3000

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>\*\*|//|[-+*/%(),])|(?P<space>\s+)"
)
_SPELLINGS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "**", "π": "pi", "√": "sqrt"})

Operation = Callable[[Value, Value], Value]
_SUMS: Mapping[str, Operation] = {"+": exact.add, "-": exact.subtract}
_PRODUCTS: Mapping[str, Operation] = {
    "*": exact.multiply,
    "/": exact.divide,
    "//": exact.floor_divide,
    "%": exact.modulo,
}


def calculate(expression: str) -> Value:
    """The value of an expression. Takes milliseconds at most. Raises CalculationError."""
    if len(expression) > LENGTH_LIMIT:
        raise CalculationError(f"The expression is over {LENGTH_LIMIT:,} characters. Work it out in parts.")
    with bounded():
        return _Reader(_tokens(expression.translate(_SPELLINGS))).whole()


class _Token(NamedTuple):
    kind: str
    text: str


_END = _Token("end", "")


def _tokens(text: str) -> Sequence[_Token]:
    tokens, place = [], 0
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise CalculationError(f"The calculator does not know {text[place]!r}.")
        if found.lastgroup != "space":
            tokens.append(_Token(str(found.lastgroup), found.group()))
        place = found.end()
    return [*tokens, _END]


class _Reader:
    """Reads from left to right and works out what it has read. Powers bind before signs, like -2**2."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    def whole(self) -> Value:
        """The value of all of it."""
        value = self._sum()
        if self._next is not _END:
            raise self._unexpected()
        return value

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self, *signs: str) -> str:
        """The next sign if it is one of these, else nothing."""
        token = self._next
        if token.kind != "sign" or token.text not in signs:
            return ""
        self._place += 1
        return token.text

    def _unexpected(self) -> CalculationError:
        if self._next is _END:
            return CalculationError("The expression ends too early.")
        hint = " Write numbers without separators, like 1000." if self._next.text == "," else ""
        return CalculationError(f"The calculator did not expect {self._next.text!r} there.{hint}")

    def _sum(self) -> Value:
        return self._chain(_SUMS, self._product)

    def _product(self) -> Value:
        return self._chain(_PRODUCTS, self._signed)

    def _chain(self, operations: Mapping[str, Operation], part: Callable[[], Value]) -> Value:
        value = part()
        while sign := self._take(*operations):
            value = operations[sign](value, part())
        return value

    def _signed(self) -> Value:
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise CalculationError("The expression is nested too deeply. Work it out in parts.")
        sign = self._take("+", "-")
        value = self._signed() if sign else self._power()
        self._depth -= 1
        return -value if sign == "-" else value

    def _power(self) -> Value:
        value = self._atom()
        return exact.power(value, self._signed()) if self._take("**") else value

    def _atom(self) -> Value:
        token = self._next
        if token.kind == "number":
            self._place += 1
            return _number(token.text)
        if token.kind == "name":
            self._place += 1
            return self._named(token.text.lower())
        if not self._take("("):
            raise self._unexpected()
        value = self._sum()
        self._close()
        return value

    def _close(self) -> None:
        if not self._take(")"):
            raise self._unexpected()

    def _named(self, name: str) -> Value:
        if name in CONSTANTS:
            return +CONSTANTS[name]
        function = FUNCTIONS.get(name)
        if function is None:
            raise CalculationError(f"There is no {name!r}. Known: {', '.join([*FUNCTIONS, *CONSTANTS])}.")
        if not self._take("("):
            raise CalculationError(f"{name} needs its arguments in parentheses.")
        values = [self._sum()]
        while self._take(","):
            values.append(self._sum())
        self._close()
        if not function.least <= len(values) <= function.most:
            counts = f"{function.least}" if function.least == function.most else f"{function.least} to {function.most}"
            raise CalculationError(f"{name} takes {counts} arguments, not {len(values)}.")
        return function.work(*values)


def _number(text: str) -> Value:
    digits, _, exponent = text.replace("_", "").lower().partition("e")
    if len(exponent) > len(str(EXPONENT_LIMIT)) + 1 or abs(int(exponent or 0)) > EXPONENT_LIMIT:
        raise CalculationError(f"Exponents go to {EXPONENT_LIMIT:,}.")
    return exact.settled(Fraction(Decimal(digits)) * Fraction(10) ** int(exponent or 0))
