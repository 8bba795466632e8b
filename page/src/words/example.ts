/** A query to paste where there is none. It finds the flood that `edison generate` plants. */
export const EXAMPLE = `flood: select dst_addr, count(src_addr) as sources
    groupby dst_addr order by sources desc limit 10
    every 1s;

who: select src_addr, sum(total_byte) as bytes
    where dst_addr = flood.dst_addr
    groupby src_addr order by bytes desc limit 10
    every 1s
    when flood.sources > 500 cooldown 5min in same window;
`;
