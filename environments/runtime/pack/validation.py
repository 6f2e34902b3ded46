"""The host's half of validation: every fault that JSON, names and texts show (docs/contracts.md, C2, C4).

The host never prepares a pack's SQL nor compiles its source; what those hold is checked in the locked worker.
"""

from collections.abc import Iterator
from itertools import islice

from environments.runtime.faults import Fault
from environments.runtime.pack.check_cases import check_cases, check_coverage
from environments.runtime.pack.check_rows import check_scenarios, check_tables
from environments.runtime.pack.check_tools import SchemaFaults, check_tools
from environments.runtime.pack.documents import (
    CASES,
    ENVIRONMENT,
    SCENARIOS,
    SCHEMA,
    TOOLS,
    cases_document,
    environment_document,
    scenario_document,
)
from environments.runtime.pack.limits import (
    MAX_ADDRESS,
    MAX_DESCRIPTION,
    MAX_FAULTS,
    MAX_FILE_BYTES,
    MAX_LANGUAGE,
    MAX_LICENCE,
    MAX_TITLE,
    MAX_TOOLS,
)
from environments.runtime.pack.model import Licence, Pack
from environments.runtime.pack.names import ADDRESS, LANGUAGE, SHA256, check_name, check_text, is_time
from environments.runtime.pack.strict_json import check_values

_MAX_CLOCK_STEP = 86_400


def check_pack(pack: Pack, *, require_cases: bool = False) -> tuple[Fault, ...]:
    """The faults of a pack that the host can see; none means that the worker's half may look at it.

    Args:
        pack: Read from files or made in memory.
        require_cases: Whether each tool must have cases of all kinds and each code its rejection; a finished pack
            does, one that is being built does not yet.

    Returns:
        At most `MAX_FAULTS`, in the order of the files.
    """
    values = list(islice(_check_json(pack), MAX_FAULTS))
    # What is no JSON cannot be looked at further: the checks below hash, compare and serialise.
    return tuple(values or islice(_check(pack, require_cases), MAX_FAULTS))


def _check_json(pack: Pack) -> Iterator[Fault]:
    yield from check_values(environment_document(pack), ENVIRONMENT)
    for scenario in pack.scenarios:
        yield from check_values(scenario_document(scenario), f"{SCENARIOS}{scenario.name}.json")
    yield from check_values(cases_document(pack), CASES)
    for name, text in ((SCHEMA, pack.schema_sql), (TOOLS, pack.tools_py)):
        yield from check_values(text, name)


def _check(pack: Pack, require_cases: bool) -> Iterator[Fault]:
    yield from _check_head(pack)
    yield from _check_sources(pack)
    yield from check_tables(pack)
    schemas = [SchemaFaults.of(tool) for tool in pack.tools[:MAX_TOOLS]]
    yield from check_tools(pack, schemas)
    yield from check_scenarios(pack)
    yield from check_cases(pack, schemas)
    if require_cases:
        yield from check_coverage(pack)


def _check_head(pack: Pack) -> Iterator[Fault]:
    found = [
        check_name("pack", pack.name, "name"),
        check_text(pack.title, "title", MAX_TITLE),
        check_text(pack.domain, "domain", MAX_TITLE),
        check_text(pack.description, "description", MAX_DESCRIPTION),
    ]
    for name, text in ((SCHEMA, pack.schema_sql), (TOOLS, pack.tools_py)):
        if not text.strip():
            found.append(Fault("text_empty", name, "the file is empty"))
        elif len(text.encode()) > MAX_FILE_BYTES[name]:
            found.append(Fault("file_too_large", name, f"larger than {MAX_FILE_BYTES[name]} bytes"))
        elif "\0" in text or "\r" in text:
            found.append(Fault("text_encoding", name, "it holds a NUL or a carriage return"))
    if not LANGUAGE.fullmatch(pack.language) or len(pack.language) > MAX_LANGUAGE:
        found.append(Fault("value_wrong", "language", "a language tag such as 'en' is expected"))
    if not is_time(pack.clock_start):
        found.append(Fault("time_form", "clock_start", f"{pack.clock_start[:40]!r} is no such time"))
    if not 0 <= pack.clock_step_seconds <= _MAX_CLOCK_STEP:
        found.append(Fault("value_wrong", "clock_step_seconds", f"0 to {_MAX_CLOCK_STEP} is expected"))
    yield from filter(None, found)


def _check_sources(pack: Pack) -> Iterator[Fault]:
    yield from _check_licence(pack.licence, "licence", is_needed=True)
    if not pack.provenance:
        yield Fault("provenance_missing", "provenance", "nothing says where the pack comes from")
    for index, entry in enumerate(pack.provenance):
        place = f"provenance/{index}"
        found = [
            check_text(entry.kind, f"{place}/kind", 60),
            check_text(entry.version or "", f"{place}/version", MAX_TITLE, may_be_empty=True),
            _check_address(entry.address, f"{place}/address"),
        ]
        yield from filter(None, found)
        if not SHA256.fullmatch(entry.sha256):
            yield Fault("provenance_sha256", f"{place}/sha256", "not 64 lower-case hexadecimal digits")
        if not is_time(entry.retrieved_at):
            yield Fault("time_form", f"{place}/retrieved_at", f"{entry.retrieved_at[:40]!r} is no such time")
        if entry.licence:
            yield from _check_licence(entry.licence, f"{place}/licence", is_needed=False)


def _check_licence(licence: Licence, place: str, *, is_needed: bool) -> Iterator[Fault]:
    if is_needed and not licence.spdx and not (licence.name and licence.address):
        yield Fault("licence_missing", place, "neither an SPDX identifier nor name and address")
    found = [
        check_text(licence.spdx or "", f"{place}/spdx", MAX_LICENCE, may_be_empty=True),
        check_text(licence.name or "", f"{place}/name", MAX_LICENCE, may_be_empty=True),
        None if licence.address is None else _check_address(licence.address, f"{place}/address"),
    ]
    yield from filter(None, found)


def _check_address(address: str, place: str) -> Fault | None:
    if len(address) > MAX_ADDRESS or not ADDRESS.fullmatch(address):
        return Fault("address_form", place, f"{address[:80]!r} is no full address")
    return None
