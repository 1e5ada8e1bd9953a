// Errors of runtime classes.

import { expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import type * as node from './types.ts';
import { validateRuntimeClass, validateRuntimeClassUpdate } from './validation.ts';
import { runtimeClassWarnings } from './warnings.ts';

const runtimeClass = variation<node.RuntimeClass>('node/v1.RuntimeClass', {
  metadata: { name: 'foo' },
  handler: 'foo',
});
const tolerating = (...tolerations: readonly object[]): object => ({ scheduling: { tolerations } });
const AT = 'scheduling.tolerations';

test.each(
  rows<[change: object, errors: readonly string[]]>([
    [{}, []],
    [{ handler: 'a'.repeat(63) }, []],
    [{ handler: '' }, ['handler: Required value']],
    [{ handler: '&!@#' }, [`handler: Invalid value: "&!@#": ${NAME_MESSAGES.label}`]],
    [{ handler: 'Foo' }, [`handler: Invalid value: "Foo": ${NAME_MESSAGES.label}`]],
    [{ handler: 'a.b' }, ['handler: Invalid value: "a.b": must not contain dots']],
    [
      { handler: 'a'.repeat(64) },
      [`handler: Invalid value: "${'a'.repeat(64)}": must be no more than 63 characters`],
    ],
    [{ overhead: {} }, []],
    [{ overhead: { podFixed: { cpu: '10m', memory: '10G' } } }, []],
    [{ overhead: { podFixed: { 'ephemeral-storage': '1Gi' } } }, []],
    [
      { overhead: { podFixed: { cpu: '-1' } } },
      [expect.stringContaining('Invalid value: "-1": must be greater than or equal to 0')],
    ],
    [
      { overhead: { podFixed: { 'my.org': '10m' } } },
      [
        'must be a standard resource type or fully qualified',
        'must be a standard resource for containers',
      ].map((problem) => `overhead.limits[my.org]: Invalid value: "my.org": ${problem}`),
    ],
    [{ scheduling: {} }, []],
    [{ scheduling: { nodeSelector: { valid: 'yes' } } }, []],
    [
      { scheduling: { nodeSelector: { not_a_valid_key__: 'nope' } } },
      [`scheduling.nodeSelector: Invalid value: "not_a_valid_key__": ${NAME_MESSAGES.namePart}`],
    ],
    [
      { scheduling: { nodeSelector: { a: '-1' } } },
      [`scheduling.nodeSelector: Invalid value: "-1": ${NAME_MESSAGES.labelValue}`],
    ],
    [tolerating({ key: 'valid', operator: 'Exists', effect: 'NoSchedule' }), []],
    [tolerating({ operator: 'Exists' }, { key: 'a', value: 'b' }), []],
    [
      tolerating({ key: 'valid', operator: 'not_a_valid_operator', effect: 'NoSchedule' }),
      [expect.stringContaining(`${AT}[0].operator: Unsupported value: "not_a_valid_operator"`)],
    ],
    [
      tolerating({ key: '', operator: 'Equal', value: 'a' }),
      [
        `${AT}[0].operator: Invalid value: "Equal": operator must be Exists when \`key\` ` +
          'is empty, which means "match all values and all keys"',
      ],
    ],
    [
      tolerating({ operator: 'Exists', value: 'a' }),
      [expect.stringContaining("value must be empty when `operator` is 'Exists'")],
    ],
    [
      tolerating({ key: 'valid', operator: 'Exists' }, { key: 'valid', operator: 'Exists' }),
      [expect.stringMatching(/^scheduling\.tolerations\[1\]: Duplicate value: /)],
    ],
    // Tolerations that differ only in their seconds are duplicates.
    [
      tolerating(
        { key: 'valid', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 },
        { key: 'valid', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 10 },
      ),
      [expect.stringMatching(/^scheduling\.tolerations\[1\]: Duplicate value: /)],
    ],
    [
      tolerating(
        { key: 'a', operator: 'Exists', effect: 'NoExecute' },
        { key: 'a', operator: 'Exists', effect: 'NoSchedule' },
      ),
      [],
    ],
  ]),
)('%s', (_, change, errors) => {
  expect(messages(validateRuntimeClass(runtimeClass(change)))).toEqual(errors);
});

test.each(
  rows<[now: object, errors: readonly string[]]>([
    [{}, []],
    [{ metadata: { labels: { a: 'b' } } }, []],
    [{ overhead: { podFixed: { cpu: '10m' } } }, []],
    [{ handler: 'bar' }, ['handler: Invalid value: "bar": field is immutable']],
    [{ handler: '' }, ['handler: Invalid value: "": field is immutable']],
  ]),
)('update to %s', (_, now, errors) => {
  expect(messages(validateRuntimeClassUpdate(runtimeClass(now), runtimeClass()))).toEqual(errors);
});

test('deprecated node labels have warnings', () => {
  const nodeSelector = {
    'beta.kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'arm64',
    'beta.kubernetes.io/arch': 'arm64',
  };
  expect(runtimeClassWarnings(runtimeClass({ scheduling: { nodeSelector } }))).toEqual([
    'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/arch" instead',
    'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead',
  ]);
  expect(runtimeClassWarnings(runtimeClass({}))).toEqual([]);
});
