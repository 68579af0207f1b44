# SPDX-License-Identifier: Apache-2.0
"""Says, as one JSON line, which PyTorch this Python has and where. Does not import it: that takes seconds and may fail for
reasons that have nothing to do with building against it."""
import importlib.util
import json
import os
import sys


def main():
    found = {"python": sys.executable, "version_of_python": sys.version.split()[0]}
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return found
    directory = os.path.realpath(list(spec.submodule_search_locations)[0])
    facts = {}
    with open(os.path.join(directory, "version.py"), encoding="utf-8") as version:
        exec(version.read(), facts)  # plain assignments, written by PyTorch's own build
    found.update(directory=directory, version=str(facts["__version__"]), git=str(facts.get("git_version") or ""))
    return found


print(json.dumps(main()))
