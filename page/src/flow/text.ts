// One flow and its answers, in Equery: of each node by itself.

import { quoted } from '../explore/literal';
import { durationText, timeText, type Period } from '../explore/period';
import { type Flow, turned } from './state';

export const DIRECTIONS = ['there', 'back'] as const;
export type Direction = (typeof DIRECTIONS)[number];

const COUNTS = ['sum(total_count) as packets', 'sum(total_byte) as bytes'];
// Sums are zero where nothing is measured: the maximum tells whether something is.
const LOSSES = [
  'max(ploss_byte) as measured', 'sum(ploss_byte) as lost', 'sum(retrans_byte) as again', 'sum(unseen_byte) as unseen', 'min(rtt_min) as rtt',
];

export function flowText(flow: Flow, period: Period, hasLosses: boolean, nodes: string[]): string {
  const names = nodes.map(quoted).filter((node) => node !== null);
  const query = (name: string, { src, dst, sport, dport, proto }: Flow, isOverTime: boolean) => [
    `${name}${isOverTime ? '_over_time' : ''}: select ${[...COUNTS, ...(hasLosses ? LOSSES : [])].join(', ')}`,
    `    from '${timeText(period.start)}' to '${timeText(period.end)}'`,
    `    where src_addr = ${src}, dst_addr = ${dst}, src_port = ${sport}, dst_port = ${dport}, protocol = ${proto}`,
    ...(names.length ? [`        , node_id in (${names.join(', ')})`] : []),
    ...(isOverTime ? [`    every ${durationText(period.every)}`] : []),
  ].join('\n') + ';\n';
  const ways = { there: flow, back: turned(flow) };
  return DIRECTIONS.flatMap((way) => [query(way, ways[way], false), query(way, ways[way], true)]).join('\n');
}
