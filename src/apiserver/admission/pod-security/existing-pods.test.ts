import { expect, test } from 'vitest';

import { existingPodsWarnings, MAX_PODS } from './existing-pods.ts';

const ENFORCE = { level: 'baseline', version: 'latest' } as const;
const VIOLATES =
  'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"';

interface TestPod {
  readonly metadata: {
    readonly name: string;
    readonly ownerReferences?: { readonly controller: boolean; readonly uid: string }[];
  };
  readonly reasons: readonly string[];
}

const pod = (name: string, reasons: readonly string[], owner?: string): TestPod => ({
  metadata: {
    name,
    ...(owner !== undefined && { ownerReferences: [{ controller: true, uid: owner }] }),
  },
  reasons,
});

const warnings = (pods: readonly TestPod[], isLate = () => false) =>
  existingPodsWarnings({
    namespace: 'ns',
    pods,
    enforce: ENFORCE,
    violationsOf: ({ reasons }) => reasons.map((reason) => ({ reason, detail: 'd' })),
    isLate,
  });

test('compliant pods cause no warnings', () => {
  expect(warnings([pod('a', []), pod('b', [])])).toEqual([]);
});

test('pods with the same violations share a warning with the first name', () => {
  const pods = [
    pod('z', ['x']),
    pod('b', ['x']),
    pod('c', ['x']),
    pod('e', ['x', 'y']),
    pod('d', ['x', 'y']),
    pod('a', ['y']),
  ];
  expect(warnings([...pods, pod('good', [])])).toEqual([
    VIOLATES,
    'a: y',
    'b (and 2 other pods): x',
    'd (and 1 other pod): x, y',
  ]);
});

test('of too many pods, one of each controller is checked first', () => {
  const replicas = Array.from({ length: MAX_PODS }, (_, i) => pod(`r${i}`, ['x'], 'rs'));
  expect(warnings([...replicas, pod('s', ['y'], 'other'), pod('t', ['y'])])).toEqual([
    `new PodSecurity enforce level only checked against the first ${MAX_PODS} of ${MAX_PODS + 2} existing pods`,
    VIOLATES,
    `r0 (and ${MAX_PODS - 3} other pods): x`,
    's (and 1 other pod): y',
  ]);
});

test('it stops when it has taken too long', () => {
  let calls = 0;
  const isLate = () => ++calls === 2;
  expect(warnings([pod('a', ['x']), pod('b', []), pod('c', ['x'])], isLate)).toEqual([
    'new PodSecurity enforce level only checked against the first 2 of 3 existing pods',
    VIOLATES,
    'a: x',
  ]);
  expect(warnings([pod('a', [])], () => true)).toEqual([]);
});
