-- Example 2 of the Edison paper (Wu et al., IFIP 2019, section II.C), as printed: packet loss between two hosts, and whether the receive
-- window of TCP is the cause. The paper leaves K1, K2 and K3 to the reader: --set K1=10K --set K2=100K --set K3=100K.

q1: select ploss_byte where src_addr=10.0.0.1, dst_addr=10.0.0.2, src_port=22, dst_port=33, protocol=TCP, node_id=Node1;

q2: select total_byte where src_addr=10.0.0.1, dst_addr=10.0.0.2, src_port=22, dst_port=33, protocol=TCP, node_id=Node1 when q1.ploss_byte > K1:

q3: select total_byte where src_addr=10.0.0.1, dst_addr=10.0.0.2, src_port=22, dst_port=33, protocol=TCP, node_id=Node2 when q2.total_byte < K2:

q4: select tcp_win where src_addr=10.0.0.1, dst_addr=10.0.0.2, src_port=22, dst_port=33, protocol=TCP, node_id=Node2 when q3.total_byte < K3;
