// The one sentence that answers: what happens now? In this order: what fires, figures that are not to be trusted, nodes that are late or
// down, what the traffic does. That Edison is away is said above all (parts/Away.svelte).

import type { Answer, Event, Node, Query, Status, Story } from '../api/types';
import type { Now } from '../api/now';
import { firing, news, NEWS_MS } from '../words/firing';
import { isHere } from '../words/nodes';
import { counted, number, percent, sum, whole } from '../words/number';
import { duration, milliseconds, span, time } from '../words/time';
import { composed, title } from '../words/title';
import { sentence, sourcesOf } from './sentence';

export interface Headline {
  tone: 'fired' | 'warn' | 'calm';
  /** Read first. */
  lead: string;
  /** The evidence, in the server's words, or more of the sentence. */
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
  /** What the traffic does; null where that is not kept. */
  now?: Now | null;
  /** The node whose traffic it is; empty of all nodes. */
  node?: string;
}

export function headline(known: Known): Headline {
  const { status, queries, events } = known;
  const counted = asCounted(status, known.now ?? null);
  const wrong = troubles(counted);
  const traffic = ofTraffic(known);
  const fired = news(status, queries, events);
  const small = slight(counted);
  if (fired) return { ...ofFiring(fired, known), also: [...wrong, ...small, [traffic.lead, traffic.rest].filter(Boolean).join(' ')] };
  if (wrong.length) return { tone: 'warn', lead: wrong[0], rest: [traffic.lead, traffic.rest].filter(Boolean).join(' '), story: null, also: [...wrong.slice(1), ...small] };
  // What lost packets never looks well.
  return { tone: small.length ? 'warn' : 'calm', ...traffic, story: null, also: small };
}

/** The status with the packets that the account of the page has, so that both say the same: that of the one node, of all the time of a run. */
function asCounted(status: Status, now: Now | null): Status {
  if (!now?.period || status.mode !== 'run' || now.nodes.length !== 1) return status;
  const isWhole = now.kind === 'capture' || milliseconds(status.started) >= milliseconds(now.period.start);
  if (!isWhole) return status;
  const { received, measured, not_measured, lost } = now.account;
  const nodes = status.nodes.map((node) => (node.name === now.nodes[0] ? { ...node, packets: { ...node.packets, received, measured, not_measured }, loss: lost } : node));
  return { ...status, nodes };
}

/** What the traffic does: of a capture what it holds. */
function ofTraffic(known: Known): { lead: string; rest: string } {
  const { status, now, node } = known;
  const said = now ? sentence(now, status, node) : null;
  if (said) return said;
  return { lead: status.mode === 'run' ? ofCapture(known) : byNodes(known), rest: '' };
}

function ofFiring(event: Event, { status, queries, events, stories }: Known): Omit<Headline, 'also'> {
  const story = stories.find((story) => story.id === event.story || story.id === event.event);
  const active = firing(queries, events);
  const isActive = active.some((other) => other.event === event.event);
  const query = queries.find(({ name }) => name === event.query);
  const said = title(event, query);
  const at = time(event.at, status.now);
  const lead = active.length > 1 && isActive
    ? `${active.length} conditions hold. The newest: ${said}, since ${at}.`
    : `${said}, ${isActive && !status.ended ? 'since' : 'at'} ${at}.`;
  return {
    tone: 'fired',
    lead,
    // A title of the query's own words has none of the figures.
    rest: event.title ? `${composed(event, query)}.` : '',
    story: story?.id ?? event.story ?? null,
  };
}

/** What keeps all from being well, the worst first: a sentence each. */
export function troubles(status: Status): string[] {
  const here = status.nodes.filter(isHere);
  return [
    ...ownFaults(status),
    ...gathered(here.map((node) => ({ name: node.name, said: losses(node, status) })), 'nodes lose packets or were not watched all the time'),
    ...gathered(here.map((node) => ({ name: node.name, said: faults(node) })), 'nodes have trouble with their clock, tasks, spool or store'),
    ...ofStates(status),
    ...(status.alertmanagers ?? []).flatMap(({ address, fault }) => (fault ? [`The Alertmanager at ${address} ${fault}.`] : [])),
  ];
}

/** Of more nodes their number, and the first names. */
const FEW = 3;

function gathered(all: { name: string; said: string[] }[], words: string): string[] {
  const own = all.filter(({ said }) => said.length);
  if (own.length <= FEW) return own.flatMap(({ said }) => said);
  const names = own.slice(0, FEW).map(({ name }) => name).join(', ');
  return [`${number(own.length)} ${words}: ${names} and ${number(own.length - FEW)} more.`];
}

