import { parse } from 'yaml';
import { expect, test } from 'vitest';

import { blockYaml } from './block-yaml.ts';

test.each<[value: unknown, text: string]>([
  ['list', 'list\n'],
  [true, 'true\n'],
  [[{ group: '', kind: 'Pod', version: 'v1' }], '- group: ""\n  kind: Pod\n  version: v1\n'],
  [
    [{ fieldPath: 'spec.color' }, { fieldPath: 'spec.size' }],
    '- fieldPath: spec.color\n- fieldPath: spec.size\n',
  ],
  [{ fields: { a: ['b'] }, none: [] }, 'fields:\n    a:\n        - b\nnone: []\n'],
])('%j has the text of upstream', (value, text) => {
  expect(blockYaml(value)).toBe(text);
});

test.each([
  [['1', 'yes', 'No', 'null', '', ' a', 'a: b', '#', 'a\nb', '"', '\\', '.5', '-', '~', 'é']],
  [[[['a'], []], {}, null, -1.5, 1e21]],
  [{ '1': { y: 'n' }, 'a b': [{ c: [{ d: 1 }], e: 2 }] }],
])('%j keeps its meaning', (value) => {
  expect(parse(blockYaml(value), { version: '1.1' })).toEqual(value);
  expect(parse(blockYaml(value), { version: '1.2' })).toEqual(value);
});
