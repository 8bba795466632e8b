// A host in a sentence: how much it sends and receives, against before, to whom most, and what is lost of it.

import { amount } from '../explore/measures';
import type { Period } from '../explore/period';
import { periodWords } from '../explore/period';
import type { Range } from '../explore/range';
import { PROTOCOLS } from '../words/value';
import { number, percent } from '../words/number';
import type { Host } from './read';

const value = ({ value }: Range) => (value === null ? null : Number(value));
const words = (of: Range) => (value(of) === null ? 'an unknown amount' : `${of.upper === null ? 'at least ' : ''}${amount(of.value!, 'bytes')}`);

/** A change below is none, and more than this is no percentage. */
const [SAME, MANY] = [0.03, 3];

function compared(host: Host): string {
  if (!host.before) return '';
  const [now, was] = [value(host.whole.sent.bytes), value(host.before.sent)];
  if (now === null || was === null) return '';
  if (was === 0) return now === 0 ? '' : '; it sent nothing in the time before';
  const by = now / was - 1;
  if (Math.abs(by) < SAME) return ', as in the time before';
  if (by > MANY) return `: ${number(Math.round(by + 1))} times what it sent in the time before`;
  return `: it sent ${Math.round(Math.abs(by) * 100)} % ${by > 0 ? 'more' : 'less'} than in the time before`;
}

/** `https over tcp`, `udp without a known port` */
export function serviceName([protocol, service]: (string | number | null | object)[]): string {
  const name = PROTOCOLS[String(protocol)] ?? `protocol ${protocol ?? 'unknown'}`;
  return service === null ? `${name}, no known port` : `${service} · ${name}`;
}

/** How much of all a peer has, where it is known and most. */
const MOST = 0.5;

function mostOf(host: Host): string {
  const [first] = host.peers.rows;
  if (!first) return '';
  const way = (value(host.whole.sent.bytes) ?? 0) >= (value(host.whole.received.bytes) ?? 0) ? 'sent' : 'received';
  const total = value(host.whole[way].bytes);
  const own = value(first.figures[way]);
  if (!total || own === null || own / total < MOST) return '';
  return `${percent(own / total)} of what it ${way === 'sent' ? 'sends goes to' : 'receives comes from'} ${first.name}.`;
}

function lost(host: Host): string {
  const { sent, received } = host.whole;
  const share = (part: Range, whole: Range) => (value(part) ? percent(value(part)! / Math.max(1, value(whole) ?? 0)) : null);
  const told = ([part, whole, text]: [Range, Range, string]) => share(part, whole)?.concat(' ', text) ?? '';
  const all = ([
    [sent.again, sent.bytes, 'of what it sends is sent again'],
    [received.again, received.bytes, 'of what is sent to it is sent again'],
    [sent.lost, sent.bytes, 'of what it sends is lost before the node'],
    [received.lost, received.bytes, 'of what is sent to it is lost before the node'],
  ] as [Range, Range, string][]).map(told).filter(Boolean);
  return all.length ? `${all.join('; ')}.` : sent.isMeasured || received.isMeasured ? 'No loss of it is seen.' : '';
}

export function leadOf(address: string, host: Host, from: string, to: string, period: Period, now: string): { lead: string; rest: string } {
  const when = periodWords(from, to, period, now);
  const { sent, received } = host.whole;
  if (!host.watched) return { lead: host.isPartial ? `Nothing is known of ${address} ${when}.` : `Nothing is remembered ${when}.`, rest: '' };
  if (value(sent.packets) === 0 && value(received.packets) === 0) {
    return { lead: `No packet of ${address} was seen ${when}.`, rest: host.isPartial ? 'Not all of that time is known.' : '' };
  }
  return { lead: `${address} sent ${words(sent.bytes)} and received ${words(received.bytes)} ${when}${compared(host)}.`, rest: [mostOf(host), lost(host)].filter(Boolean).join(' ') };
}
