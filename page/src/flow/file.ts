// What each node saw of a flow, as a table of a file.

import { timeText, type Period } from '../explore/period';
import type { Range } from '../explore/range';
import type { Cell } from '../words/csv';
import type { Side } from './sides';
import { from, type Flow, to } from './state';
import { DIRECTIONS, type Direction } from './text';

export function fileRows(flows: Record<Direction, Flow>, order: Record<Direction, { sides: Side[] }>, period: Period): Cell[][] {
  const head = ['from_end', 'to_end', 'protocol', 'node', 'packets', 'bytes', 'lost_before (bytes)', 'sent_again (bytes)', 'missed_by_tap (bytes)', 'rtt_min (ns)', 'status', 'start', 'end'];
  const value = (of: Range): Cell => of.value;
  const status = (side: Side) => (!side.isKnown ? 'unknown' : side.isPartial ? 'partial' : side.isMeasured ? 'complete' : 'losses not measured');
  const rows = DIRECTIONS.flatMap((way) =>
    order[way].sides.map((side): Cell[] => [
      from(flows[way]), to(flows[way]), flows[way].proto, side.node,
      ...[side.packets, side.bytes, side.lost, side.again, side.unseen, side.rtt].map(value),
      status(side), timeText(period.start), timeText(period.end),
    ]),
  );
  return [head, ...rows];
}
