"""Reads the public benchmarks from checkouts of their repositories, as they are laid out in 2026."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from environments.core.leak_guard import python_code
from environments.core.leak_guard.model import GuardSubject, GuardTable, GuardTool, Member
from environments.core.leak_guard.subjects import members

Files = Mapping[str, str]
"""Texts of a checkout's files by path, with slashes."""

_BFCL: Final = "berkeley-function-call-leaderboard/bfcl_eval"
_BFCL_INTRODUCTION: Final = re.compile(r".*Tool description:\s*", re.DOTALL)
_SERVER_TOOLS: Final = "services/mcp_eval/test_servers.py"
_SERVERS: Final = "services/agent-environment/src/agent_environment/mcp_server_template.json"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository that is read.

    Attributes:
        name: Of the folder that it is checked out into.
        address: Where it is published.
        licence: Its own.
        paths: Patterns of the files that are needed.
        read: Makes the benchmarks of its files.
    """

    name: str
    address: str
    licence: str
    paths: tuple[str, ...]
    read: Callable[[Files], Iterator["Found"]]


@dataclass(frozen=True, slots=True)
class Found:
    """A benchmark as it was read: its texts are still readable and go no further than to their hashes and vectors."""

    subject: GuardSubject
    keywords: tuple[str, ...] = ()


def _tau(files: Files) -> Iterator[Found]:
    for domain, keywords in (("airline", ("airline",)), ("retail", ("retail",))):
        base = f"tau_bench/envs/{domain}"
        tools = []
        for path, text in sorted(files.items()):
            if path.startswith(f"{base}/tools/"):
                described = python_code.returned_literal(text, "get_info")
                if isinstance(described, dict):
                    tools.append(_function(described["function"]))
        texts = [files.get(f"{base}/wiki.md", "")]
        texts += python_code.keyword_texts(files.get(f"{base}/tasks_test.py", ""), "instruction")
        yield _found(f"tau/{domain}", tools, (), texts, keywords)


def _tau2(files: Files) -> Iterator[Found]:
    fields = {
        "airline": ("airline",),
        "retail": ("retail",),
        "telecom": ("telecom", "roaming"),
        "banking_knowledge": ("banking", "bank"),
    }
    for domain, keywords in fields.items():
        base = f"src/tau2/domains/{domain}"
        sources = [text for path, text in sorted(files.items()) if path.startswith(base) and "/tasks/" not in path]
        classes = python_code.classes_of(*sources)
        tools = [tool for node in classes.values() for tool in python_code.tools(node, classes, marked_only=True)]
        models = [text for path, text in sorted(files.items()) if path.startswith(base) and "data_model" in path]
        tables = [
            *python_code.tables(python_code.classes_of(*models)),
            *_json_tables(files.get(f"data/tau2/domains/{domain}/db.json", "{}")),
        ]
        folder = f"data/tau2/domains/{domain}/"
        texts = [text for path, text in sorted(files.items()) if path.startswith(folder) and path.endswith(".md")]
        for name in ("tasks.json", "tasks_small.json"):
            for task in json.loads(files.get(f"data/tau2/domains/{domain}/{name}", "[]")):
                instructions = task["user_scenario"]["instructions"]
                texts.append(instructions if isinstance(instructions, str) else _joined(instructions))
        yield _found(f"tau2/{domain}", tools, tables, texts, keywords)


def _bfcl(files: Files) -> Iterator[Found]:
    fields = {"trading_bot": ("trading",), "travel_booking": ("travel",), "vehicle_control": ("vehicle",)}
    questions: dict[str, list[str]] = {}
    for row in _lines(files.get(f"{_BFCL}/data/BFCL_v4_multi_turn_base.json", "")):
        said = " ".join(message["content"] for turn in row["question"] for message in turn)
        questions.setdefault(row["involved_classes"][0], []).append(said)
    folder = f"{_BFCL}/data/multi_turn_func_doc/"
    for path, text in sorted(files.items()):
        if not path.startswith(folder):
            continue
        name = path.removeprefix(folder).removesuffix(".json")
        described = []
        for row in _lines(text):
            tool = _function(row)
            described.append(replace(tool, text=_BFCL_INTRODUCTION.sub("", tool.text)))
        source = files.get(f"{_BFCL}/eval_checker/multi_turn_eval/func_source_code/{name}.py", "")
        texts = [said for each, group in questions.items() if each in python_code.classes_of(source) for said in group]
        yield _found(f"bfcl/{name}", described, python_code.state_tables(source), texts, fields.get(name, ()))


def _vitabench(files: Files) -> Iterator[Found]:
    fields = {"delivery": ("delivery", "takeaway"), "instore": ("instore",), "ota": ("ota", "travel")}
    for domain, keywords in fields.items():
        base = f"src/vita/domains/{domain}"
        shared = files.get("src/vita/data_model/tasks.py", "")
        classes = python_code.classes_of(shared, files[f"{base}/data_model.py"], files[f"{base}/tools.py"])
        own = python_code.classes_of(files[f"{base}/data_model.py"])
        described = python_code.assigned_literal(files[f"{base}/tools_schema.py"], "TOOL_DESCRIPTIONS_EN") or {}
        tools = [
            replace(tool, text=described.get(tool.name, {}).get("description") or tool.text)
            for node in classes.values()
            for tool in python_code.tools(node, classes, marked_only=True)
        ]
        tasks = json.loads(files.get(f"data/vita/domains/{domain}/tasks_en.json", "[]"))
        tables = [table for table in python_code.tables(classes) if table.name in own]
        yield _found(f"vitabench/{domain}", tools, tables, [task["instructions"] for task in tasks], keywords)


def _acebench(files: Files) -> Iterator[Found]:
    base = "model_inference/multi_step/scenariosen"
    parts = {
        "travel": ("Travel", f"{base}/travel.py", ("travel",)),
        "food_services": ("FoodPlatform", f"{base}/phone_platform/food_services.py", ("food",)),
        "message": ("MessageApi", f"{base}/phone_platform/message.py", ()),
        "reminder": ("ReminderApi", f"{base}/phone_platform/reminder.py", ()),
        "base": ("BaseApi", f"{base}/phone_platform/base_api.py", ()),
    }
    described: dict[str, GuardTool] = {}
    questions: dict[str, list[str]] = {}
    for kind in ("multi_step", "multi_turn"):
        for row in _lines(files.get(f"data_all/data_en/data_agent_{kind}.json", "")):
            for function in row["function"]:
                described.setdefault(function["name"], _function(function))
            for involved in row.get("involved_classes") or row["initial_config"]:
                questions.setdefault(involved, []).append(row["question"])
    for name, (class_name, path, keywords) in parts.items():
        classes = python_code.classes_of(files[path])
        found = python_code.tools(classes[class_name], classes, marked_only=False)
        tools = [described.get(tool.name, tool) for tool in found]
        tables = python_code.state_tables(files[path])
        yield _found(f"acebench/{name}", tools, tables, questions.get(class_name, ()), keywords)


def _mcp_atlas(files: Files) -> Iterator[Found]:
    calls = python_code.assigned_literal(files[_SERVER_TOOLS], "TEST_CALLS") or {}
    servers = json.loads(files[_SERVERS])["mcpServers"]
    tools = []
    for server, call in sorted(calls.items()):
        if server in servers and isinstance(call, tuple):
            name, arguments = call
            given = tuple(
                Member(argument, python_code.kind_of_value(value), True) for argument, value in arguments.items()
            )
            tools.append(GuardTool(name.removeprefix(f"{server}_"), "", given))
    yield _found("mcp_atlas/servers", tools, (), (), tuple(sorted(servers)))


REPOSITORIES: Final = (
    Repository(
        "tau-bench",
        "https://github.com/sierra-research/tau-bench",
        "MIT",
        ("tau_bench/envs/*/tools/*.py", "tau_bench/envs/*/tasks_test.py", "tau_bench/envs/*/wiki.md"),
        _tau,
    ),
    Repository(
        "tau2-bench",
        "https://github.com/sierra-research/tau2-bench",
        "MIT",
        (
            "src/tau2/domains/**/*.py",
            "data/tau2/domains/*/tasks.json",
            "data/tau2/domains/*/tasks_small.json",
            "data/tau2/domains/*/db.json",
            "data/tau2/domains/*/*policy.md",
            "data/tau2/domains/*/tech_support_manual.md",
        ),
        _tau2,
    ),
    Repository(
        "gorilla",
        "https://github.com/ShishirPatil/gorilla",
        "Apache-2.0",
        (
            f"{_BFCL}/data/multi_turn_func_doc/*.json",
            f"{_BFCL}/data/BFCL_v4_multi_turn_base.json",
            f"{_BFCL}/eval_checker/multi_turn_eval/func_source_code/*.py",
        ),
        _bfcl,
    ),
    Repository(
        "vitabench",
        "https://github.com/meituan-longcat/vitabench",
        "MIT",
        ("src/vita/domains/*/*.py", "src/vita/data_model/tasks.py", "data/vita/domains/*/tasks_en.json"),
        _vitabench,
    ),
    Repository(
        "ACEBench",
        "https://github.com/chenchen0103/ACEBench",
        "MIT",
        ("model_inference/multi_step/scenariosen/**/*.py", "data_all/data_en/data_agent_*.json"),
        _acebench,
    ),
    Repository("mcp-atlas", "https://github.com/scaleapi/mcp-atlas", "MIT", (_SERVER_TOOLS, _SERVERS), _mcp_atlas),
)
"""What the data file is made from."""


def _found(name: str, tools: Any, tables: Any, texts: Any, keywords: tuple[str, ...]) -> Found:
    unique = {tool.name: tool for tool in tools}
    named_tables = {table.name: table for table in tables}
    subject = GuardSubject(name, tuple(unique.values()), tuple(named_tables.values()), tuple(filter(None, texts)))
    return Found(subject, keywords)


def _function(described: Mapping[str, Any]) -> GuardTool:
    schema = described.get("parameters") or {}
    return GuardTool(described["name"], described.get("description", ""), members(schema, {}))


def _json_tables(text: str) -> list[GuardTable]:
    """Tables of a database that is a JSON object of collections of records."""
    found = []
    for name, content in json.loads(text).items():
        rows = content.get("data", content) if isinstance(content, dict) else content
        rows = list(rows.values()) if isinstance(rows, dict) else rows
        row = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else {}
        if len(row) > 1:
            found.append(
                GuardTable(
                    name, tuple(Member(key, python_code.kind_of_value(value), True) for key, value in row.items())
                )
            )
    return found


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _joined(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(filter(None, map(_joined, value.values())))
    return value if isinstance(value, str) else ""
