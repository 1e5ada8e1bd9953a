// Hostile texts in components, as the server's renderer writes them: markup is text.

import { MantineProvider } from '@mantine/core';
import type { ReactNode } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';
import { Router } from 'wouter';
import { ansiPieces } from '../data/text/ansi.ts';
import { ErrorBox, ObjectLink } from './basics.tsx';

const HOSTILE = '<img src=x onerror=alert(1)>\u202e\u001b]0;x\u0007"\'&';

const markup = (content: ReactNode): string =>
  renderToStaticMarkup(
    <Router hook={() => ['/', () => undefined]}>
      <MantineProvider>{content}</MantineProvider>
    </Router>,
  );

const type = {
  group: 'a.b',
  version: 'v1',
  resource: 'things',
  kind: 'Thing',
  namespaced: true,
  verbs: [],
  shortNames: [],
  categories: [],
  subresources: [],
};

test.each<[string, ReactNode]>([
  ['a name', <ObjectLink key="a" type={type} namespace={HOSTILE} name={HOSTILE} />],
  ['an error', <ErrorBox key="b" error={new Error(HOSTILE)} />],
  [
    'a log line',
    ansiPieces(HOSTILE).map(({ text, style }) => (
      <span key={text} className={style}>
        {text}
      </span>
    )),
  ],
])('%s is text', (_name, content) => {
  const html = markup(content);
  expect(html).not.toContain('<img');
  expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;');
  for (const character of ['\u202e', '\u0007', '\u001b']) expect(html).not.toContain(character);
});
