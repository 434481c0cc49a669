"""Validates TOML files against a JSON Schema with jsonschema.

usage: json_schema.py SCHEMA.json FILE.toml...

Prints a line per file: its name, a tab, and `valid` or the place of the first error. Exit
code 77: jsonschema, or a Python with a reader of TOML, is missing.
"""

import json
import os
import sys

try:
    import jsonschema
    import tomllib
except ImportError as error:
    print(error)
    sys.exit(77)


def main(schema_path, *paths):
    with open(schema_path, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    for path in paths:
        with open(path, "rb") as file:
            document = tomllib.load(file)
        error = jsonschema.exceptions.best_match(validator.iter_errors(document))
        verdict = "valid" if error is None else f"{error.json_path}: {error.message}"
        print(f"{os.path.basename(path)}\t{' '.join(verdict.split())}")


main(*sys.argv[1:])
