// Which time Explore opens on, where none is asked for: that of which something is remembered.

import type { Status } from '../api/types';
import { milliseconds } from '../words/time';
import { ask } from './ask';
import { timeText } from './period';
import { watchedOf } from './ranking';

export interface Times {
  from: string;
  to: string;
}

export const HOUR: Times = { from: '-1h', to: '' };
const HOUR_S = 3600;
/** As old as stores are asked to look. */
const OLDEST = 90 * 86_400;

/** Of a run over captures all of it; else the last hour, until it is known that less is remembered. */
export function firstTimes({ mode, span, ended }: Status): Times {
  if (mode !== 'run' || !span || !ended) return HOUR;
  const [start, end] = [span.start, span.end].map((at) => milliseconds(at) / 1000);
  return { from: timeText(Math.floor(start)), to: timeText(Math.floor(end) + 1) };
}

/** Of what is remembered, at most its last hour. */
export function within(watched: { start: string; end: string }): Times | null {
  const [first, last] = [watched.start, watched.end].map((at) => milliseconds(at) / 1000);
  const [from, to] = [Math.max(Math.floor(first), Math.floor(last) - HOUR_S), Math.ceil(last)];
  return to > from ? { from: timeText(from), to: timeText(to) } : null;
}

/** Where nothing of the last hour is remembered: the last hour of which something is; null where there is none. */
export async function remembered(status: Status, signal: AbortSignal): Promise<Times | null> {
  const now = Math.ceil(milliseconds(status.now) / 1000);
  const text = `remembered: select sum(total_byte) as bytes\n    from '${timeText(now - OLDEST)}' to '${timeText(now)}'\n    across nodes by sum;\n`;
  const { answers } = await ask(text, signal);
  const watched = watchedOf(answers);
  return watched ? within(watched) : null;
}
