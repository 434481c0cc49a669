"""Reads metrics from standard input with the parser of PyPI's prometheus_client: names, types, units and
labels are as OpenMetrics demands, or it says what is not. Prints the number of samples of each metric."""

import json
import sys

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError as error:
    print(error)
    sys.exit(77)

families = text_string_to_metric_families(sys.stdin.read())
print(json.dumps({family.name: [family.type, len(family.samples)] for family in families}))
