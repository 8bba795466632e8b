// The text that is being written: in the address of the page where that is short, else in this browser.

import { rooted } from '../api/root';
import { route } from './route.svelte';

/** Letters of an address that every browser and proxy takes. */
const MOST = 1500;
const KEY = 'edison.draft';
/** The longest text that is sent. */
const LONGEST = 1 << 20;

export type Kept = 'nothing' | 'address' | 'browser' | 'nowhere';

class Draft {
  kept = $state<Kept>('nothing');

  /** A text that the editor should take. */
  wanted = $state.raw<{ text: string } | null>(null);

  /** That of the address. */
  text = $derived(route.parameters.get('text'));

  read(): string {
    const text = this.text ?? stored();
    this.kept = this.text ? 'address' : text ? 'browser' : 'nothing';
    return text;
  }

  keep(text: string): void {
    const isShort = encodeURIComponent(text).length <= MOST;
    const isStored = store(isShort ? '' : text);
    this.kept = text === '' ? 'nothing' : isShort ? 'address' : isStored ? 'browser' : 'nowhere';
    const parameters = new URLSearchParams(location.search);
    if (text !== '' && isShort) parameters.set('text', text);
    else parameters.delete('text');
    const search = parameters.toString();
    route.go(`${location.pathname}${search ? `?${search}` : ''}${location.hash}`, 'replace');
  }

  /** Takes a text to where it is edited. */
  edit(text: string): void {
    const isShort = encodeURIComponent(text).length <= MOST;
    store(isShort ? '' : text);
    this.wanted = { text };
    route.go(rooted(`/queries${isShort ? `?text=${encodeURIComponent(text)}` : ''}#ask`));
  }
}

function stored(): string {
  try {
    return localStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}

/** Whether it is there now; a browser may keep nothing. */
function store(text: string): boolean {
  try {
    if (text === '') localStorage.removeItem(KEY);
    else if (text.length <= LONGEST) localStorage.setItem(KEY, text);
    return stored() === text;
  } catch {
    return false;
  }
}

export const draft = new Draft();
