"""The calculator: exact values, its notation, and inputs that are made to keep it busy."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odysseus.tools.arithmetic import LENGTH_LIMIT, calculate
from odysseus.tools.exact import CalculationError, show

VALUES = [
    ("1 + 2*3", "7"),
    ("0.1 + 0.2", "0.3"),
    ("0.1*3 - 0.3", "0"),
    ("1.10 - 1", "0.1"),
    ("10/4", "2.5"),
    ("1/3 + 1/6", "0.5"),
    ("2/3", "2/3 ≈ 0.66666666666666666667"),
    ("-(1/3)", "-1/3 ≈ -0.33333333333333333333"),
    ("9007199254740993 + 0", "9007199254740993"),
    ("10**20 + 1", "100000000000000000001"),
    ("-2**2", "-4"),
    ("(-2)**2", "4"),
    ("2**3**2", "512"),
    ("2**-2", "0.25"),
    ("2^10", "1024"),
    ("--1 + +1", "2"),
    ("7//2", "3"),
    ("-7//2", "-4"),
    ("-7 % 3", "2"),
    ("7.5 % 2", "1.5"),
    ("8/2*4", "16"),
    ("8 - 2 - 3", "3"),
    ("3 × 4 ÷ 2 − 1", "5"),
    ("1_000 * 2", "2000"),
    (".5 + 5.", "5.5"),
    ("1.5e3 + 1E-2", "1500.01"),
    ("1\n+\t1", "2"),
    ("0**0", "1"),
    ("sqrt(16)", "4"),
    ("sqrt(2.25)", "1.5"),
    ("sqrt(10**400) / 10**200", "1"),
    ("sqrt(2)", "≈ 1.4142135623730950488"),
    ("2**0.5", "≈ 1.4142135623730950488"),
    ("abs(-3/4)", "0.75"),
    ("round(2.5)", "3"),
    ("round(-2.5)", "-3"),
    ("round(2.675, 2)", "2.68"),
    ("round(1234, -2)", "1200"),
    ("round(pi, 4)", "3.1416"),
    ("floor(-0.5)", "-1"),
    ("ceil(-0.5)", "0"),
    ("ceil(pi)", "4"),
    ("min(3, 1/4, pi)", "0.25"),
    ("max(1, pi, 3)", "≈ 3.1415926535897932385"),
    ("sum(1, 2, 3.5)", "6.5"),
    ("log(1000)", "3"),
    ("log(8, 2)", "3"),
    ("log(0.25, 2)", "-2"),
    ("log(2)", "≈ 0.30102999566398119521"),
    ("ln(1)", "0"),
    ("ln(e)", "≈ 1"),
    ("exp(0)", "1"),
    ("exp(1) - e", "≈ 0"),
    ("sin(pi)", "≈ 0"),
    ("cos(pi/2)", "≈ 0"),
    ("cos(0)", "≈ 1"),
    ("tan(pi/4)", "≈ 1"),
    ("SIN(1)**2 + Cos(1)**2", "≈ 1"),
    ("factorial(0)", "1"),
    ("factorial(25)", "15511210043330985984000000"),
    ("π", "≈ 3.1415926535897932385"),
    ("1000*(1 + 0.05/12)**360", "≈ 4467.7443140061322124"),
    ("2**20000", "≈ 3.9802768403379665924e+6020"),
    ("exp(-1000)", "≈ 5.0759588975494567653e-435"),
    ("2**101", "2535301200456458802993406410752 ≈ 2.535301200456458803e+30"),
]


@pytest.mark.parametrize(("expression", "shown"), VALUES)
def test_a_value_is_exact_where_it_can_be(expression: str, shown: str) -> None:
    assert show(calculate(expression)) == shown


WRONG = [
    ("", "ends too early"),
    ("  ", "ends too early"),
    ("1 +", "ends too early"),
    ("(1", "ends too early"),
    ("1)", "did not expect '\\)'"),
    ("()", "did not expect '\\)'"),
    ("2 3", "did not expect '3'"),
    ("2pi", "did not expect 'pi'"),
    ("1.2.3", "did not expect '.3'"),
    ("1,000", "without separators"),
    ("1 = 1", "does not know '='"),
    ("5!", "does not know '!'"),
    ("١ + 1", "does not know"),
    ("0x10", "did not expect 'x10'"),
    ("foo(1)", "There is no 'foo'. Known: sqrt"),
    ("x", "There is no 'x'"),
    ("sqrt", "needs its arguments"),
    ("sqrt 4", "needs its arguments"),
    ("pi(2)", "did not expect"),
    ("sqrt()", "did not expect"),
    ("sqrt(1, 2)", "sqrt takes 1 arguments, not 2"),
    ("log(1, 2, 3)", "log takes 1 to 2"),
    ("1/0", "by zero"),
    ("1 % 0", "by zero"),
    ("pi // 0", "by zero"),
    ("0**-1", "by zero"),
    ("log(5, 1)", "by zero"),
    ("sqrt(-1)", "negative number"),
    ("(-8)**(1/3)", "not a real number"),
    ("ln(0)", "Only positive"),
    ("log(-1)", "Only positive"),
    ("tan(pi/2)", "tangent has no value"),
    ("factorial(-1)", "factorial takes"),
    ("factorial(0.5)", "factorial takes"),
    ("factorial(pi)", "factorial takes"),
    ("round(1, 0.5)", "round takes"),
    ("sin(10**21)", "too large"),
    ("exp(2000) % 7", "too far apart"),
]


@pytest.mark.parametrize(("expression", "words"), WRONG)
def test_what_has_no_value_is_told(expression: str, words: str) -> None:
    with pytest.raises(CalculationError, match=words):
        calculate(expression)


HOSTILE = [
    "9**9**9",
    "9**9**9**9",
    "(-9)**9**9",
    "0.1**9**9**9",
    "10**-(9**9**9)",
    "1.0000001**(10**300)",
    "pi**(10**2000)",
    "1e999999999",
    "1e-999999999",
    "1e" + "9" * 900,
    "factorial(10**9)",
    "factorial(factorial(20))",
    "exp(10**9)",
    "exp(exp(exp(exp(9))))",
    "round(pi, 10**9)",
    "(" * 500 + "1" + ")" * 499,
    "-" * 999 + "1",
    "2**" * 333 + "2",
    "sqrt(" * 199 + "2",
    "9" * (LENGTH_LIMIT + 1),
    "1+" * 10_000_000,
    "__import__('os').system('true')",
    "(1).__class__",
    "lambda: 1",
    "[1 for _ in range(9)]",
    "1 if 1 else 2",
    "'a'*9**9",
    "\0",
    "1;1",
]


@pytest.mark.parametrize("expression", HOSTILE)
def test_what_is_made_to_keep_it_busy_is_refused_at_once(expression: str) -> None:
    begun = time.process_time()
    with pytest.raises(CalculationError):
        calculate(expression)
    assert time.process_time() - begun < 0.5


BUSY = [
    "*".join(["factorial(1000)"] * 60),
    "+".join(f"1/{number}" for number in range(100_003, 100_110)),
    "*".join(["1e999"] * 160),
    "+".join(["sin(1e19)"] * 99),
    "9" * LENGTH_LIMIT,
    "0." + "3" * 990,
    "sqrt(2**9999)",
    "log(7**3000, 7)",
    "round(exp(2000000), 2)",
    "floor(exp(2000000))",
    "(1/3)**6000",
    "1**9**9**3",
    "(-1)**(10**2999)",
    "0**(10**2999)",
]


@pytest.mark.parametrize("expression", BUSY)
def test_the_largest_of_what_it_takes_is_done_soon(expression: str) -> None:
    begun = time.process_time()
    assert len(show(calculate(expression))) < 4000
    assert time.process_time() - begun < 1.0


Made = tuple[str, Fraction]
"""An expression with its value as Python's own fractions make it."""

