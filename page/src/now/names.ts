// How more of a group is asked for.

import type { RankingBy } from '../api/now';
import type { Value } from '../api/types';
import { condition } from '../explore/literal';

/** Fields of Explore. */
export const FIELDS: Record<RankingBy, string> = { source: 'src_addr', destination: 'dst_addr', conversation: 'conversation', port: 'port', protocol: 'protocol' };

/** The condition that a group fulfils; null where Equery has no text for it. */
export function conditionOf(by: string, key: Record<string, Value>): string | null {
  if (by === 'conversation') {
    const [a, b] = [key.addr_a, key.addr_b];
    const ways = [[a, b], [b, a]].map(([from, to]) => [condition(field('src_addr', from), from), condition(field('dst_addr', to), to)]);
    return ways.flat().includes(null) ? null : `(${ways.map(([from, to]) => `(${from} and ${to})`).join(' or ')})`;
  }
  const all = Object.entries(key).filter(([name]) => name !== 'node_id').map(([name, of]) => condition(field(name, of), of));
  return all.includes(null) || !all.length ? null : all.join(' and ');
}

/** Addresses may be prefixes. */
const field = (name: string, of: Value | undefined) => (typeof of === 'string' && of.includes('/') ? `${name}/` : name);
