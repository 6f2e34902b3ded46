"""Why a worker process ended, from what the kernel says of it."""

import signal

from environments.runtime.sandbox import frames
from environments.runtime.sandbox.errors import (
    HarnessTampered,
    SandboxError,
    SandboxProtocolError,
    SandboxViolation,
    ToolCrash,
    ToolMemory,
    ToolTimeout,
)

EXIT_TAMPERED, EXIT_STRAY_TIMER = 5, 6  # serve.py's, which the host does not import


def explain_end(code: int, text: str) -> SandboxError:
    """The error for a worker's exit code (negative: the signal) and its last words."""
    if code < 0:
        return explain_signal(-code, text)
    if code == EXIT_TAMPERED:
        return HarnessTampered(text or "a tool changed the worker")
    if code == EXIT_STRAY_TIMER:
        return ToolTimeout("the soft timer fired between two calls")
    return ToolCrash(f"the worker ended with code {code}" + (f": {text[-600:]}" if text else ""))


def explain_signal(number: int, text: str = "") -> SandboxError:
    """The error for a process that a signal ended."""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    if number == signal.SIGSYS:
        return SandboxViolation("killed by the kernel for a forbidden system call")
    if number in (signal.SIGXCPU, signal.SIGPROF, signal.SIGALRM, signal.SIGVTALRM):
        return ToolTimeout(f"out of CPU time ({name})")
    if number == signal.SIGKILL:
        return ToolMemory("killed by the kernel: out of memory or of its last CPU second")
    return ToolCrash(name + (f": {text[-600:]}" if text else ""))


def explain_child(ended: frames.Ended) -> SandboxError:
    """The error for a transaction whose child did not end well."""
    if ended.end == "timeout":
        return ToolTimeout("the transaction ran past its time")
    if ended.end == "too_big":
        return SandboxProtocolError("the transaction's answer is longer than a frame")
    if ended.end == "silent":
        return ToolCrash("the transaction ended without an answer")
    if ended.end == "signal":
        return explain_signal(ended.number)
    return ToolCrash(f"the transaction ended with code {ended.number}")
