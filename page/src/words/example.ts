/** A query to paste where there is none. */
export const EXAMPLE = `flood: select dst_addr, count(src_addr) as sources
    groupby dst_addr limit 10
    every 1s;

who: select src_addr, sum(total_byte) as bytes
    groupby src_addr limit 10
    every 1s
    when flood.sources > 1000 for 3s cooldown 5min run 10s;
`;
