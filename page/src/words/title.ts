// What fires, as a sentence about the network: without the names of queries and columns where the data allow it.

import type { Column, Event, Query } from '../api/types';
import { members, value, withUnit } from './value';

const COLUMNS: Record<string, string> = {
  total_byte: 'bytes', total_count: 'packets', wire_byte: 'bytes on the wire', ploss_byte: 'bytes lost before', retrans_byte: 'bytes sent again', unseen_byte: 'bytes missed by the tap',
  src_addr: 'source', dst_addr: 'destination', addr: 'address', src_port: 'source port', dst_port: 'destination port', src_asn: 'source system', dst_asn: 'destination system',
  src_country: 'source country', dst_country: 'destination country', rtt_min: 'least round trip', rtt_avg: 'mean round trip', ploss_count: 'lost before', reorder_count: 'reordered', retrans_count: 'sent again', zero_window_count: 'zero windows',
  hole_count: 'holes', resync_count: 'resynchronised', node_id: 'node', first_vlan: 'VLAN', vlan: 'VLAN',
};

/** A column in words: `src_addr` is the source, `lost_before` is "lost before". */
export const columnName = (name: string): string => COLUMNS[name] ?? name.replace(/_/g, ' ').trim();

const COMPARED: Record<string, string> = { '>': 'above', '>=': 'at least', '<': 'below', '<=': 'at most', '=': 'equal to', '==': 'equal to', '!=': 'other than' };

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function compared(column: Column, query: Query | undefined, threshold: number | null): string {
  const known = query?.trigger?.thresholds.find((one) => one.column === column.name);
  if (known) return `, ${COMPARED[known.comparison] ?? known.comparison} ${value(known.value, column)}`;
  return threshold === null ? '' : `; the threshold is ${value(threshold, column)}`;
}

/** What passed a threshold says more than what had to stay below another one, and than what was compared with nothing. */
function telling<T extends { column: Column }>(all: T[], query: Query | undefined): T[] {
  const comparison = ({ column }: T) => query?.trigger?.thresholds.find((one) => one.column === column.name)?.comparison;
  const passed = all.filter((one) => comparison(one)?.startsWith('>'));
  const known = all.filter((one) => comparison(one) !== undefined);
  return (passed.length ? passed : known.length ? known : all).slice(0, 2);
}

/** The title that Edison gives an event; of one that has none: `Lost before: 23,360 bytes, above 0, for destination 10.0.0.1 at Node2`. */
export const title = (event: Event, query: Query | undefined): string => event.title || composed(event, query);

/** The condition with its figures, its key and its node. */
export function composed(event: Event, query: Query | undefined): string {
  const values = telling(members(event.values, event.columns), query).map(({ column, value: of }) => {
    const told = withUnit(value(of, column), column.unit);
    return `${columnName(column.name)}: ${told}${compared(column, query, event.threshold)}`;
  });
  const key = members(event.key, event.columns).map(({ column, value: of }) => `${columnName(column.name)} ${value(of, column)}`).join(', ');
  const what = values.length ? capital(values.join('; ')) : `The condition of ${event.query} holds`;
  const at = event.node ? `at ${event.node}` : '';
  const where = key ? `for ${key}${at ? ` ${at}` : ''}` : at;
  return where ? `${what}, ${where}` : what;
}

/** The condition of a query in words: `Lost before above 0`. */
export function conditionTitle(query: Query): string {
  const all = (query.trigger?.thresholds ?? []).map(({ column, comparison, value: of }) => `${columnName(column)} ${COMPARED[comparison] ?? comparison} ${value(of, { name: column, kind: 'float', unit: '' })}`);
  return all.length ? capital(all.join(', ')) : query.name;
}

const KINDS: Record<string, string> = {
  resolved: 'is over', nodata: 'is not known: no data comes', timeout: 'did not follow in time', expired: 'is dropped', suppressed: 'more keys fired than are told', missed: 'was not asked: the node is missing',
};

/** What an event says: its title, and of one that did not fire what became of it. */
export const saying = (event: Event, query: Query | undefined): string => (event.kind === 'fired' ? title(event, query) : `${title(event, query)} – ${KINDS[event.kind] ?? event.kind}`);
