// Where the page is served: at the root of its server, or below a path of a reverse proxy.

/** The files of a build lie in a folder of the root; a development server has them elsewhere. */
const up: string = import.meta.env.DEV ? '/' : '..';

/** The path of the root, with a slash at its end. A test without a browser has the server's own. */
export const ROOT: string = typeof location === 'undefined' ? '/' : new URL(up, import.meta.url).pathname;

/** The address of a path of the page or of the API: of `/events` it is `/edison/events` below `/edison/`. */
export const rooted = (path: string): string => ROOT + path.slice(1);

/** The path within the page of the path of an address; null where it is none of the page's. */
export function pathOf(pathname: string): string | null {
  if (pathname.startsWith(ROOT)) return `/${pathname.slice(ROOT.length)}`;
  return `${pathname}/` === ROOT ? '/' : null;
}
