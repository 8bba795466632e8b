talkers: select src_addr, sum(total_byte) as bytes groupby src_addr order by bytes desc limit 20;
flooded: select dst_addr, count(src_addr) as sources groupby dst_addr order by sources desc limit 20;
