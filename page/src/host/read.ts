// The answers about a host as its figures, its peers and their courses.

import type { Answer, Row, Value } from '../api/types';
import { length, type Mark, marks, scaled, slots } from '../explore/course';
import { colorOf } from '../explore/look';
import type { Period } from '../explore/period';
import type { Drawn } from '../explore/plot';
import { minus, NONE, plus, range, type Range, times as multiple, ZERO } from '../explore/range';
import { isWatched, watchedOf } from '../explore/ranking';
import { timesOf } from '../flow/sides';
import type { Span } from '../api/types';
import { FLOW, MOST, peer, type Way, WAYS } from './text';

/** One way, at one node. */
export interface Whole {
  bytes: Range;
  packets: Range;
  flows: Range;
  /** Not known where the node does not measure them. */
  lost: Range;
  again: Range;
  unseen: Range;
  rtt: Range;
  isMeasured: boolean;
}

export type Both<T> = Record<Way, T>;
const both = <T>(of: (way: Way) => T): Both<T> => ({ sent: of('sent'), received: of('received') });

export interface Group {
  name: string;
  value: Value[];
  figures: Both<Range>;
}

/** What is listed of groups, and all others. */
export interface Groups {
  rows: Group[];
  others: Both<Range>;
  hasOthers: boolean;
}

export interface FlowRow {
  key: Value[];
  bytes: Range;
  packets: Range;
  again: Range;
  rtt: Range;
  isMeasured: boolean;
}

export interface Host {
  whole: Both<Whole>;
  before: Both<Range> | null;
  peers: Groups;
  services: Groups;
  /** Of the chart: a line for each peer, and others. */
  lines: Both<Drawn[]>;
  marks: Both<Mark[]>;
  /** Of each peer, both ways together. */
  courses: Map<string, (number | null)[]>;
  flows: FlowRow[];
  moreFlows: number;
  watched: Span | null;
  isPartial: boolean;
  reasons: string[];
}

const isLeast = (answer: Answer) => answer.status !== 'complete';
const of = (answers: Answer[], name: string) => answers.find(({ query }) => query === name);

/** Sums of what was watched are zero where no row is; of what was not nothing is known. */
function figure(answer: Answer | undefined, row: Row | undefined, name: string): Range {
  if (!answer || !isWatched(answer)) return NONE;
  return row ? range(row[name], isLeast(answer)) : isLeast(answer) ? { ...ZERO, upper: null } : ZERO;
}

function wholeOf(answer: Answer | undefined): Whole {
  const row = answer?.rows[0];
  const isMeasured = row?.measured !== undefined && row.measured !== null;
  const loss = (name: string) => (isMeasured ? figure(answer, row, name) : NONE);
  return {
    bytes: figure(answer, row, 'bytes'), packets: figure(answer, row, 'packets'), flows: figure(answer, row, 'flows'),
    lost: loss('lost'), again: loss('again'), unseen: loss('unseen'), rtt: range(row?.rtt, false), isMeasured,
  };
}

const sum = (all: Range[]) => all.reduce((a, b) => (a === NONE || b === NONE ? NONE : plus(a, b)), ZERO);

/** Groups of both ways, the largest first; what one way does not list lies below the least that it lists. */
function groups(answers: Answer[], which: string, fields: (way: Way) => string[], name: (values: Value[]) => string): Groups {
  const found = both((way) => of(answers, `${way}_${which}`));
  const values = (way: Way, row: Row) => fields(way).map((field) => row[field] ?? null);
  const rows = new Map<string, Value[]>(WAYS.flatMap((way) => (found[way]?.rows ?? []).map((row) => [JSON.stringify(values(way, row)), values(way, row)] as const)));
  const unlisted = (way: Way): Range => {
    const answer = found[way];
    if (!answer || !isWatched(answer)) return NONE;
    const least = Math.min(...answer.rows.map((row) => Number(range(row.bytes, false).value ?? 0)));
    if (Number(answer.rest?.groups ?? 0) === 0) return isLeast(answer) ? { ...ZERO, upper: null } : ZERO;
    return { value: null, lower: 0, upper: isLeast(answer) ? null : least };
  };
  const own = (way: Way, id: string) => {
    const answer = found[way];
    const row = answer?.rows.find((row) => JSON.stringify(values(way, row)) === id);
    return row ? range(row.bytes, isLeast(answer!)) : unlisted(way);
  };
  const all = [...rows].map(([id, value]) => ({ name: name(value), value, figures: both((way) => own(way, id)) }));
  const size = ({ figures }: Group) => Number(figures.sent.value ?? 0) + Number(figures.received.value ?? 0);
  all.sort((a, b) => size(b) - size(a));
  const listed = all.slice(0, MOST);
  const others = both((way) => {
    const total = wholeOf(of(answers, way)).bytes;
    const shown = listed.map(({ figures }) => figures[way]).filter(({ value }) => value !== null);
    return total === NONE ? NONE : minus(total, sum(shown));
  });
  return { rows: listed, others, hasOthers: WAYS.some((way) => Number(others[way].value ?? 0) > 0) };
}

