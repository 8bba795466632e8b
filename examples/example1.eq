-- Example 1 of the Edison paper (Wu et al., IFIP 2019, section II.C), as printed: the number of sources of each destination, and so
-- who is flooded.

q1: select count(src_addr), dst_addr groupby dst_addr where node_id=NodeX;
