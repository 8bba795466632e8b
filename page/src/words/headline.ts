// The one sentence that answers: what happens now?

import type { Answer, Event, Node, Query, Status, Story } from '../api/types';
import { counted, number, percent, sum, whole } from './number';
import { duration, milliseconds, span, time } from './time';

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
  const nodes = troubles(status);
  const measured = status.mode === 'run' ? [ofCapture(known)] : [];
  const fired = news(known);
  if (fired) return { ...ofFiring(fired, known), also: [...measured, ...nodes] };
  if (measured.length) return { tone: nodes.length ? 'warn' : 'calm', lead: measured[0], rest: '', story: null, also: nodes };
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

/** Whether what a node does now is known: not of one that is away, nor of one that never answered. */
export const isHere = ({ state }: Node): boolean => !['down', 'unheard', 'never'].includes(state);

/** What keeps all from being quiet, the worst first: a sentence each. */
export function troubles(status: Status): string[] {
  return [
    ...ownFaults(status),
    ...status.nodes.filter((node) => !['up', 'ended', 'unheard'].includes(node.state)).map((node) => away(node, status)),
    ...status.nodes.filter(isHere).flatMap((node) => [...losses(node, status), ...faults(node)]),
    ...status.alertmanagers.flatMap(({ address, fault }) => (fault ? [`The Alertmanager at ${address} ${fault}.`] : [])),
  ];
}

const OWN_FAULTS: Record<string, string> = {
  archive: 'The controller cannot store what happens',
  archive_rows: 'The archive of the controller is damaged',
  broker_away: 'The broker is away',
  broker_blocked: 'The broker takes no messages',
};

/** Faults of the controller's own, which last. */
function ownFaults(status: Status): string[] {
  const lasting = status.faults.filter(({ until }) => until === null);
  const said = lasting.map(({ fault, since, reason }) => {
    const waits = fault === 'archive_rows' ? '' : ' The nodes are not heard; what they measure waits in their spools.';
    return `${OWN_FAULTS[fault] ?? fault} since ${time(since, status.now)}: ${reason}.${waits}`;
  });
  const unheard = status.nodes.filter(({ state }) => state === 'unheard').length;
  // The fault is over, and nodes are still on their way back.
  if (!said.length && unheard) said.push(`${counted(unheard, 'node')} ${unheard === 1 ? 'has' : 'have'} not come back yet after a fault of the controller.`);
  return said;
}

function away(node: Node, status: Status): string {
  if (node.state === 'never') return `${node.name} has never answered.`;
  const seen = node.seen ? `; it was last seen at ${time(node.seen, status.now)}` : '';
  return `${node.name} is ${node.state}${seen}.`;
}

/** What a node lacks of its traffic now, or lacked a while ago. */
function losses(node: Node, status: Status): string[] {
  const said: string[] = [];
  const lost = node.last?.loss ? sum(node.last.loss) : 0n;
  const least = status.least_coverage ?? 1;
  if (lost > 0n) said.push(`${node.name} loses packets: ${counted(String(lost), 'packet')} of its last window.`);
  else if (node.coverage !== null && node.coverage < least) said.push(`${node.name} covers ${percent(node.coverage)} of its traffic.`);
  const gap = node.gaps.at(-1);
  if (gap && milliseconds(status.now) - milliseconds(gap.end) < NEWS_MS) {
    said.push(`${node.name} lacks the time ${span(gap, status.now)}: ${gap.reason.replaceAll('_', ' ')}.`);
  }
  return said;
}

/** Clock, tasks, spool and store. */
function faults({ name, clock, tasks, spool, store }: Node): string[] {
  const said: string[] = [];
  const ahead = clock?.ahead_s ?? 0;
  if (Math.abs(ahead) > 1) said.push(`The clock of ${name} is ${Math.abs(ahead).toFixed(1)} s ${ahead > 0 ? 'ahead' : 'behind'}.`);
  if (tasks.refused) said.push(`${name} refuses its tasks: ${tasks.refused}.`);
  if (spool.fault) said.push(`The spool of ${name} takes nothing: ${spool.fault}.`);
  if (store?.fault) said.push(`The store of ${name} takes nothing: ${store.fault}.`);
  return said;
}

function quiet({ status, queries, events }: Known): string {
  if (status.nodes.length === 0) return 'No node has answered yet.';
  const up = status.nodes.filter((node) => node.state === 'up').length;
  const answer = `${number(up)} of ${counted(status.nodes.length, 'node')} ${up === 1 ? 'answers' : 'answer'}`;
  const last = events.find((event) => event.kind === 'fired');
  const fired = last ? `the last firing is that of ${last.query} at ${time(last.at, status.now)}` : 'nothing has fired';
  const none = queries.length === 0 ? 'no query stands' : fired;
  const isQuiet = up === status.nodes.length && troubles(status).length === 0;
  return isQuiet ? `All is quiet: ${answer}, ${none}.` : `${answer}; ${none}.`;
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
