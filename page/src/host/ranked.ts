// What the rankings of Now say of a host, where there is no store.

import type { Leader, Now, RankingBy } from '../api/now';

export interface Place {
  by: RankingBy;
  /** From 1. */
  rank: number;
  row: Leader;
}

/** Its places, the most that rankings list. */
export function places(now: Now, address: string): Place[] {
  return (['source', 'destination', 'conversation'] as const).flatMap((by) => {
    const rows = now.rankings.find((ranking) => ranking.by === by)?.rows ?? [];
    return rows.flatMap((row, at) => (Object.values(row.key).includes(address) ? [{ by, rank: at + 1, row }] : []));
  });
}
