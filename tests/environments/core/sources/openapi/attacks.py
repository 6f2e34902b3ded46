"""Documents made to exhaust whoever reads them; each is made, read and cleaned in a process of its own.

`python -m tests.environments.core.sources.openapi.attacks NAME` prints what came of one as JSON.
"""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import orjson

MAX_ADDRESS_SPACE: Final = 3 << 30
MAX_SECONDS: Final = 120

Attack = Callable[[], bytes]


def aliases() -> bytes:
    """Nine to the twelfth values in twelve lines of YAML."""
    lines = ["openapi: 3.0.0", "paths:", "  /a: {get: {responses: &a0 [x, x, x, x, x, x, x, x, x]}}"]
    lines += [f"x{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]" for number in range(1, 12)]
    return "\n".join(lines).encode()


def alias_schemas() -> bytes:
    """The same as a schema, whose parts are shared and not one list."""
    lines = ["openapi: 3.0.0", "x0: &a0 {type: string}"]
    lines += [
        f"x{level}: &a{level} {{type: object, properties: {{{', '.join(f'p{n}: *a{level - 1}' for n in range(9))}}}}}"
        for level in range(1, 7)
    ]
    lines.append("paths: {/a: {post: {requestBody: {content: {application/json: {schema: *a6}}}}}}")
    return "\n".join(lines).encode()


def merges() -> bytes:
    """Merge keys that copy nine times what copies nine times."""
    lines = ["openapi: 3.0.0", "x0: &a0 {" + ", ".join(f"k{number}: 1" for number in range(100)) + "}"]
    lines += [f"x{number}: &a{number} {{<<: [{', '.join([f'*a{number - 1}'] * 9)}]}}" for number in range(1, 12)]
    return "\n".join([*lines, "paths: {/a: {get: {}}}"]).encode()


def wide_merges() -> bytes:
    """A hundred thousand merges of a hundred keys."""
    keys = ", ".join(f"k{number}: 1" for number in range(100))
    return f"openapi: 3.0.0\nx: &a {{{keys}}}\npaths: {{<<: [{', '.join(['*a'] * 100_000)}]}}".encode()


def own_merge() -> bytes:
    """A mapping that merges itself."""
    return b"openapi: 3.0.0\npaths: &a\n  <<: *a\n  /a: {get: {}}\n"


def cyclic_alias() -> bytes:
    """A list that holds itself."""
    return b"openapi: 3.0.0\npaths: &a\n  /a: {get: {x: *a}}\n"


def deep_json() -> bytes:
    """A million lists inside one another."""
    return b'{"openapi": "3.0.0", "paths": ' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}"


def rather_deep_json() -> bytes:
    """Five hundred, which the JSON parser takes."""
    return b'{"openapi": "3.0.0", "paths": {"/a": ' + b"[" * 500 + b"]" * 500 + b"}}"


def deep_yaml() -> bytes:
    """A hundred thousand lists inside one another."""
    return b"openapi: 3.0.0\npaths: " + b"[" * 100_000


def rather_deep_yaml() -> bytes:
    """Nine hundred, which the YAML parser takes."""
    return b"openapi: 3.0.0\npaths: {/a: " + b"[" * 900 + b"]" * 900 + b"}"


def enormous() -> bytes:
    """200 MB."""
    return b'{"openapi": "3.0.0", "paths": {"/a": {"get": {"description": "' + b"x" * 200_000_000 + b'"}}}}'


def long_text() -> bytes:
    """As much as is allowed, in one description."""
    return b'{"openapi": "3.0.0", "paths": {"/a": {"get": {"description": "' + b"x" * 90_000_000 + b'"}}}}'


def many_values() -> bytes:
    """Thirty million empty lists."""
    return b'{"openapi": "3.0.0", "paths": {"/a": [' + b"[]," * 30_000_000 + b"1]}}"


def many_objects() -> bytes:
    """As many little objects as are allowed."""
    return b'{"openapi": "3.0.0", "x": [' + b'{"a":1},' * 2_900_000 + b'1], "paths": {"/a": {"get": {}}}}'


def large_yaml() -> bytes:
    """20 MB of YAML."""
    return b"openapi: 3.0.0\ninfo: {title: " + b"x" * 20_000_000 + b"}\npaths: {/a: {get: {}}}\n"


def many_yaml_values() -> bytes:
    """Four million numbers."""
    return b"openapi: 3.0.0\npaths: [" + b"1," * 4_000_000 + b"]\n"


def most_yaml_values() -> bytes:
    """As many as are allowed."""
    return (
        b"openapi: 3.0.0\nx: {"
        + b"".join(b"k%d: {}, " % number for number in range(450_000))
        + b"}\npaths: {/a: {get: {}}}\n"
    )


