// What can be asked of flows: measures, and the fields by which they are grouped.

import type { Integer } from '../api/types';
import { short } from '../words/number';

export interface Measure {
  id: string;
  name: string;
  /** In Equery. */
  text: string;
  unit: string;
  /** Groups add up to the whole, and windows without a row are zero. */
  isSum: boolean;
  /** A chart shows it per second. */
  isRate: boolean;
  /** The answers of several nodes can become one. */
  isMerged: boolean;
  /** Null where nothing of it is measured, of which a sum is zero all the same. */
  known?: string;
  /** In a sentence of what does not add up. */
  most: string;
  /** Behind an amount in a sentence: "12 kB sent again". */
  suffix: string;
}

const measure = (id: string, name: string, text: string, unit: string, more: Partial<Measure> = {}): Measure => ({
  id, name, text, unit, isSum: true, isRate: true, isMerged: true, most: `the most ${name}`, suffix: '', ...more,
});
const alone = { isSum: false, isRate: false };

export const MEASURES: Measure[] = [
  measure('bytes', 'bytes', 'sum(total_byte)', 'bytes'),
  measure('packets', 'packets', 'sum(total_count)', 'packets'),
  measure('wire', 'bytes of frames', 'sum(wire_byte)', 'bytes', { suffix: ' on the wire' }),
  measure('flows', 'flows', 'count(*)', 'flows', { isRate: false }),
  measure('lost', 'lost before the node', 'sum(ploss_byte)', 'bytes', { suffix: ' lost before the node', known: 'max(ploss_byte)' }),
  measure('again', 'sent again', 'sum(retrans_byte)', 'bytes', { suffix: ' sent again', known: 'max(retrans_byte)' }),
  measure('unseen', 'missed by the tap', 'sum(unseen_byte)', 'bytes', { suffix: ' missed by the tap', known: 'max(unseen_byte)' }),
  measure('rtt', 'least round trip', 'min(rtt_min)', 'ns', { ...alone, most: 'the longest least round trip' }),
  measure('sources', 'distinct sources', 'count(src_addr)', 'sources', { ...alone, isMerged: false }),
  measure('destinations', 'distinct destinations', 'count(dst_addr)', 'destinations', { ...alone, isMerged: false }),
];

/** The column that tells whether a sum is of anything. */
export const KNOWN = 'measured';

/** Not a field: answers of each node by itself. */
export const NODE = 'node';

export interface Dimension {
  field: string;
  name: string;
  /** A flow is in two of its groups. */
  isOverlapping?: boolean;
}

export const DIMENSIONS: Dimension[] = [
  { field: 'src_addr', name: 'source' },
  { field: 'dst_addr', name: 'destination' },
  { field: 'src_port', name: 'source port' },
  { field: 'dst_port', name: 'destination port' },
  { field: 'protocol', name: 'protocol' },
  { field: NODE, name: 'node' },
  { field: 'service', name: 'service' },
  { field: 'conversation', name: 'conversation' },
  { field: 'addr', name: 'either address', isOverlapping: true },
  { field: 'port', name: 'either port', isOverlapping: true },
  { field: 'src_addr/24/64', name: 'source network' },
  { field: 'dst_addr/24/64', name: 'destination network' },
  { field: 'first_vlan', name: 'VLAN (first packet)' },
  { field: 'src_country', name: 'source country' },
  { field: 'dst_country', name: 'destination country' },
  { field: 'src_asn', name: 'source system' },
  { field: 'dst_asn', name: 'destination system' },
];

export const FLOW_FIELDS = ['src_addr', 'dst_addr', 'src_port', 'dst_port', 'protocol'];

export const dimension = (field: string): Dimension => DIMENSIONS.find((one) => one.field === field) ?? { field, name: field };

/** Three digits and what they are of: `12.3 GB`, `1.25 M packets`, `3.2 ms`. */
export function amount(value: Integer, unit: string): string {
  return unit === 'ns' ? time(Number(value)) : short(value, unit.replace(/^bytes/, 'B'));
}

function time(ns: number): string {
  const [by, unit] = ns >= 1e9 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : ns >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  return `${Math.round((ns / by) * 100) / 100} ${unit}`;
}
