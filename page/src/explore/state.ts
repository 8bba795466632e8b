// What is asked, as the address of the page says it.

import { rooted } from '../api/root';
import { DIMENSIONS, MEASURES } from './measures';

export const VIEWS = ['area', 'lines', 'table'] as const;
export type View = (typeof VIEWS)[number];
export type Across = 'sum' | 'max';

/** Series that are drawn. */
export const MOST_TOP = 20;

export interface Asked {
  /** Empty: what is remembered, of the last hour if that is. */
  from: string;
  to: string;
  nodes: string[];
  /** A condition of Equery, as it was typed. */
  where: string;
  /** Conditions that were clicked. */
  only: string[];
  by: string[];
  show: string;
  top: number;
  /** How much earlier the other period is: `1d`; empty for none. */
  compare: string;
  view: View;
  every: string;
  across: Across;
  /** How often it is asked again: `30s`; empty for not. */
  refresh: string;
  /** In which zone times are told. */
  tz: '' | 'local';
  /** What is explained: `all`, or `FROM..TO` of it; empty for nothing. */
  why: string;
  /** Against which time: the compared period, or the time just before. */
  against: '' | 'just';
  /** By which field it is explained; empty for the first. */
  whyby: string;
}

export const USUAL: Asked = {
  from: '', to: '', nodes: [], where: '', only: [], by: ['src_addr'], show: 'bytes', top: 10, compare: '', view: 'area', every: '', across: 'sum', refresh: '', tz: '', why: '', against: '', whyby: '',
};

/** A clause ends with its line: nothing behind it becomes part of a comment. */
const line = (text: string) => text.replace(/[\r\n]+/g, ' ').trim();

export function read(parameters: URLSearchParams): Asked {
  const text = (name: string, other: string) => line(parameters.get(name) ?? other);
  const words = (name: string) => (parameters.get(name) ?? '').split(',').filter((word) => word !== '');
  const top = Number(parameters.get('top') ?? USUAL.top);
  const known = words('by').filter((field) => DIMENSIONS.some((one) => one.field === field));
  return {
    from: text('from', USUAL.from),
    to: text('to', ''),
    nodes: parameters.getAll('node'),
    where: text('where', ''),
    only: parameters.getAll('only').map(line).filter(Boolean),
    by: parameters.has('by') ? [...new Set(known)] : USUAL.by,
    show: MEASURES.some(({ id }) => id === parameters.get('show')) ? parameters.get('show')! : USUAL.show,
    top: Number.isInteger(top) && top > 0 ? Math.min(top, MOST_TOP) : USUAL.top,
    compare: text('compare', ''),
    view: VIEWS.find((view) => view === parameters.get('view')) ?? USUAL.view,
    every: text('every', ''),
    across: parameters.get('across') === 'max' ? 'max' : 'sum',
    refresh: text('refresh', ''),
    tz: parameters.get('tz') === 'local' ? 'local' : '',
    why: text('why', ''),
    against: parameters.get('against') === 'just' ? 'just' : '',
    whyby: /^[a-z_]*$/.test(parameters.get('whyby') ?? '') ? (parameters.get('whyby') ?? '') : '',
  };
}

/** The address with what is not usual. */
export function href(asked: Asked): string {
  const parameters = new URLSearchParams();
  const set = (name: keyof Asked, value: string) => value !== String(USUAL[name]) && parameters.set(name, value);
  set('from', asked.from);
  set('to', asked.to);
  asked.nodes.forEach((node) => parameters.append('node', node));
  set('where', asked.where);
  asked.only.forEach((condition) => parameters.append('only', condition));
  set('by', asked.by.join(','));
  for (const name of ['show', 'top', 'compare', 'view', 'every', 'across', 'refresh', 'tz', 'why', 'against', 'whyby'] as const) set(name, String(asked[name]));
  return rooted(`/explore${parameters.size ? `?${parameters}` : ''}`);
}
