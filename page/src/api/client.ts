// Calls of the controller's HTTP interface.

import { rooted } from './root';
import type { Diagnostic } from './types';

export const API = rooted('/api/v1');

type Parameter = string | number | null | undefined;

/** The address of a call; parameters that are null or empty are left out. */
export function address(path: string, parameters: Record<string, Parameter> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value));
  }
  const text = query.toString();
  return API + path + (text ? `?${text}` : '');
}

/** What the server refused, in one line. */
export class Refused extends Error {
  status: number;
  diagnostics: Diagnostic[];

  constructor(status: number, message: string, diagnostics: Diagnostic[] = []) {
    super(message);
    this.status = status;
    this.diagnostics = diagnostics;
  }
}

async function call<T>(method: string, url: string, body?: string, token?: string, signal?: AbortSignal): Promise<T> {
  let response: Response;
  try {
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'text/plain; charset=utf-8' };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    response = await fetch(url, { method, body, headers, cache: 'no-store', signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, 'Edison does not answer. Is it still running?');
  }
  const json = await response.json().catch(() => null);
  if (!response.ok) {
    throw new Refused(response.status, json?.error ?? `Edison answers ${response.status}.`, json?.diagnostics ?? []);
  }
  if (json === null) throw new Refused(response.status, 'Edison answers something that is not JSON.');
  return json as T;
}

export const get = <T>(url: string) => call<T>('GET', url);
/** A call that is aborted fails with what the browser throws then. */
export const post = <T>(url: string, body: string, signal?: AbortSignal) => call<T>('POST', url, body, undefined, signal);
export const put = <T>(url: string, body: string) => call<T>('PUT', url, body);
/** Shows a token; a cookie takes its place from then on. */
export const enter = <T>(url: string, token: string) => call<T>('POST', url, undefined, token);
export const remove = <T>(url: string) => call<T>('DELETE', url);