def broken_json() -> bytes:
    """15 MB of JSON with a comma too many, which is tried as YAML."""
    return b'{"openapi": "3.0.0",, "paths": {"/a": "' + b"x" * 15_000_000 + b'"}}'


def path_bomb() -> bytes:
    """One path with a large schema, under forty thousand addresses."""
    properties = {f"p{number}": {"type": "string", "description": "d" * 50} for number in range(5_000)}
    item = {"post": {"requestBody": {"content": {"application/json": {"schema": {"properties": properties}}}}}}
    return bomb(
        {f"/a{number}": {"$ref": "#/components/pathItems/a"} for number in range(40_000)}, pathItems={"a": item}
    )


def parameter_bomb() -> bytes:
    """A thousand shared parameters in forty thousand operations."""
    parameters = {
        f"p{number}": {"name": f"p{number}", "in": "query", "schema": {"enum": ["x" * 100]}} for number in range(1_000)
    }
    shared = [{"$ref": f"#/components/parameters/p{number}"} for number in range(1_000)]
    return bomb({**{f"/a{number}": {"$ref": "#/components/pathItems/a"} for number in range(40_000)}},
                parameters=parameters, pathItems={"a": {"get": {"parameters": shared}}})  # fmt: skip


def broken_parameter_bomb() -> bytes:
    """The same with parameters that lead nowhere, each a problem."""
    shared = [{"$ref": f"#/components/parameters/p{number}"} for number in range(1_000)]
    return bomb({f"/a{number}": {"$ref": "#/components/pathItems/a"} for number in range(40_000)},
                pathItems={"a": {"parameters": shared, "get": {}}})  # fmt: skip


def example_bomb() -> bytes:
    """An example of a megabyte in forty thousand answers."""
    media = {"application/json": {"example": ["x" * 1_000_000]}}
    answer = {"200": {"$ref": "#/components/responses/a"}}
    return bomb(
        {f"/a{number}": {"get": {"responses": answer}} for number in range(40_000)}, responses={"a": {"content": media}}
    )


def text_bomb() -> bytes:
    """A long description in fifty thousand operations."""
    item = {"get": {"description": "word " * 4_000, "summary": "s" * 500}}
    return bomb(
        {f"/a{number}": {"$ref": "#/components/pathItems/a"} for number in range(50_000)}, pathItems={"a": item}
    )


def junk_bomb() -> bytes:
    """A hundred thousand members that mean nothing, looked at from fifty thousand places."""
    parameter = {"name": "a", "in": "query", "type": "string", **{f"x-{number}": 1 for number in range(100_000)}}
    own = {"get": {"parameters": [{"$ref": "#/parameters/a"}]}}
    paths = {f"/a{number}": own for number in range(50_000)}
    return orjson.dumps({"swagger": "2.0", "parameters": {"a": parameter}, "paths": paths})


def long_pointers() -> bytes:
    """References of a hundred steps, through references, from many places."""
    deep: Any = {"name": "a", "in": "query", "schema": {}}
    for _ in range(110):
        deep = {"a": deep}
    pointer = "#/components/x" + "/a" * 110
    own = {f"r{number}": {"$ref": f"#/components/y/r{number + 1}"} for number in range(30)}
    own["r30"] = {"$ref": pointer}
    parameters = [{"$ref": f"#/components/y/r{number % 31}"} for number in range(1_000)]
    paths = {f"/a{number}": {"get": {"parameters": parameters}} for number in range(2_000)}
    return bomb(paths, x=deep, y=own)


def definition_chain() -> bytes:
    """Nineteen thousand schemas, each the name of the next, asked for by twenty thousand operations."""
    schemas = {
        f"s{number}": {"$ref": f"#/components/schemas/s{number + 1}", "description": "d"} for number in range(19_000)
    }
    answer = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/s0"}}}}}
    return bomb({f"/a{number}": {"get": {"responses": answer}} for number in range(20_000)}, schemas=schemas)


def list_circle() -> bytes:
    """A list of lists of itself."""
    answer = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/a"}}}}}
    schemas = {"a": {"type": "array", "items": {"$ref": "#/components/schemas/a"}}}
    return bomb({"/a": {"get": {"responses": answer}}}, schemas=schemas)


def same_names() -> bytes:
    """Nineteen thousand definitions that want the same name."""
    properties = {f"p{n}": {"$ref": f"#/components/x/a{n}/Same"} for n in range(19_000)}
    body = {"content": {"application/json": {"schema": {"properties": properties}}}}
    return bomb(
        {"/a": {"post": {"requestBody": body}}}, x={f"a{n}": {"Same": {"type": "string"}} for n in range(19_000)}
    )