const BITS = 8;

/** Of each window the rate of each listed peer, and what is left of all. */
function linesOf(answers: Answer[], way: Way, peers: Group[], period: Period): { lines: Drawn[]; figures: Map<string, (Range | null)[]> } {
  const times = timesOf(period);
  const empty = () => times.map((): Range | null => null);
  const figures = new Map(peers.map(({ name }) => [name, empty()]));
  const all = empty();
  const rate = (answer: Answer, found: Range) => {
    const seconds = length(answer, period.every);
    return seconds === null ? null : multiple(scaled(found, seconds), BITS);
  };
  for (const { answer, at } of slots(answers.filter(({ query }) => query === `${way}_over_time`), times, period.every, 0)) {
    all[at] = rate(answer, figure(answer, answer.empty === undefined ? answer.rows[0] : undefined, 'bytes'));
  }
  for (const { answer, at } of slots(answers.filter(({ query }) => query === `${way}_peers_over_time`), times, period.every, 0)) {
    const rows = new Map((answer.empty === undefined ? answer.rows : []).map((row) => [String(row[peer(way)]), row]));
    for (const [name, own] of figures) {
      const row = rows.get(name);
      // One that is not among the largest of a window is part of the others there.
      if (row) own[at] = rate(answer, range(row.bytes, isLeast(answer)));
      else if (Number(answer.rest?.groups ?? 0) === 0 && answer.status === 'complete') own[at] = ZERO;
    }
  }
  const named = [...figures.values()];
  const others = all.map((one, at) => (one === null ? null : minus(one, sum(named.map((own) => own[at] ?? ZERO)))));
  const lines = peers.map(({ name }, at): Drawn => ({ name, color: colorOf(at), figures: figures.get(name)! }));
  const hasOthers = others.some((one) => Number(one?.value ?? 0) > 1);
  return { lines: [...lines, ...(hasOthers ? [{ name: 'others', color: '--others', fill: '--others-fill', figures: others }] : [])], figures };
}

export function readHost(answers: Answer[], period: Period): Host {
  const peers = groups(answers, 'peers', (way) => [peer(way)], ([address]) => String(address));
  const services = groups(answers, 'services', () => ['protocol', 'service'], ([protocol, service]) => `${service ?? ''}/${protocol}`);
  const drawn = both((way) => linesOf(answers, way, peers.rows, period));
  const courses = new Map(peers.rows.map(({ name }) => {
    const [sent, received] = WAYS.map((way) => drawn[way].figures.get(name)!);
    return [name, sent.map((one, at) => (one === null && received[at] === null ? null : Number(one?.value ?? 0) + Number(received[at]?.value ?? 0)))] as const;
  }));
  const flows = of(answers, 'flows');
  const earlier = both((way) => of(answers, `${way}_before`));
  const before = WAYS.every((way) => earlier[way] && isWatched(earlier[way]!)) ? both((way) => figure(earlier[way], earlier[way]!.rows[0], 'bytes')) : null;
  const own = answers.filter(({ query }) => query === 'sent' || query === 'received');
  return {
    whole: both((way) => wholeOf(of(answers, way))), before, peers, services,
    lines: both((way) => drawn[way].lines),
    marks: both((way) => marks(slots(answers.filter(({ query }) => query === `${way}_over_time`), timesOf(period), period.every, 0))),
    courses,
    flows: (flows?.rows ?? []).map((row) => {
      const isMeasured = row.measured !== undefined && row.measured !== null;
      const one = (name: string) => range(row[name], isLeast(flows!));
      return { key: FLOW.map((field) => row[field] ?? null), bytes: one('bytes'), packets: one('packets'), again: isMeasured ? one('again') : NONE, rtt: range(row.rtt, false), isMeasured };
    }),
    moreFlows: Number(flows?.rest?.groups ?? 0),
    watched: watchedOf(own), isPartial: own.some(({ status }) => status === 'partial'),
    reasons: [...new Set(own.flatMap(({ reason }) => (reason ? [reason] : [])))],
  };
}

/** The autonomous system and the country, where databases know them: `AS64496, DE`. */
export function networkOf(answers: Answer[]): string | null {
  const row = of(answers, 'network')?.rows[0];
  const known = (names: string[]) => names.map((name) => row?.[name] ?? null).find((value) => value !== null);
  const [system, country] = [known(['src_asn', 'dst_asn']), known(['src_country', 'dst_country'])];
  return [system === undefined ? '' : `AS${system}`, country ?? ''].filter(Boolean).join(', ') || null;
}
