// What the words of the search box lead to: an address, a prefix, a port, a node, a site, a query, a story, a view.

import { rooted } from '../api/root';
import type { Event, Node, Query, Story } from '../api/types';
import { href as exploreHref, USUAL } from '../explore/state';
import { canonical, hostHref, isAddress, network } from '../host/address';
import { SERVICES } from '../words/group';
import { number } from '../words/number';

export interface Found {
  /** What it is, in a word. */
  kind: string;
  name: string;
  note: string;
  href: string;
}

export interface Known {
  nodes: Node[];
  queries: Query[];
  stories: Story[];
  events: Event[];
  /** Those of rankings that were shown. */
  addresses: string[];
  /** Stores can be asked. */
  hasHistory: boolean;
  storyHref: (id: string) => string;
  queryHref: (name: string) => string;
}

const nodesHref = (chosen: Record<string, string>) => rooted(`/nodes?${new URLSearchParams(chosen)}`);

/** Of each kind, and of all. */
const MOST_OF_KIND = 5;
export const MOST = 12;
/** A text of a stranger is not shown whole. */
const MOST_LETTERS = 120;
const cut = (text: string) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text);

const VIEWS = [
  ['Now', '/', 'what the traffic does'], ['Stories', '/events', 'what happened, and why'], ['Explore', '/explore', 'what stores remember'], ['Flow', '/flow', 'one flow at each node'],
  ['Queries', '/queries', 'what is asked, and the editor'], ['Chains', '/chain', 'which query starts which'], ['Nodes', '/nodes', 'each node and site'],
];

function ofPort(port: number, service: string, hasHistory: boolean): Found {
  const href = hasHistory ? exploreHref({ ...USUAL, by: ['src_addr', 'dst_addr'], only: [`port = ${port}`] }) : rooted('/?by=port');
  return { kind: 'port', name: String(port), note: [service, hasHistory ? 'who uses it' : 'in the ranking of ports'].filter(Boolean).join(' · '), href };
}

function ports(words: string, hasHistory: boolean): Found[] {
  const [, digits] = /^(?:port\s+|:)?(\d{1,5})(?:\/(?:tcp|udp|sctp))?$/i.exec(words) ?? [];
  if (digits !== undefined && Number(digits) < 65_536) return [ofPort(Number(digits), SERVICES[Number(digits)] ?? '', hasHistory)];
  if (words.length < 2) return [];
  return Object.entries(SERVICES).filter(([, name]) => name.startsWith(words.toLowerCase())).map(([port, name]) => ofPort(Number(port), name, hasHistory));
}

function networks(words: string, hasHistory: boolean): Found[] {
  const address = canonical(words);
  if (address !== null) return [{ kind: 'host', name: address, note: hasHistory ? 'sent, received, peers, flows' : 'in the rankings, and events', href: hostHref(address) }];
  if (!words.includes('/') || !network(words)) return [];
  if (!hasHistory) return [{ kind: 'prefix', name: words, note: 'needs a store: its hosts in Now', href: rooted('/') }];
  return [{ kind: 'prefix', name: words, note: 'its traffic in Explore', href: exploreHref({ ...USUAL, by: ['src_addr', 'dst_addr'], only: [`addr in ${words.trim()}`] }) }];
}

/** Addresses of keys of events and of rankings that were shown: those that begin with what was typed. */
function named(words: string, events: Event[], ranked: string[]): Found[] {
  if (!/^[0-9a-f]*[.:][0-9a-f.:]*$/i.test(words)) return [];
  const all = events.flatMap(({ key }) => Object.values(key)).filter((value): value is string => typeof value === 'string' && isAddress(value));
  const ofEvents = new Set(all);
  return [...new Set([...all, ...ranked])].filter((address) => address !== words && address.startsWith(words.toLowerCase()))
    .map((address) => ({ kind: 'host', name: address, note: ofEvents.has(address) ? 'of an event' : 'in the rankings', href: hostHref(address) }));
}

export function find(typed: string, known: Known): Found[] {
  const words = typed.trim();
  if (words === '') return [];
  const lower = words.toLowerCase();
  const has = (...texts: (string | null | undefined)[]) => texts.some((text) => text?.toLowerCase().includes(lower));
  const views = VIEWS.filter(([name, path]) => has(name) && (known.hasHistory || !['/explore', '/flow'].includes(path)));
  const sites = new Map<string, number>();
  for (const { site } of known.nodes) if (site?.name && has(site.name)) sites.set(site.name, (sites.get(site.name) ?? 0) + 1);
  const kinds: Found[][] = [
    networks(words, known.hasHistory),
    named(words, known.events, known.addresses),
    ports(words, known.hasHistory),
    [...sites].map(([name, count]) => ({ kind: 'site', name, note: `${number(count)} of its nodes are here`, href: nodesHref({ site: name }) })),
    known.nodes.filter(({ name, sources }) => has(name, ...(sources ?? []))).map(({ name, state }) => ({ kind: 'node', name, note: state, href: nodesHref({ node: name }) })),
    known.queries.filter(({ name }) => has(name)).map(({ name, trigger }) => ({ kind: 'query', name, note: trigger ? 'a condition' : '', href: known.queryHref(name) })),
    known.stories.filter(({ id, title, text }) => has(id, title, text)).map(({ id, title, text }) => ({ kind: 'story', name: title ?? text.split('\n')[0] ?? id, note: '', href: known.storyHref(id) })),
    views.map(([name, path, note]) => ({ kind: 'view', name, note, href: rooted(path) })),
  ];
  return kinds.flatMap((all) => all.slice(0, MOST_OF_KIND)).slice(0, MOST).map((one) => ({ ...one, name: cut(one.name) }));
}
