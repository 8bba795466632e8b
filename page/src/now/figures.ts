// The five figures above the hour, each with what it is compared with and its course.

import type { Figure, Now } from '../api/now';
import type { Node, Status } from '../api/types';
import { amount } from '../explore/measures';
import type { Range } from '../explore/range';
import { counted, number, percent, short, whole } from '../words/number';
import { duration, time } from '../words/time';
import { known, part, rate, rangeOf } from './figure';
import { timesOf, valuesOf } from './lines';

export interface Shown {
  name: string;
  value: string;
  unit: string;
  /** Below it, in little. */
  note: string;
  course: (number | null)[];
}

const UNKNOWN = { value: 'not known', unit: '' };

/** `438` and `Mbit/s`. */
export function split(range: Range | null, unit: string): { value: string; unit: string } {
  if (range === null || range.value === null) return UNKNOWN;
  // Counts with bounds are told with both of them.
  if (unit === '' && range.upper !== null && range.lower !== null && Number(range.lower) < Number(range.upper)) {
    const [least, most] = [short(range.lower, ''), short(range.upper, '')];
    return { value: least === most ? `≈ ${least}` : `${least} to ${most}`, unit };
  }
  const text = amount(range.value, unit);
  const at = text.indexOf(' ');
  const lead = range.upper === null ? '≥ ' : range.lower !== range.value || range.upper !== range.value ? '≈ ' : '';
  return { value: lead + (at < 0 ? text : text.slice(0, at)), unit: at < 0 ? '' : text.slice(at + 1) };
}

const step = ({ step_ns }: Now) => ({ 60: 'minute', 3600: 'hour' })[Number(step_ns) / 1e9] ?? duration(step_ns);
const perSecond = (now: Now, series: Figure[], by: number) => series.map((figure, at) => {
  const found = rate(figure, now.series.watched_ns[at], by);
  return found === null || found.value === null ? null : Number(found.value);
});

export function figuresOf(now: Now, status: Status): Shown[] {
  return now.kind === 'capture' ? ofCapture(now, status) : ofLive(now, status);
}

function ofLive(now: Now, status: Status): Shown[] {
  const { latest, latest_before: before } = now;
  const last = `last ${step(now)}`;
  const flow = (name: string, of: 'bytes' | 'packets', unit: string, by: number): Shown => {
    const earlier = before ? rate(before[of], before.watched_ns, by) : null;
    return {
      name: `${name}, ${last}`, ...split(latest ? rate(latest[of], latest.watched_ns, by) : null, unit),
      note: earlier?.value != null ? `${short(earlier.value, unit)} an hour ago` : 'an hour ago is not known', course: perSecond(now, now.series[of], by),
    };
  };
  const room = status.nodes.reduce((sum, node) => sum + Number(node.load?.most_flows ?? 0), 0);
  return [
    flow('bits/s', 'bytes', 'bit/s', 8),
    flow('packets/s', 'packets', 'packets/s', 1),
    { name: `flows, ${last}`, ...split(latest ? rangeOf(latest.flows) : null, ''), note: room ? `of ${number(room)} that have room` : 'with packets', course: valuesOf(now.series.flows) },
    lossFigure(now, last),
    coverageFigure(now, status),
  ];
}

function ofCapture(now: Now, status: Status): Shown[] {
  const { bytes, packets, watched_ns: watched } = now.figures;
  const mean = (of: Figure, unit: string, by: number) => {
    const found = rate(of, watched, by);
    return found?.value == null ? '' : `${short(found.value, unit)} on average`;
  };
  return [
    { name: 'bytes', ...split(rangeOf(bytes), 'bytes'), note: mean(bytes, 'bit/s', 8), course: perSecond(now, now.series.bytes, 8) },
    { name: 'packets', ...split(rangeOf(packets), ''), note: mean(packets, 'packets/s', 1), course: perSecond(now, now.series.packets, 1) },
    { name: 'most flows at once', ...split(mostOf(now.series.flows), ''), note: `with packets in ${duration(now.step_ns)}`, course: valuesOf(now.series.flows) },
    lossFigure(now, 'all'),
    coverageFigure(now, status),
  ];
}

function mostOf(series: Figure[]): Range | null {
  const all = series.map(rangeOf).filter(({ value }) => value !== null);
  return all.length ? all.reduce((a, b) => (Number(b.value) > Number(a.value) ? b : a)) : null;
}

function lossFigure(now: Now, when: string): Shown {
  const course = now.series.tcp_bytes.map((bytes, at) => part(now.series.tcp_lost_bytes[at], bytes) ?? (known(bytes) === 0 ? 0 : null));
  const name = `TCP lost or sent again, ${when}`;
  const share = now.kind === 'capture' ? part(now.figures.tcp_lost_bytes, now.figures.tcp_bytes) : part(now.latest?.tcp_lost_bytes, now.latest?.tcp_bytes);
  const isTracked = now.series.tcp_lost_bytes.some((lost) => lost !== null);
  if (!isTracked) return { name, ...UNKNOWN, note: 'losses of TCP are not tracked', course: [] };
  const highest = course.reduce((best: number, share, at) => ((share ?? 0) > (course[best] ?? 0) ? at : best), 0);
  const at = timesOf(now)[highest];
  const most = (course[highest] ?? 0) > 0 && at !== undefined ? `highest ${percentOf(course[highest]!)} at ${time(new Date(at * 1000).toISOString()).slice(0, now.kind === 'capture' ? 12 : 5)}` : 'none in this time';
  const [value, unit = ''] = share === null ? ['no TCP'] : percentOf(share).split(' ');
  return { name, value, unit, note: most, course };
}

/** Losses are small: two digits behind the point. */
const percentOf = (share: number) => (share >= 0.001 && share < 0.1 ? `${Math.floor(share * 1e4 + 1e-7) / 100} %` : percent(share));

/** The lowest of all nodes, where there are several. */
function coverageFigure(now: Now, status: Status): Shown {
  const { coverage, lost } = now.account;
  const course = now.series.coverage;
  const count = lost === null ? null : Object.values(lost).reduce((sum: bigint, one) => sum + whole(one), 0n);
  const note = count === null ? 'its source cannot count what is lost' : count === 0n ? 'no packet was lost before it was read' : `${counted(String(count), 'packet')} lost before ${count === 1n ? 'it was' : 'they were'} read`;
  if (coverage === null) return { name: 'coverage', ...UNKNOWN, note, course: [] };
  const worst = lowest(status.nodes);
  const [value, unit] = percent(coverage).split(' ');
  return { name: 'coverage', value, unit, note: worst && status.nodes.length > 1 ? `lowest ${percent(worst.coverage!)} at ${worst.name}` : note, course };
}

function lowest(nodes: Node[]): Node | null {
  const all = nodes.filter(({ coverage }) => coverage !== null && coverage < 1);
  return all.length ? all.reduce((a, b) => (b.coverage! < a.coverage! ? b : a)) : null;
}
