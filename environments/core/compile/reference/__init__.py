"""What tools must do, worked out without running them: the interpreter of meanings, and the cases that it expects."""

from environments.core.compile.reference.cases import Uncovered, make_cases, uncovered
from environments.core.compile.reference.errors import UnspecifiedError
from environments.core.compile.reference.interpreter import Interpreter, Outcome

__all__ = ["Interpreter", "Outcome", "Uncovered", "UnspecifiedError", "make_cases", "uncovered"]
