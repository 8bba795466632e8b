// Where the page is: real paths, and the rest of the state in the query string.

import { API } from '../api/client';
import { pathOf, rooted } from '../api/root';
import { zone } from '../words/time';

/** The parameter that says in which zone times are told, in all views. */
export const ZONE = 'tz';

class Route {
  /** Within the page, wherever that is served. */
  path = $state(pathOf(location.pathname) ?? location.pathname);
  search = $state(location.search);

  parameters = $derived(new URLSearchParams(this.search));

  go(href: string, how: 'push' | 'replace' = 'push'): void {
    const url = new URL(href, location.href);
    // Who reads times of his own zone does so in the next view, too.
    if (zone.isLocal && !url.searchParams.has(ZONE)) url.searchParams.set(ZONE, 'local');
    history[how === 'push' ? 'pushState' : 'replaceState'](null, '', url);
    this.read();
    if (how === 'push') {
      scrollTo(0, 0);
      document.querySelector<HTMLElement>('main')?.focus({ preventScroll: true });
    }
  }

  /** To another state of the same view: what has the focus keeps it, and back leads here. */
  move(href: string): void {
    const url = new URL(href, location.href);
    if (url.pathname === location.pathname && url.search === location.search) return;
    history.pushState(null, '', url);
    this.read();
  }

  read(): void {
    zone.isLocal = new URLSearchParams(location.search).get(ZONE) === 'local';
    this.path = pathOf(location.pathname) ?? location.pathname;
    this.search = location.search;
  }

  /** Links within the page are followed without loading it anew. */
  start(): void {
    this.read();
    addEventListener('popstate', () => this.read());
    document.addEventListener('click', (click) => {
      const link = (click.target as Element | null)?.closest?.('a');
      const isPlain = click.button === 0 && !click.metaKey && !click.ctrlKey && !click.shiftKey && !click.altKey;
      if (!link || !isPlain || click.defaultPrevented || link.target || link.hasAttribute('download')) return;
      const url = new URL(link.href);
      if (url.origin !== location.origin || pathOf(url.pathname) === null || url.pathname.startsWith(`${API}/`)) return;
      if (url.pathname === location.pathname && url.search === location.search && url.hash) return;
      click.preventDefault();
      this.go(link.href);
    });
  }
}

export const route = new Route();

export const storyHref = (id: string) => rooted(`/stories/${encodeURIComponent(id)}`);
export const queryHref = (name: string) => rooted(`/queries?query=${encodeURIComponent(name)}`);

/** The story that a path is about; null if it is none's. */
export function storyOf(path: string): string | null {
  try {
    return decodeURIComponent(/^\/stories\/([^/]+)\/?$/.exec(path)?.[1] ?? '') || null;
  } catch {
    return null;
  }
}
