// Which nodes are shown, as the address of the page says it.

import { rooted } from '../api/root';
import { isWell, KINDS, type Judged, type Kind } from '../words/nodes';

export const GROUPS = ['none', 'site', 'version'] as const;
export type GroupBy = (typeof GROUPS)[number];
export const SORTS = ['worst', 'name', 'packets'] as const;
export type Sort = (typeof SORTS)[number];

export interface Chosen {
  /** Words that a name, site or version must have. */
  find: string;
  /** A state; `trouble` is each but those that are up or have ended. */
  state: Kind | 'trouble' | '';
  site: string | null;
  group: GroupBy;
  sort: Sort;
  /** One node of which all is shown. */
  node: string;
}

export function read(parameters: URLSearchParams): Chosen {
  const state = parameters.get('state') ?? '';
  return {
    find: parameters.get('find') ?? '',
    state: state === 'trouble' ? state : (KINDS.find((kind) => kind === state) ?? ''),
    site: parameters.get('site'),
    group: GROUPS.find((one) => one === parameters.get('group')) ?? 'none',
    sort: SORTS.find((one) => one === parameters.get('sort')) ?? 'worst',
    node: parameters.get('node') ?? '',
  };
}

export function href({ find, state, site, group, sort, node }: Chosen): string {
  const parameters = new URLSearchParams();
  for (const [name, value, usual] of [['find', find, ''], ['state', state, ''], ['group', group, 'none'], ['sort', sort, 'worst'], ['node', node, '']]) {
    if (value !== usual) parameters.set(name, value);
  }
  if (site !== null) parameters.set('site', site);
  return rooted(`/nodes${parameters.size ? `?${parameters}` : ''}`);
}

export function fits({ node, kind, site }: Judged, chosen: Chosen): boolean {
  if (chosen.state === 'trouble' ? isWell(kind) : chosen.state !== '' && kind !== chosen.state) return false;
  if (chosen.site !== null && site !== chosen.site) return false;
  const text = [node.name, site, node.version ?? '', ...(node.sources ?? [])].join(' ').toLowerCase();
  return chosen.find.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

export type Row = { group: string; nodes: Judged[] } | { one: Judged };

const OF: Record<GroupBy, (one: Judged) => string> = { none: () => '', site: ({ site }) => site || 'no site', version: ({ node }) => node.version ?? 'version not known' };

/** Rows of the table: a line for each group, and its nodes below it. */
export function rowsOf(all: Judged[], { group, sort }: Pick<Chosen, 'group' | 'sort'>): Row[] {
  const sorted = sort === 'worst' ? all : [...all].sort((a, b) => (sort === 'name' ? a.node.name.localeCompare(b.node.name, 'en', { numeric: true }) : (b.rate ?? -1) - (a.rate ?? -1)));
  if (group === 'none') return sorted.map((one) => ({ one }));
  const found = new Map<string, Judged[]>();
  for (const one of sorted) {
    const name = OF[group](one);
    const known = found.get(name);
    if (known) known.push(one);
    else found.set(name, [one]);
  }
  return [...found].flatMap(([name, nodes]): Row[] => [{ group: name, nodes }, ...nodes.map((one) => ({ one }))]);
}
