// Validation of content types, with the messages of Go's mime package.

import { expect, test } from 'vitest';

import { mediaTypeProblem } from './media-type.ts';

test.each([
  ['application/json', undefined],
  ['application/json; charset=utf-8', undefined],
  ['text/plain; a="b\\"; c"; d=e;', undefined],
  ['json', undefined],
  ['', 'mime: no media type'],
  [';charset=utf-8', 'mime: no media type'],
  ['application json', 'mime: expected slash after first token'],
  ['application/', 'mime: expected token after slash'],
  ['application/json x', 'mime: unexpected content after media subtype'],
  ['application/json;;', 'mime: invalid media parameter'],
  ['application/json; charset', 'mime: invalid media parameter'],
  ['application/json; =x', 'mime: invalid media parameter'],
])('%s', (header, problem) => {
  expect(mediaTypeProblem(header)).toBe(problem);
});
