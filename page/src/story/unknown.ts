// What is not known of a story, in sentences: each from what its events and answers lack.

import type { Answer, Event, Status } from '../api/types';
import { reasonOf } from '../explore/ask';
import { counted, percent } from '../words/number';
import { time } from '../words/time';

export interface Lacking {
  events: Event[];
  /** Of its time. */
  answers: Answer[];
  unlisted: number;
  status: Status;
  /** What stores say of its flows; null where none was asked. */
  nodes: { name: string; missing: string | null }[] | null;
  /** The nodes on the way are in order. */
  isOrdered: boolean | null;
  hasFlows: boolean;
}

const MOST = 8;

export function lacking({ events, answers, unlisted, status, nodes, isOrdered, hasFlows }: Lacking): string[] {
  const all: string[] = [];
  const least = status.least_coverage;
  for (const event of events.filter(({ kind }) => kind === 'fired')) {
    const where = event.node ? ` at ${event.node}` : '';
    if (event.coverage !== null && least !== null && event.coverage < least) all.push(`What was in ${percent(1 - event.coverage)} of the packets${where} at ${time(event.at, status.now)}: they were lost before they were read.`);
    if (event.bounds !== undefined && event.bounds !== 'exact') all.push(`The exact figures at ${time(event.at, status.now)}: they are estimates, ${event.bounds}.`);
  }
  const uncounted = [...new Set(events.filter(({ kind, coverage }) => kind === 'fired' && coverage === null).map(({ node }) => node ?? 'all nodes'))];
  if (uncounted.length) all.push(`How many packets were lost before they were read at ${uncounted.join(', ')}: the source cannot count them.`);
  const parts = answers.filter(({ status, window }) => status === 'partial' && window);
  if (parts.length) all.push(`What is missing in ${counted(parts.length, 'window')} seen in part: ${[...new Set(parts.map(({ reason }) => reason ?? 'something'))].slice(0, 3).join('; ')}.`);
  if (unlisted > 0) all.push(`${counted(unlisted, 'later event')} that ${unlisted === 1 ? 'is' : 'are'} not listed here.`);
  if (!hasFlows) all.push('Which way its flows go: its key names no address.');
  else if (nodes === null) all.push(status.history ? 'What nodes remember of its flows: they have not answered.' : 'How its flows went at each node: nothing is stored here (--store DIR).');
  for (const { name, missing } of nodes ?? []) if (missing !== null) all.push(`What ${name} saw of its flows: ${reasonOf(missing).advice || reasonOf(missing).said || missing}`);
  if (isOrdered === false) all.push('The order of the nodes on the way: neither round trips nor losses tell it.');
  if (nodes !== null && isOrdered !== null) all.push('What is between the nodes: Edison has none there. Losses of UDP: only TCP shows them.');
  return [...new Set(all)].slice(0, MOST);
}
