// What the traffic does, in a sentence: how much, against an hour before, who sends most, and what changed.

import type { Leader, Now, NowRanking } from '../api/now';
import type { Status } from '../api/types';
import { amount } from '../explore/measures';
import { counted, number, percent, short } from '../words/number';
import { duration, milliseconds } from '../words/time';
import { known, rate } from './figure';
import { label } from '../words/group';

/** A lesser change is none. */
const SAME = 0.03;
/** What makes up so much of a change is its cause. */
const MOST = 0.5;
/** Figures are said to three digits; of packets per second that is enough to read. */
const rounded = (of: number) => number(of < 1000 ? Math.round(of) : Number(of.toPrecision(3)));

export const ranked = (now: Now, by: NowRanking['by']) => now.rankings.find((ranking) => ranking.by === by);

/** `node`: the one that is asked for of several; else all are meant. */
export function sentence(now: Now, status: Status, node = ''): { lead: string; rest: string } | null {
  if (now.kind === 'capture') return now.period ? ofCapture(now, status, node) : null;
  return now.latest ? ofLive(now, status, node) : null;
}

/** What is measured: sources, each once, or the node that is asked for. */
export function sourcesOf(status: Status, node: string): { name: string; isOne: boolean } {
  if (node) return { name: node, isOne: true };
  const names = [...new Set(status.sources)];
  return { name: names.length ? names.join(', ') : 'The source', isOne: names.length < 2 };
}

function placeOf(now: Now, status: Status, node: string): string {
  if (node) return node;
  const sources = status.nodes.length === 1 ? (status.nodes[0].sources ?? []).join(', ') : '';
  return now.nodes.length === 1 ? sources || now.nodes[0] : counted(now.nodes.length, 'node');
}

function ofLive(now: Now, status: Status, node: string): { lead: string; rest: string } {
  const latest = now.latest!;
  const place = placeOf(now, status, node);
  const bits = rate(latest.bytes, latest.watched_ns, 8);
  const packets = rate(latest.packets, latest.watched_ns);
  if (!bits || !packets || bits.value === null || packets.value === null) return { lead: `What passes ${place} is not known since ${duration(latest.watched_ns)}.`, rest: more(now) };
  if (Number(packets.value) === 0) return { lead: `No packet has come to ${place} in the last ${words(now)}. Edison waits.`, rest: more(now) };
  const least = bits.upper === null ? 'At least ' : '';
  return { lead: `${least}${amount(bits.value, 'bit/s')} and ${rounded(Number(packets.value))} packets/s pass ${place}${compared(now)}.`, rest: more(now) };
}

const words = (now: Now) => ({ 60: 'minute', 3600: 'hour' })[Number(now.step_ns) / 1e9] ?? duration(now.step_ns);

function compared({ latest, latest_before: before }: Now): string {
  const earlier = before ? rate(before.bytes, before.watched_ns) : null;
  const now = rate(latest!.bytes, latest!.watched_ns);
  if (!earlier || !now || earlier.value === null || Number(earlier.value) === 0) return '';
  const change = Number(now.value) / Number(earlier.value) - 1;
  if (Math.abs(change) < SAME) return ', as an hour ago';
  if (change > 3) return `, ${number(Math.round(change + 1))} times what passed an hour ago`;
  return `, ${Math.round(Math.abs(change) * 100)} % ${change > 0 ? 'more' : 'fewer'} bits than an hour ago`;
}

/** Who sends most, and what the change is made of. */
function more(now: Now): string {
  return [changed(now), most(now)].filter(Boolean).join(' ');
}

function most(now: Now): string {
  const first = ranked(now, 'source')?.rows[0];
  const port = ranked(now, 'port')?.rows[0];
  const total = known(now.figures.bytes);
  if (!first || total === null || total === 0 || first.share === null) return '';
  const at = now.kind === 'capture' ? '' : ` in the last ${now.steps === 60 && Number(now.step_ns) === 6e10 ? 'hour' : duration(Number(now.step_ns) * now.steps)}`;
  const what = port && port.share !== null ? ` ${percent(port.share)} is ${label('port', port.key)}.` : '';
  return `${label('source', first.key)} sends most, ${percent(first.share)} of ${amount(total, 'bytes')}${at}.${what}`;
}

/** The conversation or source that makes up most of the change of the hour. */
function changed(now: Now): string {
  const [total, before] = [known(now.figures.bytes), known(now.figures_before?.bytes)];
  if (total === null || before === null || before === 0) return '';
  const change = total - before;
  if (Math.abs(change) / before < SAME) return '';
  const rises = change > 0;
  const moved = (row: Leader) => {
    const [own, was] = [known(row.bytes), known(row.bytes_before)];
    return own === null || was === null ? 0 : (own - was) * Math.sign(change);
  };
  for (const by of ['conversation', 'source'] as const) {
    const rows = ranked(now, by)?.rows ?? [];
    const first = [...rows].sort((a, b) => moved(b) - moved(a))[0];
    if (!first || moved(first) < Math.abs(change) * MOST) continue;
    const what = by === 'conversation' ? 'one conversation' : 'one source';
    return `The ${rises ? 'rise' : 'fall'} of ${amount(Math.abs(change), 'bytes')} in the hour is ${moved(first) > Math.abs(change) * 0.9 ? '' : 'mostly '}${what}: ${label(by, first.key)}.`;
  }
  return '';
}

function ofCapture(now: Now, status: Status, node: string): { lead: string; rest: string } {
  const { name: sources, isOne } = sourcesOf(status, node);
  const [bytes, packets] = [known(now.figures.bytes), known(now.figures.packets)];
  const span = status.span ?? now.period!;
  // The time of the run is that of all nodes: one alone may have been watched for a part of it.
  const watched = node ? Math.floor((known(now.figures.watched_ns) ?? 0) / 1e6) * 1e6 : (milliseconds(span.end) - milliseconds(span.start)) * 1e6;
  const length = duration(watched);
  const first = ranked(now, 'source')?.rows[0];
  const by = first?.share ? `, ${percent(first.share)} of the bytes sent by ${label('source', first.key)}` : '';
  const figures = bytes === null || packets === null ? 'packets' : `${amount(bytes, 'bytes')} in ${number(packets)} packets`;
  if (!status.ended) return { lead: `${sources} ${isOne ? 'is' : 'are'} being measured: ${figures} so far${by}.`, rest: '' };
  const mean = bytes === null ? '' : `On average that is ${short((bytes * 8e9) / Math.max(1e6, watched), 'bit/s')}. `;
  const port = ranked(now, 'port')?.rows[0];
  const what = port && port.share !== null ? `${percent(port.share)} of the bytes are ${label('port', port.key)}.` : '';
  return { lead: `${sources} ${isOne ? 'holds' : 'hold'} ${length}: ${figures}${by}.`, rest: `${mean}${what}`.trim() };
}
