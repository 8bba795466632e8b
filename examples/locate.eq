-- Where are packets lost on the path A - before - Node1 - between - Node2 - behind - B, for data that flows from A to B?
--
--   edison run Node1=tap1.pcap Node2=tap2.pcap -f examples/locate.eq
--
-- A tap counts bytes that were lost before it (ploss_byte) and bytes that it saw twice, because they were lost behind it
-- (retrans_byte). Exactly one of the queries before, between and behind is started: that of the place. None is if nothing is lost.
-- Select the traffic of interest in each where, as 'src_addr = 10.0.0.1, dst_addr = 10.0.0.2'.

let Tolerated = 0;    -- bytes in a second

n1: select sum(ploss_byte) as lost_before, sum(retrans_byte) as lost_behind
    where node_id = Node1
    every 1s;

before: select src_addr, dst_addr, sum(ploss_byte) as lost, sum(total_byte) as total
    where node_id = Node1
    groupby src_addr, dst_addr having lost > 0 limit 10
    every 1s
    when n1.lost_before > Tolerated;

n2: select sum(ploss_byte) as lost_before, sum(retrans_byte) as lost_behind
    where node_id = Node2
    every 1s
    when n1.lost_behind > Tolerated and n1.lost_before <= Tolerated
    run 5s;

between: select src_addr, dst_addr, sum(ploss_byte) as lost, sum(total_byte) as total
    where node_id = Node2
    groupby src_addr, dst_addr having lost > 0 limit 10
    every 1s
    when n2.lost_before > Tolerated;

behind: select src_addr, dst_addr, sum(retrans_byte) as sent_again, sum(total_byte) as total
    where node_id = Node2
    groupby src_addr, dst_addr having sent_again > 0 limit 10
    every 1s
    when n2.lost_behind > Tolerated and n2.lost_before <= Tolerated;
