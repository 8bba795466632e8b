// From what is shown now to Explore and Flow.

import { rooted } from '../api/root';
import type { RankingBy } from '../api/now';
import type { Span, Value } from '../api/types';
import { href, USUAL } from '../explore/state';
import { conditionOf, FIELDS } from './names';

export const clean = (at: string) => at.replace(/\.\d+Z$/, 'Z');

/** A ranking, or what else a group has, at a time; `live`: the hour that goes on. */
export function exploreHref(by: RankingBy | null, only: string | null, period: Span | null, isLive: boolean, node: string): string {
  const times = isLive || !period ? {} : { from: clean(period.start), to: clean(period.end) };
  return href({ ...USUAL, ...times, by: by === null ? USUAL.by : [FIELDS[by]], only: only === null ? [] : [only], nodes: node ? [node] : [] });
}

/** What a group is made of: of a source its destinations, of others their sources. */
export function groupHref(by: RankingBy, key: Record<string, Value>, period: Span | null, isLive: boolean, node: string): string | null {
  const only = conditionOf(by, key);
  const parts: Record<RankingBy, RankingBy> = { source: 'destination', destination: 'source', conversation: 'port', port: 'source', protocol: 'port' };
  return only === null ? null : exploreHref(parts[by], only, period, isLive, node);
}

export const flowHref = (key: Record<string, Value>, period: Span): string =>
  rooted(`/flow?${new URLSearchParams({
    src: String(key.src_addr), dst: String(key.dst_addr), sport: String(key.src_port ?? 0), dport: String(key.dst_port ?? 0), proto: String(key.protocol),
    from: clean(period.start), to: clean(period.end),
  })}`);
