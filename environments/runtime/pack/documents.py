"""The five kinds of documents of a pack: made from it, read into it, hashed."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from environments.runtime.faults import Fault
from environments.runtime.pack.errors import PackError
from environments.runtime.pack.limits import MAX_FAULTS
from environments.runtime.pack.model import FORMAT, Case, Pack, Scenario
from environments.runtime.pack.names import check_name
from environments.runtime.pack.shapes import from_json, to_json
from environments.runtime.pack.strict_json import canonical_json, decode_text, format_json, parse_json

ENVIRONMENT, SCHEMA, TOOLS, CASES, SCENARIOS = "environment.json", "schema.sql", "tools.py", "cases.json", "scenarios/"

_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder(Pack)


def environment_document(pack: Pack) -> dict[str, Any]:
    """What environment.json holds."""
    document = {"format": FORMAT, **to_json(pack)}
    for tool in document["tools"]:
        for condition in tool["postconditions"]:
            if condition["policy"] is None:
                del condition["policy"]
    return document


def scenario_document(scenario: Scenario) -> dict[str, Any]:
    """What scenarios/<name>.json holds."""
    document: dict[str, Any] = to_json(scenario)
    return document


def cases_document(pack: Pack) -> list[Any]:
    """What cases.json holds."""
    document: list[Any] = to_json(pack.cases)
    return document


def pack_files(pack: Pack) -> dict[str, bytes]:
    """Every file of the pack by its relative name, as people read it.

    Raises:
        PackError: A scenario's name is none, so that it could name a file elsewhere.
    """
    faults = [check_name("scenario", scenario.name, f"{SCENARIOS}{scenario.name}") for scenario in pack.scenarios]
    if any(faults):
        raise PackError(filter(None, faults))
    files = {
        ENVIRONMENT: format_json(environment_document(pack)),
        SCHEMA: pack.schema_sql,
        TOOLS: pack.tools_py,
        CASES: format_json(cases_document(pack)),
    }
    for scenario in pack.scenarios:
        files[f"{SCENARIOS}{scenario.name}.json"] = format_json(scenario_document(scenario))
    return {name: text.encode() for name, text in files.items()}


def pack_from_files(files: Mapping[str, bytes]) -> Pack:
    """The pack that files hold.

    Args:
        files: Content by relative name; only names of the format.

    Raises:
        PackError: Something is missing or has not the format's shape; all such faults, up to a limit.
    """
    faults = [Fault("file_missing", name, "the pack has no such file") for name in (ENVIRONMENT, SCHEMA, TOOLS)
              if name not in files]  # fmt: skip
    if faults:
        raise PackError(faults)
    texts: dict[str, str] = {}
    documents: dict[str, Any] = {}
    for name in sorted(files):
        try:
            if name.endswith(".json"):
                documents[name] = parse_json(files[name], name)
            else:
                texts[name] = decode_text(files[name], name)
        except PackError as error:
            faults.extend(error.faults)
    if faults:
        raise PackError(faults[:MAX_FAULTS])
    cases = _read_cases(documents.get(CASES, []), faults)
    scenarios = _read_scenarios(documents, faults)
    pack = _read_environment(documents[ENVIRONMENT], texts, scenarios, cases, faults)
    if pack is None or faults:
        raise PackError(faults[:MAX_FAULTS])
    return pack


def content_sha256(pack: Pack) -> str:
    """The pack's identity: SHA-256 of the canonical JSON of all but the dates of retrieval (docs/contracts.md, C2)."""
    environment = environment_document(pack)
    for entry in environment["provenance"]:
        del entry["retrieved_at"]
    scenarios = [scenario_document(scenario) for scenario in sorted(pack.scenarios, key=lambda item: item.name)]
    content = [environment, pack.schema_sql, pack.tools_py, scenarios, cases_document(pack)]
    return hashlib.sha256(canonical_json(content)).hexdigest()


def encode_pack(pack: Pack) -> bytes:
    """The whole pack as one canonical JSON text, as it travels to a worker."""
    return _encoder.encode(pack)


def decode_pack(data: bytes) -> Pack:
    """The pack that `encode_pack` wrote.

    Raises:
        PackError: The bytes are something else.
    """
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PackError([Fault("json_syntax", "pack", str(error))]) from None


def _read_environment(
    document: Any, texts: Mapping[str, str], scenarios: tuple[Scenario, ...], cases: tuple[Case, ...],
    faults: list[Fault],
) -> Pack | None:  # fmt: skip
    if isinstance(document, dict):
        document = dict(document)
        if document.pop("format", None) != FORMAT:
            faults.append(Fault("format_unknown", f"{ENVIRONMENT}/format", f"{FORMAT} is expected"))
            return None
    pack = from_json(
        Pack, document, ENVIRONMENT, faults,
        schema_sql=texts[SCHEMA], tools_py=texts[TOOLS], scenarios=scenarios, cases=cases,
    )  # fmt: skip
    for tool in pack.tools if pack else ():
        faults.extend(
            Fault("key_unknown", f"{ENVIRONMENT}/tools/{tool.name}/postconditions/{index}/policy",
                  "only pre-conditions have a policy sentence")
            for index, condition in enumerate(tool.postconditions)
            if condition.policy is not None
        )  # fmt: skip
    return pack


def _read_cases(document: Any, faults: list[Fault]) -> tuple[Case, ...]:
    if not isinstance(document, list):
        faults.append(Fault("type_wrong", CASES, "an array of cases is expected"))
        return ()
    cases = (from_json(Case, item, f"{CASES}/{index}", faults) for index, item in enumerate(document))
    return tuple(case for case in cases if case)


def _read_scenarios(documents: Mapping[str, Any], faults: list[Fault]) -> tuple[Scenario, ...]:
    scenarios = []
    for name in sorted(name for name in documents if name.startswith(SCENARIOS)):
        scenario = from_json(Scenario, documents[name], name, faults)
        if scenario is None:
            continue
        if name != f"{SCENARIOS}{scenario.name}.json":
            faults.append(Fault("scenario_file_name", name, f"the scenario in it is named {scenario.name!r}"))
        scenarios.append(scenario)
    return tuple(sorted(scenarios, key=lambda item: item.name))
