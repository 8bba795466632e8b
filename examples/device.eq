-- What does a device do to each flow that passes it? Node tx is before it, node rx behind it.
--
--   edison run tx=eth0 rx=eth1 -f examples/device.eq
--   edison run tx=before.pcap rx=behind.pcap -f examples/device.eq
--
-- Each answer is of the whole run: all packets count, whenever they passed. Flows are those of the 5-tuple. Behind a device that changes
-- addresses or ports, group by what it leaves alone; both queries of a pair group by the same fields.
--
--   lost, share   packets that rx did not see, and their share
--   bps           bits per second behind the device, from the flow's first packet to its last (null with one packet)
--   first_delay   from the flow's first packet at tx to the first one at rx: the latency of that packet, unless it was lost
--   last_delay    from the flow's last packet at tx to the last one at rx: the latency of that packet, unless it was lost
--
-- Delays compare the clocks of the two nodes: the answer has no bounds, and says so. In one process they are one clock.

before: select src_addr, dst_addr, protocol, src_port, dst_port, sum(total_count) as packets,
        min(stime) as begins, max(ltime) as ends
    where node_id = tx
    groupby src_addr, dst_addr, protocol, src_port, dst_port;

behind: select src_addr, dst_addr, protocol, src_port, dst_port, sum(total_count) as packets, sum(wire_byte) as bytes,
        min(stime) as begins, max(ltime) as ends
    where node_id = rx
    groupby src_addr, dst_addr, protocol, src_port, dst_port;

-- Flows with the greatest loss first. A flow of which rx saw nothing is lost wholly, and has no delay.
flows: select src_addr, dst_addr, protocol, src_port, dst_port,
        before.packets - behind.packets as lost,
        (before.packets - behind.packets) / before.packets as share,
        8G * behind.bytes / (behind.ends - behind.begins) as bps,
        behind.begins - before.begins as first_delay,
        behind.ends - before.ends as last_delay
    from before, behind
    order by lost desc, before.packets desc;

sent: select sum(total_count) as packets, sum(wire_byte) as bytes where node_id = tx;
arrived: select sum(total_count) as packets, sum(wire_byte) as bytes where node_id = rx;

-- All flows together.
device: select sent.packets - arrived.packets as lost, (sent.packets - arrived.packets) / sent.packets as share,
        sent.bytes - arrived.bytes as lost_bytes
    from sent, arrived;
