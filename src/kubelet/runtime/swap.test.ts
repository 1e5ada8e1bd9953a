import { expect, test } from 'vitest';
import { makeContainer, makePod } from '../testing/make-pod.ts';
import { maySwap, type SwapFacts, swapResources } from './swap.ts';

const Gi = 2 ** 30;
const facts: SwapFacts = {
  behavior: 'LimitedSwap',
  cgroupVersion: 2,
  memoryBytes: 40 * Gi,
  swapBytes: 20 * Gi,
  isCritical: ({ spec }) => (spec.priority ?? 0) > 1_000_000_000,
};

function limitOf(
  resources: NonNullable<ReturnType<typeof makeContainer>['resources']>,
  changes: Partial<SwapFacts> = {},
  priority?: number,
): unknown {
  const container = makeContainer('main', { resources });
  const pod = makePod({
    spec: { containers: [container], ...(priority !== undefined && { priority }) },
  });
  return swapResources(pod, container, 0, { ...facts, ...changes }).unified?.['memory.swap.max'];
}

test('a Burstable container has its share of the swap', () => {
  // A tenth of the memory: a tenth of the swap.
  expect(limitOf({ requests: { memory: '4Gi' } })).toBe(String(2 * Gi));
});

test.each([
  ['a container without a request', {}, {}],
  [
    'a container whose limit is its request',
    { requests: { memory: '4Gi' }, limits: { memory: '4Gi' } },
    {},
  ],
  ['a request above the memory', { requests: { memory: '41Gi' } }, {}],
  ['the behavior NoSwap', { requests: { memory: '4Gi' } }, { behavior: 'NoSwap' as const }],
])('%s means no swap', (_, resources, changes) => {
  expect(limitOf(resources, changes)).toBe('0');
});

test('a critical pod has no swap', () => {
  expect(limitOf({ requests: { memory: '4Gi' } }, {}, 2_000_000_000)).toBe('0');
});

test('on cgroups v1 memory and swap have one limit', () => {
  const container = makeContainer('main');
  const v1: SwapFacts = { ...facts, cgroupVersion: 1 };
  expect(swapResources(makePod(), container, 1000, v1)).toEqual({ memorySwapLimitInBytes: 1000 });
  expect(swapResources(makePod(), container, 0, v1)).toEqual({});
});

test.each([
  [{ requests: { memory: '4Gi' } }, {}, true],
  [{ requests: { memory: '41Gi' } }, {}, true],
  [{ requests: { memory: '4Gi' }, limits: { memory: '4Gi' } }, {}, false],
  [{}, {}, false],
  [{ requests: { memory: '4Gi' } }, { behavior: 'NoSwap' as const }, false],
  [{ requests: { memory: '4Gi' } }, { cgroupVersion: 1 as const }, false],
  [{ requests: { memory: '4Gi' } }, { isCritical: () => true }, false],
])('a container with %j and the facts %j may swap: %s', (resources, changes, may) => {
  const container = makeContainer('main', { resources });
  const pod = makePod({ spec: { containers: [container] } });
  expect(maySwap(pod, container, { ...facts, ...changes })).toBe(may);
});
