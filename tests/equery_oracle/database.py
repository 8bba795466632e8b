"""The packets of a capture in DuckDB, their window rows, and the answers of queries over these."""

import csv
from typing import NamedTuple

import duckdb

from . import fields, sql
from .packets import Packet

SECOND = 1_000_000_000

TYPES = {
    "time_ns": "bigint", "stream_ns": "bigint", "number": "bigint", "total_byte": "bigint", "wire_byte": "bigint",
    "tcp_seq": "bigint", "tcp_ack": "bigint", "tcp_win": "bigint", "protocol": "bigint", "src_port": "bigint",
    "dst_port": "bigint", "ip_ttl": "bigint", "ip_tos": "bigint", "tcp_flags": "bigint", "vlan": "bigint",
    "flow_label": "bigint",
}  # fmt: skip

KEY = "src_addr, dst_addr, protocol, src_port, dst_port"

# A flow's row: the sums of its packets in the window, the values of the last one that arrived, and what all have.
ROWS = f"""
create table rows as
with sums as (
    select w, {KEY},
        count(*) as total_count, sum(total_byte)::bigint as total_byte, sum(wire_byte)::bigint as wire_byte,
        bit_or(tcp_flags) as tcp_flags, min(time_ns) as stime, max(time_ns) as ltime,
        arg_max(ip_ttl, number) as ip_ttl, arg_max(ip_tos, number) as ip_tos, arg_max(tcp_seq, number) as tcp_seq,
        arg_max(tcp_ack, number) as tcp_ack, arg_max(tcp_win, number) as tcp_win,
        min(ip_ttl) as ip_ttl_min, max(ip_ttl) as ip_ttl_max,
        if(count(flow_label) = count(*) and min(flow_label) = max(flow_label), min(flow_label), null) as flow_label,
        any_value(vlan) as vlan, any_value(smac) as smac, any_value(dmac) as dmac,
        any_value(protocol_name) as protocol_name, any_value(service) as service,
        any_value(conversation) as conversation
    from (select *, unnest(generate_series(
              stream_ns // {{every}}, stream_ns // {{every}} + {{over}} // {{every}} - 1)) as w from packets)
    where reason = ''
    group by w, {KEY})
select *, vlan as first_vlan, ip_ttl as last_ip_ttl, ip_tos as last_ip_tos, tcp_seq as last_tcp_seq, tcp_win as last_tcp_win,
    tcp_flags as any_tcp_flags, ltime - stime as duration,
    total_count * 1e9 / nullif(ltime - stime, 0) as pps,
    total_byte * 8e9 / nullif(ltime - stime, 0) as bps,
    total_byte / nullif(total_count, 0)::double as bytes_per_packet
from sums
"""


class Window(NamedTuple):
    """A window of a query: what it spans, and what of that was watched."""

    start: int
    end: int
    watched_start: int
    watched_end: int
    is_empty: bool

    @property
    def is_cut(self):
        return (self.start, self.end) != (self.watched_start, self.watched_end)


class Database:
    """The packets of one capture; rows are those of the windows that were asked for last."""

    def __init__(self, packets, folder):
        self.connection = duckdb.connect(config={"threads": 2})
        self.packets = packets
        self.spanned = None
        self.spans = {}
        names = fields.services()
        path = folder / "packets.csv"
        derived = ("protocol_name", "service", "conversation")
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            for packet in packets:
                ends = (packet.protocol, packet.src_port, packet.dst_port)
                texts = ("", None, "")
                if not packet.reason:
                    conversation = fields.conversation(
                        packet.src_addr, packet.src_port, packet.dst_addr, packet.dst_port, packet.protocol
                    )
                    texts = (fields.protocol_name(packet.protocol), fields.service(names, *ends), conversation)
                writer.writerow(["\\N" if value is None else value for value in (*packet, *texts)])
        columns = {name: TYPES.get(name, "varchar") for name in (*Packet._fields, *derived)}
        self.connection.execute(
            "create table packets as select * from read_csv(?, header = false, nullstr = '\\N', columns = ?)",
            [str(path), columns],
        )
        path.unlink()

    def windows(self, every, over):
        """The windows of a query by number, from the one of the first frame to that of the last one; times in nanoseconds."""
        if not self.packets:
            return {}
        first, last = self.packets[0].time_ns, self.packets[-1].stream_ns
        if (every, over) not in self.spans:
            filled = {packet.stream_ns // every for packet in self.packets if not packet.reason}
            reach = over // every
            spans = {}
            for number in range(first // every, last // every + 1):
                start, end = (number + 1) * every - over, (number + 1) * every
                is_empty = not any(number - back in filled for back in range(reach))
                spans[number] = Window(start, end, max(start, first), min(end, last + 1), is_empty)
            self.spans[every, over] = spans
        return self.spans[every, over]

    def make_rows(self, every, over):
        """Makes the window rows for windows of this kind."""
        if self.spanned == (every, over):
            return
        numbers = ", ".join(f"({number})" for number in self.windows(every, over)) or "(null)"
        self.connection.execute("drop table if exists rows; drop table if exists windows")
        self.connection.execute(ROWS.format(every=every, over=over))
        self.connection.execute(f"create table windows as select * from (values {numbers}) as t(w) where w is not null")
        self.spanned = (every, over)

    def answer(self, query, every, over):
        """The rows of a query's answer by the number of the window; each has the query's items, then what it is ordered by."""
        self.make_rows(every, over)
        spans = self.windows(every, over)
        answers = {number: [] for number in spans}
        for number, *values in self.connection.execute(sql.write(query)).fetchall():
            if number in answers:
                answers[number].append(values)
        return answers
