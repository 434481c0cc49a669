"""Reads records with pyarrow and compares them with what should be in them.

usage: independent_reader.py FILE.parquet EXPECTED.json

EXPECTED.json has `columns`, pairs of name and Arrow type, `rows`, a list of
objects by column name, and `metadata`, an object. Prints `agree: N rows`, or
the first difference. Exit code 77: pyarrow is not installed.
"""

import json
import sys

try:
    import pyarrow.parquet as pq
except ImportError as error:
    print(f"pyarrow is not installed ({error})")
    sys.exit(77)


def main(path, expected_path):
    with open(expected_path, encoding="utf-8") as file:
        expected = json.load(file)
    table = pq.read_table(path)
    columns = [[field.name, str(field.type)] for field in table.schema]
    if columns != expected["columns"]:
        sys.exit(f"columns differ:\n{columns}\n{expected['columns']}")
    metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    for key, value in expected["metadata"].items():
        if metadata.get(key) != value:
            sys.exit(f"metadata {key}: {metadata.get(key)!r}, not {value!r}")
    rows = table.to_pylist()
    if len(rows) != len(expected["rows"]):
        sys.exit(f"{len(rows)} rows, not {len(expected['rows'])}")
    for number, (row, wanted) in enumerate(zip(rows, expected["rows"])):
        if row != wanted:
            sys.exit(f"row {number} differs:\n{row}\n{wanted}")
    metadata = pq.read_metadata(path)
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    codecs = {group.column(c).compression for group in groups for c in range(group.num_columns)}
    print(f"agree: {len(rows)} rows, {'/'.join(sorted(codecs))}")


main(*sys.argv[1:])
