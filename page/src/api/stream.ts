// The stream of server-sent events. A browser connects anew by itself, unless the server refused.

import { API } from './client';

const AGAIN_MS = 2000;
/** After so long without a word the connection may be gone without an end, as when a computer slept: another one is made. */
const SILENT_MS = 45_000;

export interface Listener {
  opened(): void;
  lost(): void;
  /** The server refused: whether to try again. */
  refused(): Promise<boolean>;
  said(name: string, data: unknown): void;
  /** Nothing was said for long: whether that is strange. */
  silent(): boolean;
}

const NAMES = ['status', 'changes', 'queries', 'answer', 'event', 'story', 'lagged'];

export function listen(listener: Listener): void {
  // Of the status those nodes alone that changed: there may be a thousand.
  const source = new EventSource(`${API}/stream?nodes=changes`);
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      if (!listener.silent()) return wait();
      source.close();
      listen(listener);
    }, SILENT_MS);
  };
  wait();
  source.onopen = () => listener.opened();
  source.onerror = () => {
    wait();
    if (source.readyState === EventSource.CLOSED) clearTimeout(timer);
    if (source.readyState !== EventSource.CLOSED) return listener.lost();
    void listener.refused().then((again) => {
      if (again) setTimeout(() => listen(listener), AGAIN_MS);
    });
  };
  for (const name of NAMES) {
    source.addEventListener(name, (message) => {
      wait();
      try {
        listener.said(name, JSON.parse((message as MessageEvent<string>).data));
      } catch (error) {
        console.warn(`a message '${name}' of the stream is not understood`, error);
      }
    });
  }
}