/** Nodes that are late or down: each by its name, or how many. */
function ofStates(status: Status): string[] {
  const all = status.nodes.filter((node) => !['up', 'ended', 'unheard'].includes(node.state));
  if (all.length <= FEW) return all.map((node) => away(node, status));
  const words = { late: 'late', down: 'down', never: 'never seen' };
  const counts = Object.entries(words).flatMap(([state, word]) => {
    const count = all.filter((node) => node.state === state).length;
    return count ? [`${number(count)} ${count === 1 ? 'is' : 'are'} ${word}`] : [];
  });
  const up = status.nodes.length - all.length;
  return [`Of ${counted(status.nodes.length, 'node')} ${counts.join(', ')}; figures are of the other ${number(up)}.`];
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

/** A loss of less than this share of a run is no reason to mistrust its figures. */
const SEVERE = 0.01;

/** Losses of a run that are worth a word, and no more. */
const slight = (status: Status): string[] =>
  status.mode === 'run' ? gathered(status.nodes.map((node) => ({ name: node.name, said: ofRun(node, (share) => share < SEVERE) })), 'nodes did not measure all packets') : [];

/** What a node lacks of its traffic now, or lacked a while ago; of a run, what it lacks of all. */
function losses(node: Node, status: Status): string[] {
  const said = status.mode === 'run' ? ofRun(node, (share) => share >= SEVERE) : [];
  if (status.ended || said.length) return said;
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

function ofRun({ name, packets, loss }: Node, fits: (share: number) => boolean): string[] {
  const received = whole(packets.received);
  const lost = loss ? sum(loss) : 0n;
  // What the user's own filter leaves out is no trouble.
  const { filter, ...others } = packets.not_measured;
  const left = received - whole(packets.measured) - whole(filter);
  const of = (part: bigint, all: bigint) => (all > 0n ? Number(part) / Number(all) : 0);
  const [shareLost, shareLeft] = [of(lost, lost + received), of(left, received)];
  const names = Object.entries(others).sort(([, a], [, b]) => Number(b) - Number(a)).slice(0, FEW).map(([reason, count]) => `${number(count)} ${reason.replaceAll('_', ' ')}`);
  return [
    ...(lost > 0n && fits(shareLost) ? [`${counted(String(lost), 'packet')}, ${percent(shareLost)} of all, ${lost === 1n ? 'was' : 'were'} lost before ${name} was read.`] : []),
    ...(left > 0n && fits(shareLeft) ? [`${counted(String(left), 'packet')} of ${name}, ${percent(shareLeft)} of all, ${left === 1n ? 'was' : 'were'} not measured${names.length ? `: ${names.join(', ')}` : ''}.`] : []),
  ];
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

/** Where nothing else is kept: what nodes said of their last windows. */
function byNodes({ status, queries, events }: Known): string {
  if (status.nodes.length === 0) return 'No node has answered yet.';
  const up = status.nodes.filter((node) => node.state === 'up');
  const rates = up.flatMap(({ last, window }) => {
    const seconds = window ? (milliseconds(window.end) - milliseconds(window.start)) / 1000 : 0;
    return last && seconds > 0 ? [Number(last.packets.received) / seconds] : [];
  });
  const answer = `${number(up.length)} of ${counted(status.nodes.length, 'node')} ${up.length === 1 ? 'is' : 'are'} up`;
  const traffic = rates.length ? `: ${number(Math.round(rates.reduce((a, b) => a + b, 0)))} packets/s pass ${up.length === 1 ? 'it' : 'them'}` : '';
  const last = events.find((event) => event.kind === 'fired');
  const fired = last ? `the last condition that held was at ${time(last.at, status.now)}` : 'nothing has fired';
  return `${answer}${traffic}; ${queries.length === 0 ? 'no query stands' : fired}.`;
}

/** `a.pcap holds 75.25 s: 61,200 bytes in 100 packets.` */
export function ofCapture({ status, ofRun, node = '' }: Known): string {
  const { name: sources, isOne } = sourcesOf(status, node);
  const verb = isOne ? 'holds' : 'hold';
  const own = status.nodes.filter(({ name }) => !node || name === node);
  const received = own.reduce((total, { packets }) => total + whole(packets.received), 0n);
  const all = ofRun.filter((answer) => answer.query === 'totals');
  // Of all nodes there may be an answer of its own: those of each are in it.
  const together = all.filter((answer) => answer.node === null);
  const totals = node ? all.filter((answer) => answer.node === node) : together.length ? together : all;
  const bytes = sum(Object.fromEntries(totals.map((answer, at) => [at, (answer.rows[0]?.total_byte as number) ?? 0])));
  const figures = `${totals.length ? `${counted(String(bytes), 'byte')} in ` : ''}${counted(String(received), 'packet')}`;
  if (!status.ended) return `${sources} ${isOne ? 'is' : 'are'} being measured: ${figures} so far.`;
  const length = status.span === null || node ? '' : ` ${duration((milliseconds(status.span.end) - milliseconds(status.span.start)) * 1e6)}`;
  return `${sources} ${verb}${length ? `${length}: ` : ' '}${figures}.`;
}
