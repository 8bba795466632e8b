// The one sentence that answers: what happens now?

import type { Answer, Event, Query, Status, Story } from '../api/types';
import { counted, number, sum, whole } from './number';
import { duration, milliseconds, time } from './time';

/** For so long a firing that was resolved is news. */
const NEWS_MS = 10 * 60 * 1000;

export interface Headline {
  tone: 'fired' | 'warn' | 'calm';
  /** Read first. */
  lead: string;
  /** The evidence, in the server's words. */
  rest: string;
  story: string | null;
  /** What else is to be known. */
  also: string[];
}

export interface Known {
  status: Status;
  queries: Query[];
  events: Event[];
  stories: Story[];
  ofRun: Answer[];
}

export function headline(known: Known): Headline {
  const { status } = known;
  const nodes = quietNodes(status);
  const measured = status.mode === 'run' ? [ofCapture(known)] : [];
  const fired = news(known);
  if (fired) return { ...ofFiring(fired, known), also: [...measured, ...nodes] };
  if (status.broker && status.broker.state !== 'connected') {
    const why = status.broker.reason ? `: ${status.broker.reason}` : '';
    const lead = `The broker is away since ${time(status.broker.since, status.now)}${why}.`;
    return { tone: 'warn', lead, rest: 'What the nodes measure waits in their spools.', story: null, also: nodes };
  }
  if (measured.length) return { tone: 'calm', lead: measured[0], rest: '', story: null, also: nodes };
  if (nodes.length) return { tone: 'warn', lead: nodes[0], rest: quiet(known), story: null, also: nodes.slice(1) };
  return { tone: 'calm', lead: quiet(known), rest: '', story: null, also: [] };
}

/** The newest firing, if it is news: still active, recent, or of a run. */
function news({ status, queries, events }: Known): Event | undefined {
  const newest = events.find((event) => event.kind === 'fired');
  if (!newest || status.mode === 'run') return newest;
  const isActive = (event: Event) =>
    queries.some(
      (query) =>
        query.name === event.query &&
        query.trigger?.edges.some((edge) => edge.node === event.node && edge.phase === 'active'),
    );
  const isRecent = milliseconds(status.now) - milliseconds(newest.at) < NEWS_MS;
  return isRecent ? newest : events.find((event) => event.kind === 'fired' && isActive(event));
}

function ofFiring(event: Event, { status, stories }: Known): Omit<Headline, 'also'> {
  const story = stories.find((story) => story.id === event.story || story.id === event.event);
  const where = event.fired_by && event.node ? ` because of ${event.fired_by} on ${event.node}` : '';
  return {
    tone: 'fired',
    lead: `${event.query} fired at ${time(event.at, status.now)}${story ? '' : where}.`,
    rest: story ? lastSentence(story.text, event.query) : (event.text ?? ''),
    story: story?.id ?? event.story ?? null,
  };
}

/** The last sentence about a query: what it found, or why it fired. */
export function lastSentence(text: string, query: string): string {
  const lines = text.split('\n').filter((line) => line !== '');
  const about = lines.filter((line) => line.startsWith(`Therefore ${query} `) || line.startsWith(`${query} fired`));
  return about.at(-1) ?? lines.at(-1) ?? '';
}

function quietNodes(status: Status): string[] {
  return status.nodes
    .filter((node) => !['up', 'ended'].includes(node.state))
    .map((node) => {
      if (node.state === 'never') return `${node.name} has never answered.`;
      const seen = node.seen ? `; it was last seen at ${time(node.seen, status.now)}` : '';
      return `${node.name} is ${node.state}${seen}.`;
    });
}

function quiet({ status, queries, events }: Known): string {
  if (status.nodes.length === 0) return 'No node has answered yet.';
  const up = status.nodes.filter((node) => node.state === 'up').length;
  const answer = `${number(up)} of ${counted(status.nodes.length, 'node')} ${up === 1 ? 'answers' : 'answer'}`;
  const last = events.find((event) => event.kind === 'fired');
  const fired = last ? `the last firing is that of ${last.query} at ${time(last.at, status.now)}` : 'nothing has fired';
  const none = queries.length === 0 ? 'no query stands' : fired;
  return up === status.nodes.length ? `All is quiet: ${answer}, ${none}.` : `${answer}; ${none}.`;
}

/** `a.pcap was measured: 100 packets, 61,200 bytes in 75.25 s.` */
export function ofCapture({ status, ofRun }: Known): string {
  const sources = status.sources.length ? status.sources.join(', ') : 'The source';
  const verb = status.sources.length > 1 ? 'were' : 'was';
  const received = status.nodes.reduce((total, node) => total + whole(node.packets.received), 0n);
  const totals = ofRun.filter((answer) => answer.query === 'totals');
  const bytes = sum(Object.fromEntries(totals.map((answer, at) => [at, (answer.rows[0]?.total_byte as number) ?? 0])));
  const figures = [counted(String(received), 'packet')];
  if (totals.length) figures.push(counted(String(bytes), 'byte'));
  const span = status.span ? (milliseconds(status.span.end) - milliseconds(status.span.start)) * 1e6 : null;
  const took = span === null ? '' : ` in ${duration(span)}`;
  if (!status.ended) return `${sources} is being measured: ${figures.join(', ')} so far.`;
  return `${sources} ${verb} measured: ${figures.join(', ')}${took}.`;
}
