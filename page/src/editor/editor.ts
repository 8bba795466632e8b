// The editor: CodeMirror, with Equery's words. It is loaded when a view needs it.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching } from '@codemirror/language';
import { lintKeymap, setDiagnostics } from '@codemirror/lint';
import { Compartment, EditorState, Prec } from '@codemirror/state';
import { EditorView, highlightSpecialChars, keymap, lineNumbers, placeholder } from '@codemirror/view';
import type { Diagnostic } from '../api/types';
import { completion } from './completion';
import { equery } from './language';
import { look } from './look';
import { places, problems } from './problems';
import type { Words } from './words';

export interface Setting {
  parent: HTMLElement;
  text: string;
  words: Words;
  /** Identifiers of the elements that describe it. */
  describedBy: string;
  changed(text: string): void;
  /** Ctrl-Enter. */
  entered(): void;
}

export interface Editor {
  text(): string;
  set(text: string): void;
  words(words: Words): void;
  show(diagnostics: Diagnostic[]): void;
  /** Takes the cursor to a place, in bytes. */
  go(byte: number): void;
  focus(): void;
  close(): void;
}

/** What the styles of this page must carry: of this response alone. */
const nonce = () => document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.nonce ?? '';

export function open({ parent, text, words, describedBy, changed, entered }: Setting): Editor {
  let known = words;
  const language = new Compartment();
  const enter = { key: 'Mod-Enter', run: () => (entered(), true) };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(nonce()),
        Prec.highest(keymap.of([enter, { ...enter, key: 'Ctrl-Enter' }])),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap]),
        lineNumbers(),
        highlightSpecialChars(),
        history(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ override: [completion(() => known)], icons: false }),
        language.of(equery(words)),
        look,
        placeholder('name: select … every 1s;'),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ id: 'equery', 'aria-label': 'Equery', 'aria-describedby': describedBy }),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    set: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    words(words) {
      const isNew = words.fields !== known.fields;
      known = words;
      if (isNew) view.dispatch({ effects: language.reconfigure(equery(words)) });
    },
    show: (diagnostics) => view.dispatch(setDiagnostics(view.state, problems(view.state.doc.toString(), diagnostics))),
    go(byte) {
      const [anchor] = places(view.state.doc.toString(), [byte]);
      view.dispatch({ selection: { anchor }, scrollIntoView: true });
      view.focus();
    },
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}
