"""Messages as they are documented in `crates/protocol/src/envelope.rs`, written and read without Edison."""

import datetime
import io
import json
import os

import zstandard

CONTENT = {"content_type": "application/json", "content_encoding": "zstd"}


def boot():
    """A start of a program that no other has."""
    return os.urandom(8).hex()


def pack(data):
    """Compressed, with a checksum as Edison's are."""
    return zstandard.ZstdCompressor(level=3, write_checksum=True).compress(data)


def unpack(data):
    """The JSON of a message, which is several frames."""
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
        return json.loads(reader.read())


def message(body, node, boot_text=None, sequence=1, version=1, **more):
    """An envelope with a body."""
    which = {"node": node, "boot": boot_text or boot(), "sequence": sequence}
    envelope = {"version": version, "id": which, "after": 0, "lost": 0, **more, "body": body}
    return pack(json.dumps(envelope).encode())


def heartbeat():
    """The body of a heartbeat that says nothing."""
    spool = {"messages": 0, "bytes": 0, "dropped": 0}
    usual = {"list": None, "refused": None, "version": "0", "sources": [], "spool": spool, "clock": None, "started_ns": 0}
    return {"heartbeat": usual}


def window(start, answers=()):
    """The body of a window of one second."""
    times = {"start": time(start), "end": time(start + 1)}
    return {"window": {"window": times, "answers": list(answers)}}


def time(second):
    """A second since the epoch as Edison writes it."""
    moment = datetime.datetime.fromtimestamp(second, datetime.timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000000000Z")
