"""The environment pack: values, files, zips, identity and the host's half of validation (docs/contracts.md, C2)."""

from environments.runtime.pack.documents import content_sha256, decode_pack, encode_pack
from environments.runtime.pack.errors import PackError
from environments.runtime.pack.model import Pack
from environments.runtime.pack.store import read_pack, unzip_pack, write_pack, zip_pack
from environments.runtime.pack.strict_json import canonical_json
from environments.runtime.pack.validation import check_pack

__all__ = [
    "Pack",
    "PackError",
    "canonical_json",
    "check_pack",
    "content_sha256",
    "decode_pack",
    "encode_pack",
    "read_pack",
    "unzip_pack",
    "write_pack",
    "zip_pack",
]
