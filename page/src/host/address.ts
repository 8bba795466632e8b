// Addresses as numbers: which are the same, and which lie in a prefix.

import { rooted } from '../api/root';

export interface Network {
  /** 32 or 128. */
  bits: number;
  value: bigint;
  /** As many leading bits count. */
  length: number;
}

function four(text: string): bigint | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256 && String(Number(part)) === part)) return null;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function six(text: string): bigint | null {
  // The last 32 bits may be written as an IPv4 address.
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const last = tail ? four(tail[2]) : null;
  if (tail && last === null) return null;
  const whole = tail ? `${tail[1]}${(last! >> 16n).toString(16)}:${(last! & 0xffffn).toString(16)}` : text;
  const [head, rest, more] = whole.split('::');
  if (more !== undefined) return null;
  const groups = (part: string | undefined) => (part ? part.split(':') : []);
  const [front, back] = [groups(head), groups(rest)];
  const missing = 8 - front.length - back.length;
  if (rest === undefined ? missing !== 0 : missing < 1) return null;
  const all = [...front, ...Array<string>(rest === undefined ? 0 : missing).fill('0'), ...back];
  return all.every((group) => /^[0-9a-f]{1,4}$/i.test(group)) ? all.reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n) : null;
}

/** An address, or a prefix `10.0.0.0/8`; null if it is neither. */
export function network(text: string): Network | null {
  const [address, length, more] = text.trim().split('/');
  const bits = address.includes(':') ? 128 : 32;
  const value = bits === 128 ? six(address) : four(address);
  if (value === null || more !== undefined) return null;
  if (length === undefined) return { bits, value, length: bits };
  return /^\d{1,3}$/.test(length) && Number(length) <= bits ? { bits, value, length: Number(length) } : null;
}

export const isAddress = (text: string): boolean => !text.includes('/') && network(text) !== null;

/** Whether an address is that of a text, or lies in the prefix that it is. */
export function isIn(address: Network, text: string): boolean {
  const other = network(text);
  if (!other || other.bits !== address.bits) return false;
  const rest = BigInt(other.bits - other.length);
  return address.value >> rest === other.value >> rest;
}

/** As Edison writes it: the longest run of zeros of IPv6 is `::` (RFC 5952). */
export function canonical(text: string): string | null {
  const found = network(text);
  if (!found || text.includes('/')) return null;
  if (found.bits === 32) return text.trim();
  const groups = Array.from({ length: 8 }, (_, at) => ((found.value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16));
  // What maps IPv4 ends with it.
  if (found.value >> 32n === 0xffffn) return `::ffff:${[24n, 16n, 8n, 0n].map((by) => (found.value >> by) & 0xffn).join('.')}`;
  const runs = [...groups.map((group) => (group === '0' ? '0' : 'x')).join('').matchAll(/0{2,}/g)];
  if (!runs.length) return groups.join(':');
  const longest = runs.reduce((a, b) => (b[0].length > a[0].length ? b : a));
  return `${groups.slice(0, longest.index).join(':')}::${groups.slice(longest.index + longest[0].length).join(':')}`;
}

/** The view of a host, at a time where one is given. */
export function hostHref(address: string, { from = '', to = '', node = '' } = {}): string {
  const parameters = new URLSearchParams(Object.entries({ from, to, node }).filter(([, value]) => value !== ''));
  return rooted(`/host/${encodeURIComponent(address).replaceAll('%3A', ':')}${parameters.size ? `?${parameters}` : ''}`);
}

const HOST = /^\/host\/([^/]+)\/?$/;

/** The address that a path is about; null if it is no host's. */
export function hostOf(path: string): string | null {
  try {
    return canonical(decodeURIComponent(HOST.exec(path)?.[1] ?? ''));
  } catch {
    return null;
  }
}
