// The stream of server-sent events. A browser connects anew by itself, unless the server refused.

import { API } from './client';

const AGAIN_MS = 2000;

export interface Listener {
  opened(): void;
  lost(): void;
  /** The server refused: whether to try again. */
  refused(): Promise<boolean>;
  said(name: string, data: unknown): void;
}

const NAMES = ['status', 'queries', 'answer', 'event', 'story', 'lagged'];

export function listen(listener: Listener): void {
  const source = new EventSource(`${API}/stream`);
  source.onopen = () => listener.opened();
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return listener.lost();
    void listener.refused().then((again) => {
      if (again) setTimeout(() => listen(listener), AGAIN_MS);
    });
  };
  for (const name of NAMES) {
    source.addEventListener(name, (message) => {
      try {
        listener.said(name, JSON.parse((message as MessageEvent<string>).data));
      } catch (error) {
        console.warn(`a message '${name}' of the stream is not understood`, error);
      }
    });
  }
}
