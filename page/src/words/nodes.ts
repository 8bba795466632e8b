// Nodes by their worst: what is wrong with each, how many there are of each state, and where they stand.

import type { Event, Node, Status } from '../api/types';
import { counted, number, percent, sum, whole } from './number';
import { duration, milliseconds, time } from './time';

/** Whether what a node does now is known: not of one that is away, nor of one that never answered. */
export const isHere = ({ state }: Node): boolean => !['down', 'unheard', 'never'].includes(state);

/** The worst first. */
export const KINDS = ['fire', 'down', 'late', 'low', 'unknown', 'ended', 'up'] as const;
export type Kind = (typeof KINDS)[number];

/** In a count: `2 down`. */
export const KIND_WORDS: Record<Kind, string> = { fire: 'fire', down: 'down', late: 'late', low: 'not whole', unknown: 'with trouble', ended: 'ended', up: 'up' };

/** Nothing is wrong with it. */
export const isWell = (kind: Kind): boolean => kind === 'up' || kind === 'ended';

export interface Judged {
  node: Node;
  kind: Kind;
  /** The word of its state. */
  state: string;
  /** The worst thing of it; empty where there is none. */
  worst: string;
  /** Packets per second; null where it is not known. */
  rate: number | null;
  coverage: number | null;
  site: string;
}

const STATES: Record<string, string> = { late: 'late', down: 'down', unheard: 'not heard', never: 'never seen', ended: 'ended', up: 'up' };
export const stateWord = (state: string) => STATES[state] ?? state;

/** The lesser of that of the last window and of the time of which windows came. */
export const coverageOf = ({ coverage, watched }: Node) => (watched !== null && watched < (coverage ?? 1) ? watched : coverage);

export function rateOf(node: Node): number | null {
  const { last, window } = node;
  const length = window ? (milliseconds(window.end) - milliseconds(window.start)) / 1000 : 0;
  // What has ended has no traffic now.
  return isHere(node) && node.state !== 'ended' && last && length > 0 ? Number(last.packets.received) / length : null;
}

const SECOND_NS = 1e9;

function clockTrouble({ clock }: Node): string {
  const ahead = clock?.ahead_s ?? 0;
  if (Math.abs(ahead) > 1) return `its clock is ${Math.abs(ahead).toFixed(1)} s ${ahead > 0 ? 'ahead' : 'behind'}`;
  if (clock?.synchronised === false) return `its clock is not synchronised${clock.max_error_ns === null ? '' : `, ± ${duration(clock.max_error_ns)}`}`;
  return '';
}

function absent(node: Node, now: string): { kind: Kind; worst: string } | null {
  const seen = node.seen ? ` since ${time(node.seen, now)}` : '';
  const age = node.window ? (milliseconds(now) - milliseconds(node.window.end)) / 1000 : null;
  const waiting = whole(node.spool?.messages ?? 0);
  switch (node.state) {
    case 'down': return { kind: 'down', worst: `not heard${seen}` };
    case 'never': return { kind: 'down', worst: 'it has never answered' };
    case 'unheard': return { kind: 'late', worst: `not heard${seen}, by a fault of the controller` };
    case 'late': return {
      kind: 'late',
      worst: `${age === null ? 'its windows are overdue' : `its last window ended ${duration(Math.max(0, Math.round(age)) * SECOND_NS)} ago`}${waiting ? `, ${counted(String(waiting), 'message')} wait` : ''}`,
    };
    default: return null;
  }
}

function incomplete(node: Node, least: number): string {
  const coverage = coverageOf(node);
  const lost = node.loss ? sum(node.loss) : 0n;
  if (coverage !== null && coverage < least) return `covers ${percent(coverage)}${lost > 0n ? `: ${counted(String(lost), 'packet')} lost before it` : ''}`;
  return node.gaps.length ? `${counted(node.gaps.length, 'time')} not judged` : '';
}

function troubled(node: Node): string {
  if (node.tasks?.refused) return `refuses its tasks: ${node.tasks.refused}`;
  if (node.spool?.fault) return `its spool takes nothing: ${node.spool.fault}`;
  if (node.store?.fault) return `its store takes nothing: ${node.store.fault}`;
  return clockTrouble(node);
}

/** `fires`: what fires at each node, in words. */
export function judged(node: Node, status: Status, fires: Map<string, string>): Judged {
  const own = { node, state: stateWord(node.state), rate: rateOf(node), coverage: isHere(node) ? coverageOf(node) : null, site: node.site?.name ?? '' };
  const fire = fires.get(node.name);
  if (fire !== undefined) return { ...own, kind: 'fire', worst: fire };
  const gone = absent(node, status.now);
  if (gone) return { ...own, ...gone };
  const low = incomplete(node, status.least_coverage ?? 1);
  if (low) return { ...own, kind: 'low', worst: low };
  const trouble = troubled(node);
  return { ...own, kind: trouble ? 'unknown' : node.state === 'ended' ? 'ended' : 'up', worst: trouble };
}

/** The worst first; of the same kind what carries most. */
export const byWorst = (a: Judged, b: Judged) =>
  KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (b.rate ?? -1) - (a.rate ?? -1) || (a.node.name < b.node.name ? -1 : 1);

/** What fires, by node. */
export const firesOf = (firing: Event[], title: (event: Event) => string): Map<string, string> =>
  new Map(firing.filter(({ node }) => node !== null).reverse().map((event) => [event.node!, title(event)]));

export function counts(all: Judged[]): { kind: Kind; count: number }[] {
  const found = new Map<Kind, number>();
  for (const { kind } of all) found.set(kind, (found.get(kind) ?? 0) + 1);
  return KINDS.flatMap((kind) => (found.has(kind) ? [{ kind, count: found.get(kind)! }] : []));
}

/** `1 fire, 2 down, 121 up` */
export const countWords = (all: Judged[]) => counts(all).map(({ kind, count }) => `${number(count)} ${KIND_WORDS[kind]}`).join(', ');

export interface Place {
  name: string;
  /** Latitude and longitude; null where no node says it. */
  at: { latitude: number; longitude: number } | null;
  nodes: Judged[];
  rate: number | null;
}

/** Sites, the worst first; nodes without one are last. */
export function sites(all: Judged[]): Place[] {
  const found = new Map<string, Judged[]>();
  for (const one of all) {
    const known = found.get(one.site);
    if (known) known.push(one);
    else found.set(one.site, [one]);
  }
  const places = [...found].map(([name, nodes]): Place => {
    const rates = nodes.flatMap(({ rate }) => (rate === null ? [] : [rate]));
    const at = nodes.map(({ node }) => node.site?.at ?? null).find((one) => one !== null) ?? null;
    return { name, at, nodes: [...nodes].sort(byWorst), rate: rates.length ? rates.reduce((a, b) => a + b, 0) : null };
  });
  const severity = ({ nodes }: Place) => KINDS.filter((kind) => !isWell(kind)).map((kind) => -nodes.filter((one) => one.kind === kind).length);
  const order = (a: Place, b: Place) => {
    if ((a.name === '') !== (b.name === '')) return a.name === '' ? 1 : -1;
    const [x, y] = [severity(a), severity(b)];
    const at = x.findIndex((count, which) => count !== y[which]);
    return at < 0 ? (b.rate ?? 0) - (a.rate ?? 0) || (a.name < b.name ? -1 : 1) : x[at] - y[at];
  };
  return places.sort(order);
}
