// Questions to the stores of nodes, and what may come of them.

import type { Answer, Diagnostic } from '../api/types';
import { address, post, Refused } from '../api/client';

/** What `POST /history` answers. */
export interface History {
  answers: Answer[];
  nodes: { name: string; missing?: string }[];
  warnings: string[];
}

export type Trouble = {
  kind: 'busy' | 'invalid' | 'refused' | 'lost';
  message: string;
  diagnostics: Diagnostic[];
};

export const call = (parameters: Record<string, string> = {}) => address('/history', parameters);

export const ask = (text: string, signal?: AbortSignal, parameters: Record<string, string> = {}): Promise<History> =>
  post<History>(call(parameters), text, signal);

/** What there is to say first. */
export const LEADS: Record<Trouble['kind'], string> = {
  busy: 'Edison is busy with other questions: ask again in a moment.',
  invalid: 'The question has errors.',
  refused: 'This question cannot be answered.',
  lost: 'No answer came: ask again.',
};

const BUSY = 429;
const INVALID = 422;

export function trouble(error: unknown): Trouble {
  if (!(error instanceof Refused)) return { kind: 'lost', message: String(error), diagnostics: [] };
  const { status, message, diagnostics } = error;
  const kind = status === BUSY ? 'busy' : status === INVALID ? 'invalid' : status === 0 || status >= 500 ? 'lost' : 'refused';
  return { kind, message, diagnostics };
}

/** Nodes of both, each with what is missing of it. */
export function nodesOf(all: History[]): { name: string; missing: string | null }[] {
  const nodes = new Map<string, string | null>();
  for (const { name, missing } of all.flatMap(({ nodes }) => nodes)) nodes.set(name, missing ?? nodes.get(name) ?? null);
  return [...nodes].map(([name, missing]) => ({ name, missing }));
}

const ADVICE: Record<string, string> = {
  never_seen: 'Nothing was ever heard of it: is its probe started?',
  away: 'Its probe is away: is it running, and its broker?',
  ended: 'Its probe has ended.',
  late: 'It did not answer in time: ask again, or a shorter time.',
  no_store: 'Its probe remembers nothing: start it with --store DIR (store = "DIR" in its file).',
  no_rows: 'Its store has nothing of it yet.',
  refused: 'Its rows cannot answer this.',
  too_large: 'Its answer is too large: ask for fewer windows or groups.',
  too_late: 'It was asked too late.',
  no_memory: 'It has no memory for it: ask for fewer groups.',
  busy: 'Too many questions wait there: ask again in a moment.',
  damaged: 'Files of its store are damaged; the others are answered.',
  fault: 'Its store cannot be read.',
};

/** A name of a reason, what there is to say, and what to do. */
export function reasonOf(missing: string): { name: string; said: string; advice: string } {
  const [, name, said] = /^([a-z_]+)(?::\s*(.*))?$/s.exec(missing) ?? [, missing, ''];
  // Several queries of one text are refused for the same.
  const all = new Set((said ?? '').split('; ').map((one) => (name === 'refused' ? one.replace(/^\w+: /, '') : one)));
  return { name: name!, said: name === 'no_store' ? '' : [...all].join('; '), advice: ADVICE[name!] ?? '' };
}
