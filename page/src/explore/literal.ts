// Values as literals of Equery, and conditions that they fulfil.

import type { Value } from '../api/types';

/** A text in quotes; null if it cannot be written, because a text ends on its line. */
export const quoted = (text: string): string | null => (/[\r\n]/.test(text) ? null : `'${text.replaceAll("'", "''")}'`);

const ADDRESS = /^[0-9a-fA-F.:]+$/;
const PREFIX = /^[0-9a-fA-F.:]+\/\d+$/;
const INTEGER = /^\d+$/;

/** The field without the lengths of its prefixes. */
const plain = (field: string) => field.split('/')[0];

function literal(field: string, value: Value): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? String(value) : null;
  if (typeof value !== 'string') return null;
  if (field.includes('/')) return PREFIX.test(value) ? value : null;
  if (/addr$/.test(field)) return ADDRESS.test(value) ? value : null;
  if (/(port|protocol|vlan|asn)$/.test(field) && INTEGER.test(value)) return value;
  return quoted(value);
}

/** `dst_addr = 10.0.0.1`; null if Equery has no text for it. */
export function condition(field: string, value: Value): string | null {
  if (value === null) return `${plain(field)} is null`;
  const text = literal(field, value);
  return text === null ? null : field.includes('/') ? `${plain(field)} in ${text}` : `${field} = ${text}`;
}

/** The groups, and no others; null without any that can be written. */
export function oneOf(fields: string[], groups: Value[][]): string | null {
  if (!fields.length) return null;
  if (fields.length === 1) return oneOfField(fields[0], groups.map(([value]) => value));
  const each = groups.map((group) => group.map((value, at) => condition(fields[at], value)));
  const texts = each.filter((conditions) => !conditions.includes(null)).map((conditions) => `(${conditions.join(' and ')})`);
  return texts.length ? `(${texts.join(' or ')})` : null;
}

function oneOfField(field: string, values: Value[]): string | null {
  const literals = values.filter((value) => value !== null).map((value) => literal(field, value));
  const known = literals.filter((text) => text !== null);
  const all = known.length ? [`${plain(field)} in (${known.join(', ')})`] : [];
  if (values.includes(null)) all.push(`${plain(field)} is null`);
  return all.length ? (all.length === 1 ? all[0] : `(${all.join(' or ')})`) : null;
}
