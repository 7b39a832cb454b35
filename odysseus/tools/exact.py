"""Numbers for the calculator: exact where they can be, right to many digits where they cannot, and never too large.

Must be used inside `bounded()`, which sets how decimals are worked out. Knows no notation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, DecimalException, localcontext
from fractions import Fraction

from odysseus.errors import BadRequest

BITS_LIMIT = 10_000
FACTORIAL_LIMIT = 1000
PLACES_LIMIT = 100
PRECISION = 50
SHOWN = 20
"""Digits shown of a number that is not exact."""
FRACTION_SHOWN = 100

Value = Fraction | Decimal
"""A Fraction is exact; a Decimal is not."""

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
E = Decimal("2.71828182845904523536028747135266249775724709369995957496696763")
# Past this, the digits of pi do not say any more where on the circle an angle is.
_ANGLE_LIMIT = Decimal(10) ** 20
_ANGLE_PLACES = Decimal(1).scaleb(-40)


class CalculationError(BadRequest):
    """The expression cannot be read or has no value; says where or why."""


@contextmanager
def bounded() -> Iterator[None]:
    """Work with decimals of 50 digits. What has no value raises CalculationError."""
    with localcontext(Context(prec=PRECISION, Emin=-999_999, Emax=999_999)):
        try:
            yield
        except ZeroDivisionError as error:
            raise CalculationError("Division by zero has no value.") from error
        except DecimalException as error:
            raise CalculationError("A value on the way is too large, or not a real number.") from error


def settled(value: Fraction) -> Value:
    """The value itself, or about, when its exact form has grown too large."""
    large = max(value.numerator.bit_length(), value.denominator.bit_length()) > BITS_LIMIT
    return _decimal(value) if large else value


def add(a: Value, b: Value) -> Value:
    return settled(a + b) if isinstance(a, Fraction) and isinstance(b, Fraction) else _decimal(a) + _decimal(b)


def subtract(a: Value, b: Value) -> Value:
    return add(a, -b)


def multiply(a: Value, b: Value) -> Value:
    return settled(a * b) if isinstance(a, Fraction) and isinstance(b, Fraction) else _decimal(a) * _decimal(b)


def divide(a: Value, b: Value) -> Value:
    return settled(a / b) if isinstance(a, Fraction) and isinstance(b, Fraction) else _decimal(a) / _decimal(b)


def floor_divide(a: Value, b: Value) -> Value:
    return floor(divide(a, b))


def modulo(a: Value, b: Value) -> Value:
    """What is left after floor_divide; it has the sign of `b`."""
    whole = floor_divide(a, b)
    if isinstance(whole, Decimal):
        raise CalculationError("The numbers are too far apart: no digit of the remainder is known.")
    return subtract(a, multiply(b, whole))


def power(a: Value, b: Value) -> Value:
    if isinstance(a, Fraction) and isinstance(b, Fraction) and b.denominator == 1:
        return _whole_power(a, b.numerator)
    return _decimal(a) ** _decimal(b)


def _whole_power(a: Fraction, n: int) -> Value:
    if not a and n < 0:
        raise ZeroDivisionError
    if abs(a) == 1 or not a:
        return a ** (min(n, 1) if not a else n % 2)
    bits = max(a.numerator.bit_length(), a.denominator.bit_length())
    if (bits - 1) * abs(n) > BITS_LIMIT:
        return _decimal(a) ** Decimal(n)
    return settled(a**n)


def floor(a: Value) -> Value:
    if isinstance(a, Fraction):
        return Fraction(math.floor(a))
    whole = a.to_integral_value(ROUND_FLOOR)
    return Fraction(int(whole)) if whole.adjusted() < PRECISION else whole


def ceil(a: Value) -> Value:
    return -floor(-a)


def round_(a: Value, places: Value = Fraction(0)) -> Value:
    """To so many places, halves away from zero."""
    if not isinstance(places, Fraction) or places.denominator != 1 or abs(places) > PLACES_LIMIT:
        raise CalculationError(f"round takes a whole number of places up to {PLACES_LIMIT}.")
    if isinstance(a, Decimal) and a.adjusted() > PRECISION:
        return a
    whole = Fraction(a) if isinstance(a, Fraction) or a.adjusted() > -2 * PLACES_LIMIT else Fraction(0)
    scale = Fraction(10) ** places.numerator
    nearest = math.floor(abs(whole) * scale + Fraction(1, 2)) / scale
    return settled(-nearest if whole < 0 else nearest)


def sqrt(a: Value) -> Value:
    if a < 0:
        raise CalculationError("The square root of a negative number is not a real number.")
    if isinstance(a, Fraction):
        top, bottom = math.isqrt(a.numerator), math.isqrt(a.denominator)
        if (top * top, bottom * bottom) == (a.numerator, a.denominator):
            return Fraction(top, bottom)
    return _decimal(a).sqrt()


def ln(a: Value) -> Value:
    if a <= 0:
        raise CalculationError("Only positive numbers have a logarithm.")
    return Fraction(0) if a == 1 else _decimal(a).ln()


def log(a: Value, base: Value = Fraction(10)) -> Value:
    """To base 10 or another, exact where it is a whole number."""
    found = _decimal(ln(a)) / _decimal(ln(base))
    if isinstance(a, Fraction) and isinstance(base, Fraction):
        nearest = int(found.to_integral_value())
        if abs(nearest) <= BITS_LIMIT and abs(found - nearest) < _ANGLE_PLACES and base**nearest == a:
            return Fraction(nearest)
    return found


def exp(a: Value) -> Value:
    return _decimal(a).exp() if a else Fraction(1)


def sin(a: Value) -> Value:
    return _sine(_decimal(a), Decimal(0))


def cos(a: Value) -> Value:
    return _sine(_decimal(a), PI / 2)


def tan(a: Value) -> Value:
    below = _decimal(cos(a))
    if not below:
        raise CalculationError("The tangent has no value there.")
    return _decimal(sin(a)) / below


def factorial(a: Value) -> Value:
    if not isinstance(a, Fraction) or a.denominator != 1 or not 0 <= a <= FACTORIAL_LIMIT:
        raise CalculationError(f"factorial takes a whole number from 0 to {FACTORIAL_LIMIT}.")
    return Fraction(math.factorial(a.numerator))


def total(*values: Value) -> Value:
    result: Value = Fraction(0)
    for value in values:
        result = add(result, value)
    return result


def least(*values: Value) -> Value:
    return min(values, key=_comparable(values))


def greatest(*values: Value) -> Value:
    return max(values, key=_comparable(values))


@dataclass(frozen=True, slots=True)
class Function:
    """A function, and how many arguments it takes at least and at most."""

    work: Callable[..., Value]
    least: int = 1
    most: int = 1


FUNCTIONS: Mapping[str, Function] = {
    "sqrt": Function(sqrt),
    "abs": Function(abs),
    "round": Function(round_, 1, 2),
    "floor": Function(floor),
    "ceil": Function(ceil),
    "min": Function(least, 1, 100),
    "max": Function(greatest, 1, 100),
    "sum": Function(total, 1, 100),
    "log": Function(log, 1, 2),
    "ln": Function(ln),
    "exp": Function(exp),
    "sin": Function(sin),
    "cos": Function(cos),
    "tan": Function(tan),
    "factorial": Function(factorial),
}
CONSTANTS: Mapping[str, Decimal] = {"pi": PI, "e": E}


def show(value: Value) -> str:
    """A value for people: exactly, then about, where the exact form is no plain number."""
    if isinstance(value, Decimal):
        return f"≈ {_rounded(value)}"
    plain, about = _plain(value), _rounded(_decimal(value))
    if plain and len(plain) <= SHOWN + 10:
        return plain
    exact = plain or str(value)
    # The two halves of a long fraction tell nobody anything.
    return f"{exact} ≈ {about}" if plain or len(exact) <= FRACTION_SHOWN else f"≈ {about}"


def _plain(value: Fraction) -> str:
    """An exact decimal number; empty where it would not end within 60 places."""
    places = next((n for n in range(61) if 10**n % value.denominator == 0), None)
    if places is None:
        return ""
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    whole, part = (digits[:-places], digits[-places:]) if places else (digits, "")
    return f"{'-' if value < 0 else ''}{whole}{'.' if part else ''}{part}"


def _rounded(value: Decimal) -> str:
    short = Context(prec=SHOWN).create_decimal(value).normalize()
    if not short:
        return "0"
    return f"{short:f}" if -7 <= short.adjusted() <= SHOWN else f"{short:E}".replace("E", "e")


def _decimal(value: Value) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(value.numerator) / Decimal(value.denominator)


def _comparable(values: Sequence[Value]) -> Callable[[Value], Value]:
    """How to compare them: exactly if they all are."""
    return _decimal if any(isinstance(value, Decimal) for value in values) else lambda value: value


def _sine(angle: Decimal, shift: Decimal) -> Decimal:
    """The sine of both together, to 40 places."""
    if abs(angle) > _ANGLE_LIMIT:
        raise CalculationError("The angle is too large. Take whole turns (2*pi) off it first.")
    with localcontext(Context(prec=2 * PRECISION)):
        x = (angle + shift).remainder_near(2 * PI)
        term = result = x
        n = 1
        while abs(term) > _ANGLE_PLACES.scaleb(-20):
            n += 2
            term = -term * x * x / (n * (n - 1))
            result += term
        return result.quantize(_ANGLE_PLACES)
