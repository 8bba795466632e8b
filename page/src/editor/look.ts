// How the editor looks: with the page's own colours, light and dark.

import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const PANEL = { backgroundColor: 'var(--panel)', color: 'var(--ink)', border: '1px solid var(--line)' };

const theme = EditorView.theme({
  '&': { ...PANEL, border: '1px solid var(--unknown)', borderRadius: '6px', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', minHeight: '8em' },
  '.cm-content': { caretColor: 'var(--ink)', padding: '6px 0' },
  '.cm-gutters': { backgroundColor: 'var(--bg)', color: 'var(--dim)', borderRight: '1px solid var(--line)' },
  '.cm-placeholder': { color: 'var(--dim)' },
  '&.cm-focused .cm-matchingBracket, &.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--line)', outline: '1px solid var(--dim)' },
  '.cm-tooltip': { ...PANEL, borderRadius: '6px', maxWidth: 'min(46em, 94vw)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '14em', maxWidth: '94vw' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--panel)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected] .cm-completionDetail': { color: 'var(--panel)' },
  '.cm-completionDetail': { color: 'var(--dim)', fontStyle: 'normal' },
  '.cm-tooltip.cm-completionInfo': { padding: '6px 10px', whiteSpace: 'pre-line' },
  '.cm-diagnostic': { color: 'var(--ink)', whiteSpace: 'pre-wrap', padding: '4px 10px' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--fire)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-diagnostic-info': { borderLeftColor: 'var(--unknown)' },
});

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '600' },
  { tag: tags.function(tags.name), color: 'var(--late)' },
  { tag: tags.labelName, fontWeight: '700' },
  { tag: tags.propertyName, color: 'var(--ink)' },
  { tag: [tags.string, tags.number], color: 'var(--warn)' },
  { tag: tags.comment, color: 'var(--dim)' },
]);

export const look = [theme, syntaxHighlighting(colours)];