def many_definitions() -> bytes:
    """More named schemas than are taken."""
    schemas = {f"s{number}": {"type": "string"} for number in range(30_000)}
    properties = {name: {"$ref": f"#/components/schemas/{name}"} for name in schemas}
    body = {"content": {"application/json": {"schema": {"properties": properties}}}}
    return bomb({"/a": {"post": {"requestBody": body}}}, schemas=schemas)


def slow_words() -> bytes:
    """Text that slow patterns would try in every way."""
    texts = (
        "<" * 20_000,
        "[" * 20_000,
        "[a](" * 5_000,
        "*_`#" * 5_000,
        "log " * 5_000,
        "hello, " * 3_000,
        "a" * 20_000,
    )
    paths = {
        f"/{'-' * 100}{n}/{'a-' * 200}": {
            "post": {"operationId": "get_" * 70, "summary": text[:499], "description": text}
        }
        for n in range(100)
        for text in [texts[n % len(texts)]]
    }
    return bomb(paths)


def nul_and_surrogates() -> bytes:
    """Characters that neither UTF-8 nor a database holds."""
    return b'openapi: 3.0.0\npaths: {"/a\\0": {get: {summary: "x\\0y", tags: ["\\0"]}}}\n'


def bomb(paths: dict[str, Any], **components: Any) -> bytes:
    return orjson.dumps({"openapi": "3.1.0", "info": {"title": "t"}, "paths": paths, "components": components})


ATTACKS: Final[dict[str, tuple[Attack, str]]] = {
    "aliases": (aliases, "stands for more than"),
    "alias_schemas": (alias_schemas, "read 1"),
    "merges": (merges, "read 1"),
    "wide_merges": (wide_merges, "merge keys copy more than"),
    "own_merge": (own_merge, "read 1"),
    "cyclic_alias": (cyclic_alias, "holds itself"),
    "deep_json": (deep_json, "depth limit exceeded"),
    "rather_deep_json": (rather_deep_json, "nested deeper than 128"),
    "deep_yaml": (deep_yaml, "no YAML"),
    "rather_deep_yaml": (rather_deep_yaml, "nested deeper than 128"),
    "enormous": (enormous, "has 190 MiB; at most 96"),
    "long_text": (long_text, "read 1"),
    "many_values": (many_values, "more than 6,000,000 values"),
    "many_objects": (many_objects, "read 1"),
    "large_yaml": (large_yaml, "at most 16 of YAML"),
    "many_yaml_values": (many_yaml_values, "too many values for YAML"),
    "most_yaml_values": (most_yaml_values, "read 1"),
    "broken_json": (broken_json, "no YAML"),
    "path_bomb": (path_bomb, "once its references are followed"),
    "parameter_bomb": (parameter_bomb, "once its references are followed"),
    "broken_parameter_bomb": (broken_parameter_bomb, "once its references are followed"),
    "example_bomb": (example_bomb, "once its references are followed"),
    "text_bomb": (text_bomb, "once its references are followed"),
    "junk_bomb": (junk_bomb, "once its references are followed"),
    "long_pointers": (long_pointers, "read 2000"),
    "definition_chain": (definition_chain, "read 20000"),
    "list_circle": (list_circle, "read 1"),
    "same_names": (same_names, "read 1"),
    "many_definitions": (many_definitions, "read 1"),
    "slow_words": (slow_words, "read 100"),
    "nul_and_surrogates": (nul_and_surrogates, "read 1"),
}
"""What each ends with: words of the error, or how many operations were read and cleaned."""

SLOW: Final = frozenset({"path_bomb", "parameter_bomb", "broken_parameter_bomb", "junk_bomb", "long_pointers",
                         "most_yaml_values", "alias_schemas"})  # fmt: skip
"""Those that take more than three seconds."""


def main(name: str) -> None:
    from environments.core.cleaning import clean
    from environments.core.errors import UnreadableSourceError
    from environments.core.sources.model import Fetched
    from environments.core.sources.openapi import OpenApiReader

    data = ATTACKS[name][0]()
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_SPACE, MAX_ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    started = time.process_time()
    try:
        document = OpenApiReader().read(Fetched("https://a.example/openapi.json", data))
        result = f"read {len(clean(document).operations)}"
    except UnreadableSourceError as error:
        result = str(error)
    seconds = time.process_time() - started
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    sys.stdout.write(orjson.dumps({"result": result, "seconds": seconds, "mebibytes": mebibytes}).decode())


if __name__ == "__main__":
    main(sys.argv[1])
