// The words of Equery as the API gives them, and what is known beside them.

import type { Language, QueryItems } from '../api/types';

export interface Words extends Language {
  /** The queries of the text itself, as far as they have no errors. */
  own: QueryItems[];
}

export const NO_WORDS: Words = {
  keywords: [], functions: [], fields: [], structures: [], nodes: [], queries: [], variables: [], own: [],
};

/** A name as a query writes it. */
export const quoted = (name: string, isPlain = /^[a-z_]\w*$/i.test(name)) => (isPlain ? name : `"${name.replaceAll('"', '""')}"`);