OPERATIONS: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": lambda a, b: Fraction(a // b),
    "%": operator.mod,
}


def join(left: Made, sign: str, right: Made) -> Made:
    sign = sign if right[1] or sign in "+-*" else "+"
    return f"({left[0]} {sign} {right[0]})", OPERATIONS[sign](left[1], right[1])


NUMBERS = st.decimals(-(10**6), 10**6, places=3).map(lambda number: (f"({number:f})", Fraction(number)))
EXPRESSIONS = st.recursive(
    NUMBERS, lambda parts: st.builds(join, parts, st.sampled_from(sorted(OPERATIONS)), parts), max_leaves=8
)


@given(EXPRESSIONS)
def test_it_agrees_with_fractions_to_the_last_digit(made: Made) -> None:
    expression, value = made
    assert calculate(expression) == value


@given(st.floats(min_value=-50, max_value=50))
def test_it_agrees_with_the_machine_where_that_is_right(x: float) -> None:
    text = f"{Decimal(x):f}"[:60]
    x = float(text)

    def near(name: str, expected: float, inner: str = "") -> None:
        value = calculate(f"{name}({inner}({text}))")
        assert float(value) == pytest.approx(expected, rel=1e-9, abs=1e-12)

    near("sin", math.sin(x))
    near("cos", math.cos(x))
    near("exp", math.exp(x))
    near("sqrt", math.sqrt(abs(x)), "abs")
    if abs(math.cos(x)) > 1e-3:
        near("tan", math.tan(x))
    if x > 1e-300:
        near("ln", math.log(x))


@given(st.text("0123456789.+-*/%(),eπsqrt^ ", max_size=40))
def test_any_text_has_a_value_or_a_reason(text: str) -> None:
    try:
        told = show(calculate(text))
    except CalculationError as error:
        told = error.message
    assert told
