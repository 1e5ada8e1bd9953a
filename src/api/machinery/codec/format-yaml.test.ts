import { expect, test } from 'vitest';

import { formatYaml } from './format-yaml.ts';
import { parseYaml } from './yaml.ts';

test.each([
  'a',
  '',
  ' ',
  '\n',
  ' \n',
  '\n \n',
  ' a\n',
  'a\nb\n',
  'a\n\n',
  '\ta\nb',
  'yes',
  'null',
  '1e3',
  '0o7',
  '.nan',
  '2026-01-01',
  '- a',
  'a: b',
  '# a',
  '"',
  '<<',
])('%j comes back as it was', (text) => {
  const value = { a: text, list: [text] };
  expect(parseYaml(formatYaml(value))).toEqual(value);
});
