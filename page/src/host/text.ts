// What is asked of a host, in Equery: first which node sees most of it, then all of it there.

import { quoted } from '../explore/literal';
import { durationText, timeText, type Period } from '../explore/period';

export const WAYS = ['sent', 'received'] as const;
export type Way = (typeof WAYS)[number];

/** Groups that are asked for: what lies beyond is one figure. */
export const MOST = 10;
/** Of a single window: those that lead over all of them may lead in none. */
const MOST_OF_WINDOW = 20;
/** Of all time more than are shown: those that lead one way may be small the other way. */
const MOST_ASKED = 50;

const own = (way: Way) => (way === 'sent' ? 'src_addr' : 'dst_addr');
export const peer = (way: Way) => (way === 'sent' ? 'dst_addr' : 'src_addr');
const BYTES = 'sum(total_byte) as bytes';
const PACKETS = 'sum(total_count) as packets';
// Sums are zero where nothing is measured: the maximum tells whether something is.
const LOSSES = ['max(ploss_byte) as measured', 'sum(ploss_byte) as lost', 'sum(retrans_byte) as again', 'sum(unseen_byte) as unseen', 'min(rtt_min) as rtt'];
const AGAIN = ['max(retrans_byte) as measured', 'sum(retrans_byte) as again', 'min(rtt_min) as rtt'];
export const FLOW = ['src_addr', 'dst_addr', 'src_port', 'dst_port', 'protocol'];

interface Asked {
  name: string;
  items: string[];
  where: string;
  by?: string[];
  limit?: number;
  every?: number;
  /** Seconds earlier. */
  earlier?: number;
}

function query({ start, end }: Period, { name, items, where, by = [], limit, every, earlier = 0 }: Asked): string {
  const tail = [by.length ? `groupby ${by.join(', ')}` : '', limit ? `limit ${limit}` : '', every ? `every ${durationText(every)}` : ''].filter(Boolean).join(' ');
  return [`${name}: select ${[...by, ...items].join(', ')}`, `    from '${timeText(start - earlier)}' to '${timeText(end - earlier)}'`, `    where ${where}`, ...(tail ? [`    ${tail}`] : [])].join('\n') + ';\n';
}

/** What each node saw of it. */
export const seenText = (address: string, period: Period): string =>
  WAYS.map((way) => query(period, { name: way, items: [PACKETS, BYTES], where: `${own(way)} = ${address}` })).join('\n');

/** All of it at one node. */
export function hostText(address: string, period: Period, node: string, hasLosses: boolean, earlier: number | null): string {
  const name = quoted(node);
  const at = name === null ? '' : `, node_id in (${name})`;
  const of = (way: Way) => `${own(way)} = ${address}${at}`;
  const texts = WAYS.flatMap((way) => [
    query(period, { name: way, items: [PACKETS, BYTES, 'count(*) as flows', ...(hasLosses ? LOSSES : [])], where: of(way) }),
    query(period, { name: `${way}_over_time`, items: [BYTES], where: of(way), every: period.every }),
    query(period, { name: `${way}_peers`, items: [BYTES, PACKETS], where: of(way), by: [peer(way)], limit: MOST_ASKED }),
    query(period, { name: `${way}_peers_over_time`, items: [BYTES], where: of(way), by: [peer(way)], limit: MOST_OF_WINDOW, every: period.every }),
    query(period, { name: `${way}_services`, items: [BYTES], where: of(way), by: ['protocol', 'service'], limit: MOST }),
    ...(earlier === null ? [] : [query(period, { name: `${way}_before`, items: [BYTES], where: of(way), earlier })]),
  ]);
  const flows = query(period, { name: 'flows', items: [BYTES, PACKETS, ...(hasLosses ? AGAIN : [])], where: `addr = ${address}${at}`, by: FLOW, limit: MOST });
  return [...texts, flows].join('\n');
}

/** Its system and country, of the way that it has packets of; refused where a node has no databases of them. */
export function networkText(address: string, period: Period, node: string, way: Way): string {
  const name = quoted(node);
  const fields = way === 'sent' ? ['src_asn', 'src_country'] : ['dst_asn', 'dst_country'];
  return query(period, { name: 'network', items: [BYTES], where: `${own(way)} = ${address}${name === null ? '' : `, node_id in (${name})`}`, by: fields, limit: 1 });
}

/** Queries to install: one tells when the host has much traffic, the other has its packets captured. */
export function watchText(address: string, bytes: number): string {
  return [
    `host_traffic: select sum(total_byte) as bytes where addr = ${address} every 10s;`,
    '',
    `host_much: select src_addr, dst_addr, sum(total_byte) as bytes where addr = ${address}`,
    '    groupby src_addr, dst_addr limit 10 every 10s',
    `    when host_traffic.bytes > ${bytes} cooldown 1min`,
    `    say "${address} sends and receives {bytes} bytes in 10 s";`,
    '',
  ].join('\n');
}

export function captureText(address: string): string {
  return [
    `host_seen: select sum(total_count) as packets where addr = ${address} every 10s;`,
    '',
    `host_packets: select src_addr, dst_addr, sum(total_count) as packets where addr = ${address}`,
    '    groupby src_addr, dst_addr limit 10 every 10s',
    '    when host_seen.packets > 0 cooldown 1h capture 1000 packets',
    `    say "Packets of ${address} are captured";`,
    '',
  ].join('\n');
}
