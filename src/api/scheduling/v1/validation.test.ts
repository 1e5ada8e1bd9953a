import { expect, test } from 'vitest';

import { decodeManifest, messages } from '../../testing/manifest.ts';
import type * as scheduling from './types.ts';
import { validatePriorityClass } from './validation.ts';

test.each<[yaml: string, errors: readonly string[]]>([
  ['metadata: {name: a}\nvalue: 5\npreemptionPolicy: Never', []],
  ['value: 5\npreemptionPolicy: Never', []],
  [
    'metadata: {name: system-a}\nvalue: 5\npreemptionPolicy: Never',
    [
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-a is not a known system priority class",
    ],
  ],
])('%j', (yaml, errors) => {
  expect(messages(validatePriorityClass(decodeManifest<scheduling.PriorityClass>('scheduling/v1.PriorityClass', yaml)))).toEqual(
    errors,
  );
});
