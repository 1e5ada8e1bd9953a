// A text editor for YAML, and a view of the differences between two texts.

import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import {
  bracketMatching,
  foldGutter,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { type ReactNode, useEffect, useRef } from 'react';
import { styleNonce } from '../browser/style-nonce.ts';

const colors = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--link)' },
  { tag: tags.string, color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--waiting)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.keyword, tags.meta, tags.separator, tags.punctuation], color: 'var(--muted)' },
]);

const look = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--panel)', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--mantine-color-sea-4)' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', lineHeight: '1.5' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--panel)',
    color: 'var(--muted)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--hover)' },
  '.cm-selectionBackground, &.cm-focused .cm-selectionBackground': {
    backgroundColor: 'var(--active) !important',
  },
  '.cm-deletedChunk': { backgroundColor: 'color-mix(in srgb, var(--problem) 14%, transparent)' },
  '.cm-changedLine': { backgroundColor: 'color-mix(in srgb, var(--ok) 14%, transparent)' },
  '.cm-deletedText': {
    background: 'none !important',
    color: 'var(--problem)',
    textDecoration: 'line-through',
  },
  '.cm-deletedText *': { color: 'var(--problem) !important' },
  '.cm-changedText': { background: 'none !important', fontWeight: '700' },
  '.cm-collapsedLines': {
    color: 'var(--muted)',
    background: 'var(--hover)',
    '&::before, &::after': { content: '"⋯"' },
  },
});

const common = (label: string): Extension[] => [
  EditorView.cspNonce.of(styleNonce()),
  EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
  lineNumbers(),
  // Control characters and marks of direction are shown as symbols.
  highlightSpecialChars(),
  drawSelection(),
  yaml(),
  syntaxHighlighting(colors),
  bracketMatching(),
  look,
];

export interface CodeEditorProps {
  readonly label: string;
  /** The text at the beginning. Another `version` replaces what was typed. */
  readonly text: string;
  readonly version: string | number;
  readonly readOnly?: boolean;
  readonly onChange?: (text: string) => void;
}

export function CodeEditor({
  label,
  text,
  version,
  readOnly = false,
  onChange,
}: CodeEditorProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const changed = useRef(onChange);
  changed.current = onChange;
  const initial = useRef(text);
  initial.current = text;
  useEffect(() => {
    if (place.current === null) return undefined;
    const view = new EditorView({
      parent: place.current,
      doc: initial.current,
      extensions: [
        ...common(label),
        history(),
        foldGutter(),
        indentOnInput(),
        highlightActiveLine(),
        // Escape and then Tab leaves the editor (the keyboard is not trapped).
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorState.readOnly.of(readOnly),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed.current?.(update.state.doc.toString());
        }),
      ],
    });
    return () => view.destroy();
  }, [label, version, readOnly]);
  return <div ref={place} className="editor" />;
}

export function DiffView({
  label,
  before,
  after,
}: {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (place.current === null) return undefined;
    const view = new EditorView({
      parent: place.current,
      doc: after,
      extensions: [
        ...common(label),
        EditorState.readOnly.of(true),
        unifiedMergeView({
          original: before,
          mergeControls: false,
          highlightChanges: true,
          collapseUnchanged: { margin: 3, minSize: 6 },
        }),
      ],
    });
    return () => view.destroy();
  }, [label, before, after]);
  return <div ref={place} className="editor" />;
}
