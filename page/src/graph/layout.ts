// Chains as graphs: which queries belong together, and where each of them stands.

import type { Query } from '../api/types';

export interface Place {
  query: Query;
  /** Steps from a query that nothing starts. */
  depth: number;
  /** First column, from 1, and how many it spans. */
  column: number;
  span: number;
}

export interface Chain {
  /** Parents before their children, and each child right after them where it can be. */
  places: Place[];
  edges: { from: string; to: string }[];
  columns: number;
}

/** Chains of more than one query, and the queries that are in none. */
export function chains(queries: Query[]): { chains: Chain[]; alone: Query[] } {
  const byName = new Map(queries.map((query) => [query.name, query]));
  const edges = queries.flatMap((query) =>
    parents(query).filter((from) => byName.has(from)).map((from) => ({ from, to: query.name })),
  );
  const found: Chain[] = [];
  const alone: Query[] = [];
  const done = new Set<string>();
  for (const query of queries) {
    if (done.has(query.name)) continue;
    const names = connected(query.name, edges);
    names.forEach((name) => done.add(name));
    const own = queries.filter((query) => names.has(query.name));
    if (own.length === 1 && !query.trigger) alone.push(query);
    else found.push(chain(own, edges.filter((edge) => names.has(edge.from))));
  }
  return { chains: found, alone };
}

const parents = (query: Query): string[] => (query.trigger ? [query.trigger.parent] : []);

function connected(name: string, edges: Chain['edges']): Set<string> {
  const names = new Set([name]);
  for (let size = 0; size !== names.size; ) {
    size = names.size;
    for (const edge of edges) {
      if (names.has(edge.from)) names.add(edge.to);
      if (names.has(edge.to)) names.add(edge.from);
    }
  }
  return names;
}

/** A query stands below the deepest of its parents, and over the columns of the children that it is the first parent of. */
function chain(queries: Query[], edges: Chain['edges']): Chain {
  const before = (name: string) => edges.filter((edge) => edge.to === name).map((edge) => edge.from);
  const depths = new Map<string, number>();
  const depth = (name: string, path: string[] = []): number => {
    if (path.includes(name)) return 0;
    const known = depths.get(name);
    if (known !== undefined) return known;
    const own = Math.max(-1, ...before(name).map((parent) => depth(parent, [...path, name]))) + 1;
    depths.set(name, own);
    return own;
  };
  const deepestParent = (name: string) => before(name).sort((a, b) => depth(b) - depth(a))[0];
  const places: Place[] = [];
  const place = (query: Query, column: number): number => {
    const own: Place = { query, depth: depth(query.name), column, span: 1 };
    places.push(own);
    let next = column;
    for (const child of queries) {
      const isPlaced = places.some((place) => place.query.name === child.name);
      if (!isPlaced && deepestParent(child.name) === query.name) next = place(child, next);
    }
    own.span = Math.max(1, next - column);
    return column + own.span;
  };
  let columns = 1;
  for (const root of queries.filter((query) => before(query.name).length === 0)) columns = place(root, columns);
  return { places, edges, columns: columns - 1 };
}
