"""Reads a trace for ui.perfetto.dev with the message definitions of PyPI's perfetto.

usage: why_trace.py TRACE

Checks that slices are nested and end, and prints a JSON object: `cpus`, the number of slices of
each processor, and `frames`: of each frame its length and the sum of its parts, in ns. Exit code
77: perfetto is not installed.
"""

import collections
import json
import sys

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as messages
except ImportError as error:
    print(error)
    sys.exit(77)


def main(path):
    trace = messages.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    names, parents, open_slices = {}, {}, collections.defaultdict(list)
    cpus, frames = collections.Counter(), {}
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            names[track.uuid], parents[track.uuid] = track.name, track.parent_uuid
            continue
        event = packet.track_event
        stack = open_slices[event.track_uuid]
        if event.type == messages.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append([event.name, packet.timestamp, 0])
            continue
        assert event.type == messages.TrackEvent.TYPE_SLICE_END
        name, begin, parts = stack.pop()
        length = packet.timestamp - begin
        assert length >= 0, name
        if names[event.track_uuid].startswith("CPU "):
            cpus[names[event.track_uuid]] += 1
        elif stack:
            stack[-1][2] += length
        else:
            assert names[parents[event.track_uuid]].startswith("flow ")
            frames[name] = (length, parts)
    assert not any(open_slices.values())
    print(json.dumps({"cpus": cpus, "frames": frames}))


main(*sys.argv[1:])
