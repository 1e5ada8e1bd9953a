// Errors of request policies for device capacity.

import { expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { range, rows, variation } from '#api/testing/variation.ts';
import type * as resource from '../types.ts';
import { validateResourceSlice } from './index.ts';

const slice = variation<resource.ResourceSlice>('resource/v1.ResourceSlice', {
  metadata: { name: 'it' },
  spec: { driver: 'd', pool: { name: 'p', generation: 0, resourceSliceCount: 1 }, nodeName: 'n' },
});
const AT = 'spec.devices[0].capacity[a].requestPolicy';

function of(
  value: string,
  requestPolicy: object | undefined,
  isShared = true,
  more: object = {},
): resource.ResourceSlice {
  const capacity = { a: { value, ...(requestPolicy !== undefined && { requestPolicy }) }, ...more };
  return slice({
    spec: {
      devices: [{ name: 'x', ...(isShared && { allowMultipleAllocations: true }), capacity }],
    },
  });
}
const BOTH =
  'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time';
const NO_DEFAULT = 'default value is not valid according to the requestPolicy';
const MAX = '9223372036854775807';
const OVER = '9223372036854775808';
const TOO_LARGE = `must not be larger than ${MAX}`;
const notMultiple = (step: string, from: string): string =>
  `value is not a multiple of a given step (${step}) from (${from})`;

test.each(
  rows<[policy: object | undefined, value: string, errors: readonly string[]]>([
    [{}, '1Gi', []],
    [{ default: '1Gi' }, '10Gi', []],
    [{ default: '-1' }, '10Gi', []],
    [
      { default: '1Gi', validValues: ['1Gi'], validRange: { min: '1Gi' } },
      '10Gi',
      [`: Forbidden: ${BOTH}`],
    ],
    // Values.
    [
      { validValues: ['1Gi'] },
      '1Gi',
      ['.default: Required value: required when validValues is defined'],
    ],
    [{ default: '1Gi', validValues: ['1Gi'] }, '10Gi', []],
    [{ default: '1Gi', validValues: ['1Gi', '10Gi'] }, '10Gi', []],
    [{ default: '100m', validValues: ['100m', '2'] }, '10Gi', []],
    [
      { default: '100m', validValues: ['100m', '1'] },
      '10Gi',
      ['.validValues[1]: Duplicate value: "1"'],
    ],
    [{ default: '1', validValues: range(10, (index) => `${index + 1}`) }, '10Gi', []],
    [
      { default: '1', validValues: range(11, (index) => `${index + 1}`) },
      '10Gi',
      [
        '.validValues: Too many: 11: must have at most 10 items',
        `.validValues: Invalid value: "1": ${NO_DEFAULT}`,
      ],
    ],
    [
      { default: '1Gi', validValues: ['20Gi'] },
      '10Gi',
      [
        '.validValues[0]: Invalid value: "20Gi": option is larger than capacity value: 10Gi',
        `.validValues: Invalid value: "1Gi": ${NO_DEFAULT}`,
      ],
    ],
    [
      { default: '10', validValues: ['5', '10', '100'] },
      '-1',
      ['5', '10', '100'].map(
        (option, index) =>
          `.validValues[${index}]: Invalid value: "${option}": option is larger than capacity value: -1`,
      ),
    ],
    [
      { default: '-1', validValues: ['5', '10'] },
      '100',
      [`.validValues: Invalid value: "-1": ${NO_DEFAULT}`],
    ],
    [
      { default: '1Gi', validValues: ['1Gi', '1Gi'] },
      '10Gi',
      ['.validValues[1]: Duplicate value: "1073741824"'],
    ],
    [
      { default: '1Ki', validValues: ['1Ki', '1024'] },
      '10Gi',
      ['.validValues[1]: Duplicate value: "1024"'],
    ],
    [
      { default: '1', validValues: ['1', '1.0'] },
      '10Gi',
      ['.validValues[1]: Duplicate value: "1"'],
    ],
    // Equal after rounding up.
    [
      { default: '10', validValues: ['9.9', '10', '100'] },
      '100',
      ['.validValues[1]: Duplicate value: "10"'],
    ],
    [{ default: '10.1', validValues: ['5.1', '10.1', '100'] }, '100', []],
    [
      { default: MAX, validValues: [MAX, OVER] },
      OVER,
      [`.validValues[1]: Duplicate value: "${MAX}"`],
    ],
    [
      { default: '100E', validValues: ['100E', '1000E'] },
      '1000E',
      [`.validValues[1]: Duplicate value: "${MAX}"`],
    ],
    [
      { default: '1Gi', validValues: ['2Gi', '1Gi'] },
      '10Gi',
      ['.validValues[1]: Invalid value: "1Gi": values must be sorted in ascending order'],
    ],
    [
      { default: '3', validValues: ['2', '1', '200'] },
      '100',
      [
        '.validValues[1]: Invalid value: "1": values must be sorted in ascending order',
        '.validValues[2]: Invalid value: "200": option is larger than capacity value: 100',
        `.validValues: Invalid value: "3": ${NO_DEFAULT}`,
      ],
    ],
    // Ranges.
    [
      { validRange: { min: '1Gi' } },
      '1Gi',
      ['.default: Required value: required when validRange is defined'],
    ],
    [
      { default: '1Gi', validRange: {} },
      '1Gi',
      ['.validRange.min: Required value: required when validRange is defined'],
    ],
    [{ default: '1Gi', validRange: { min: '1Gi' } }, '10Gi', []],
    [{ default: '1Gi', validRange: { min: '1Gi', max: '10Gi' } }, '10Gi', []],
    [{ default: '1Gi', validRange: { min: '1Gi', step: '1Gi' } }, '10Gi', []],
    [{ default: '1Gi', validRange: { min: '1Gi', max: '10Gi', step: '1Gi' } }, '10Gi', []],
    [
      { default: '2Gi', validRange: { min: '20Gi', max: '1Gi' } },
      '10Gi',
      [
        '.validRange.min: Invalid value: "20Gi": min is larger than capacity value: 10Gi',
        '.validRange.default: Invalid value: "2Gi": default is less than min: 20Gi',
        '.validRange.max: Invalid value: "20Gi": min is larger than max: 1Gi',
        '.validRange.default: Invalid value: "2Gi": default is more than max: 1Gi',
      ],
    ],
    [
      { default: '1Gi', validRange: { min: '1Gi', max: '20Gi' } },
      '10Gi',
      ['.validRange.max: Invalid value: "20Gi": max is larger than capacity value: 10Gi'],
    ],
    [
      { default: '2Gi', validRange: { min: '1Gi', max: '10Gi', step: '2Gi' } },
      '10Gi',
      ['2Gi', '10Gi'].map(
        (value) => `.validRange.step: Invalid value: "${value}": ${notMultiple('2Gi', '1Gi')}`,
      ),
    ],
    [
      { default: '1Gi', validRange: { min: '1Gi', step: '10Gi' } },
      '10Gi',
      [
        '.validRange.step: Invalid value: "10Gi": one step 11Gi is larger than capacity value: 10Gi',
      ],
    ],
    [
      { default: '10', validRange: { min: '10', step: '0' } },
      '100',
      ['.validRange.step: Invalid value: "0": must be greater than zero'],
    ],
    [
      { default: '10', validRange: { min: '10', step: '-5' } },
      '100',
      ['.validRange.step: Invalid value: "-5": must be greater than zero'],
    ],
    [
      { default: '12', validRange: { min: '10', step: '5' } },
      '100',
      [`.validRange.step: Invalid value: "12": ${notMultiple('5', '10')}`],
    ],
    [
      { default: '1.05', validRange: { min: '1.1' } },
      '100',
      ['.validRange.default: Invalid value: "1050m": default is less than min: 1100m'],
    ],
    // Fractions count as the next integer.
    [{ default: '200m', validRange: { min: '200m', max: '1', step: '100m' } }, '1', []],
    [{ default: '250m', validRange: { min: '200m', max: '1', step: '100m' } }, '1', []],
    [{ default: '-1', validRange: { min: '-1' } }, '10Gi', []],
    [
      { default: '0', validRange: { min: '-1', step: '1' } },
      '10Gi',
      ['.validRange.min: Invalid value: "-1": must be greater than or equal to 0'],
    ],
    [{ default: '0', validRange: { min: '0', step: MAX } }, MAX, []],
    [{ default: MAX, validRange: { min: '0', max: MAX, step: '1' } }, MAX, []],
    [
      { default: '0', validRange: { min: '0', step: OVER } },
      OVER,
      [`.validRange.step: Invalid value: "${OVER}": ${TOO_LARGE}`],
    ],
    [
      { default: '0', validRange: { min: '0', step: '18446744073709551616' } },
      '18446744073709551616',
      [`.validRange.step: Invalid value: "18446744073709551616": ${TOO_LARGE}`],
    ],
  ]),
)('%s', (_, policy, value, errors) => {
  expect(messages(validateResourceSlice(of(value, policy)))).toEqual(
    errors.map((error) => `${AT}${error}`),
  );
});

test('only shared devices have a policy', () => {
  expect(messages(validateResourceSlice(of('1', undefined, false)))).toEqual([]);
  expect(messages(validateResourceSlice(of('1', undefined)))).toEqual([]);
  expect(messages(validateResourceSlice(of('1', { default: '1' }, false)))).toEqual([
    `${AT}: Forbidden: allowMultipleAllocations must be true`,
  ]);
});

test('stored policies are checked at each update', () => {
  const twice = { default: '10', validValues: ['9.9', '10'] };
  const negative = { default: '0', validRange: { min: '-1', step: '1' } };
  for (const policy of [twice, negative]) {
    const old = of('100', policy);
    expect(validateResourceSlice(of('100', policy), old)).toHaveLength(1);
    expect(validateResourceSlice(of('100', policy, true, { b: { value: '1' } }), old)).toHaveLength(
      1,
    );
    expect(validateResourceSlice(of('100', policy), of('100', undefined))).toHaveLength(1);
  }
});
