-- Where are packets lost on the path A - before - Node1 - between - Node2 - behind - B, for data that flows from A to B?
--
--   edison run Node1=tap1.pcap Node2=tap2.pcap -f examples/locate.eq
--
-- A tap counts bytes that were lost before it (ploss_byte) and bytes that it saw twice, because they were lost behind it
-- (retrans_byte). Exactly one of the queries before, between and behind is started for a destination: that of the place. None is if
-- nothing is lost. Losses are tracked of the pinned flows alone, without --loss: at Node1 those of Senders, at Node2 those to the
-- destination that fired. What was lost before Node2 began is sent again in its first second, so behind needs two seconds.

let Senders = 10.0.0.0/8;    -- the addresses on the side of A
let Tolerated = 0;           -- bytes in a second

n1: select dst_addr, sum(ploss_byte) as lost_before, sum(retrans_byte) as lost_behind
    where node_id = Node1, src_addr in Senders
    groupby dst_addr
    every 1s;

before: select src_addr, dst_addr, sum(ploss_byte) as lost, sum(total_byte) as total
    where node_id = Node1, dst_addr = n1.dst_addr
    groupby src_addr, dst_addr having lost > 0 limit 10
    every 1s
    when n1.lost_before > Tolerated
    say "Packets to {dst_addr} are lost before {node}";

n2: select dst_addr, sum(ploss_byte) as lost_before, sum(retrans_byte) as lost_behind
    where node_id = Node2, dst_addr = n1.dst_addr
    groupby dst_addr
    every 1s
    when n1.lost_behind > Tolerated and n1.lost_before <= Tolerated
    run 5s;

between: select src_addr, dst_addr, sum(ploss_byte) as lost, sum(total_byte) as total
    where node_id = Node2, dst_addr = n2.dst_addr
    groupby src_addr, dst_addr having lost > 0 limit 10
    every 1s
    when n2.lost_before > Tolerated
    say "Packets to {dst_addr} are lost between Node1 and {node}";

behind: select src_addr, dst_addr, sum(retrans_byte) as sent_again, sum(total_byte) as total
    where node_id = Node2, dst_addr = n2.dst_addr
    groupby src_addr, dst_addr having sent_again > 0 limit 10
    every 1s
    when n2.lost_behind > Tolerated and n2.lost_before <= Tolerated for 2s
    say "Packets to {dst_addr} are lost behind {node}";
