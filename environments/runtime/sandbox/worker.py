"""The program of a worker process: `host` runs this file by its path with a clean interpreter.

It stands on the standard library alone until it has set the import path from its one argument, since the interpreter
is started without `site` and without the caller's paths. Not `-I`, which would ignore PYTHONHASHSEED.
"""

import json
import sys


def main() -> None:
    """Takes the host's setup from the command line and serves until the host is gone."""
    setup = json.loads(sys.argv[1])
    sys.path.extend(setup["roots"])
    from environments.runtime.sandbox import boot

    boot.run(setup)


if __name__ == "__main__":
    main()
