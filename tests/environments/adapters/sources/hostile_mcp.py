"""MCP servers over standard input and output that misbehave: `python hostile_mcp.py WAY [FILE]`.

Standard library only. Whoever starts children writes their process ids into FILE.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOOL = {"name": "tool", "description": "Does it.", "inputSchema": {"type": "object", "properties": {}}}
CHILD = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(300)"]  # then FILE, by which tests find it


def write(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def say(value: Any) -> None:
    write(json.dumps(value))


def serve(tools: Callable[[dict[str, Any]], Any], greeting: str = "") -> None:
    """An honest handshake, then whatever `tools` answers for a page."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "initialize":
            if greeting:
                write(greeting)
            say({**answer, "result": {
                "protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "hostile", "version": "1"},
            }})  # fmt: skip
        elif message["method"] == "tools/list":
            say({**answer, "result": tools(message.get("params") or {})})
        else:
            say({**answer, "error": {"code": -32601, "message": "Method not found"}})


def start_children(file: Path, count: int) -> None:
    # Every second one leaves the process group and the session, as a daemon does.
    ids = [subprocess.Popen([*CHILD, str(file)], start_new_session=bool(number % 2)).pid for number in range(count)]
    file.write_text(json.dumps([os.getpid(), *ids]))


def endless(parameters: dict[str, Any]) -> dict[str, Any]:
    number = int(parameters.get("cursor") or 0)
    page = [{**TOOL, "name": f"tool_{number + place}"} for place in range(2_500)]
    return {"tools": page, "nextCursor": str(number + 2_500)}


def main(way: str, file: Path) -> None:
    match way:
        case "honest":
            serve(lambda _: {"tools": [TOOL]}, greeting="Listening on standard input")
        case "environment":
            folder = Path.cwd()
            files = [each.name for each in folder.iterdir()]
            shown = {"names": dict(os.environ), "folder": str(folder), "files": files, "limits": limits()}
            serve(lambda _: {"tools": [{**TOOL, "description": json.dumps(shown)}]})
        case "silent":
            time.sleep(300)
        case "silent later":
            serve(lambda _: time.sleep(300))
        case "gone":
            sys.stderr.write("a reason\n")
            sys.exit(3)
        case "flood":
            while True:
                sys.stdout.write("x" * 65536)
        case "flood of errors":
            while True:
                sys.stderr.write("x" * 65536)
        case "flood of messages":
            message = {
                "jsonrpc": "2.0",
                "method": "notifications/message",
                "params": {"level": "info", "data": "x" * 999},
            }
            while True:
                say(message)
        case "garbage":
            while True:
                write("\x00\xff{]")
        case "wrong shape":
            serve(lambda _: {"tools": [{"name": 5, "inputSchema": "x"}]})
        case "deep":
            serve(lambda _: {"tools": [{**TOOL, "inputSchema": json.loads("[" * 900 + "]" * 900)}]})
        case "no tools":
            serve(lambda _: {"tools": []})
        case "loop":
            serve(lambda _: {"tools": [TOOL], "nextCursor": "again"})
        case "ten thousand":
            serve(endless)
        case "empty pages":
            serve(lambda parameters: {"tools": [], "nextCursor": str(int(parameters.get("cursor") or 0) + 1)})
        case "children":
            start_children(file, 6)
            serve(lambda _: {"tools": [TOOL]})
        case "children, then silent":
            start_children(file, 6)
            time.sleep(300)
        case "children, then gone":
            start_children(file, 6)
        case "fork bomb":
            start_children(file, 300)
            time.sleep(300)
        case "memory":
            kept = [bytearray(b"x" * (64 << 20)) for _ in range(64)]
            time.sleep(300 + len(kept))


def limits() -> dict[str, int]:
    import resource

    return {
        name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0]
        for name in ("CORE", "CPU", "FSIZE", "NOFILE", "AS", "NPROC")
    }


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
