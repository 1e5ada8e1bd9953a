import fc from 'fast-check';
import { expect, test } from 'vitest';
import { choosePreempted, describeShortage } from './preemption.ts';
import { makePod } from './testing/make-pod.ts';
import type { Pod } from './types.ts';

const GI = 1024 ** 3;
const MI = 1024 ** 2;

function pod(
  name: string,
  requests: Record<string, string>,
  options: { readonly limits?: Record<string, string>; readonly priority?: number } = {},
): Pod {
  const base = makePod({ metadata: { name } });
  return {
    ...base,
    spec: {
      ...base.spec,
      priority: options.priority ?? 0,
      containers: [
        { name: 'main', image: 'busybox', resources: { requests, limits: options.limits ?? {} } },
      ],
    },
    status: {},
  };
}
const critical = pod('critical', { memory: '1Gi' }, { priority: 2_000_000_000 });
const chosen = (pods: readonly Pod[], shortage: Record<string, number>) =>
  choosePreempted(critical, pods, new Map(Object.entries(shortage)))?.map(
    ({ metadata }) => metadata.name,
  );

test('a pod whose request is enough, the smallest of them', () => {
  const pods = [
    pod('small', { memory: '100Mi' }),
    pod('large', { memory: '2Gi' }),
    pod('fitting', { memory: '300Mi' }),
  ];
  expect(chosen(pods, { memory: 250 * MI })).toEqual(['fitting']);
  expect(chosen(pods, { memory: 1 * GI })).toEqual(['large']);
});

test('Guaranteed pods only for what lower classes cannot give', () => {
  const amounts = { memory: '1Gi', cpu: '1' };
  const pods = [
    pod('guaranteed', amounts, { limits: amounts }),
    pod('burstable', { memory: '500Mi' }),
  ];
  expect(chosen(pods, { memory: 400 * MI })).toEqual(['burstable']);
  expect(chosen(pods, { memory: 900 * MI })).toEqual(['guaranteed']);
  expect(chosen(pods, { memory: 1400 * MI })).toEqual(['burstable', 'guaranteed']);
});

test('BestEffort pods make room for the number of pods only', () => {
  const pods = [pod('best-effort', {}), pod('burstable', { memory: '1Gi' })];
  expect(chosen(pods, { pods: 1 })).toEqual(['best-effort']);
  expect(chosen(pods, { memory: MI })).toEqual(['burstable']);
});

test('critical pods end for a higher priority only; not enough is nothing', () => {
  const pods = [pod('peer', { memory: '4Gi' }, { priority: 2_000_000_000 })];
  expect(chosen(pods, { memory: MI })).toBeUndefined();
  expect(chosen([pod('small', { memory: '1Mi' })], { memory: GI })).toBeUndefined();
  expect(describeShortage(new Map([['memory', 5]]))).toBe('[(res: memory, q: 5), ]');
});

test('the chosen pods are enough, and the last one was necessary', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ memory: fc.nat(1000), cpu: fc.nat(4000) }), { maxLength: 12 }),
      fc.integer({ min: 1, max: 3000 }),
      fc.integer({ min: 1, max: 8000 }),
      (sizes, memory, cpu) => {
        const pods = sizes.map((size, index) =>
          pod(`pod-${index}`, { memory: `${size.memory}Mi`, cpu: `${size.cpu}m` }),
        );
        const names = chosen(pods, { memory: memory * MI, cpu });
        const sum = (key: 'memory' | 'cpu', of: readonly number[]): number =>
          of.reduce((total, index) => total + (sizes[index]?.[key] ?? 0), 0);
        const all = sizes.map((_, index) => index);
        if (names === undefined) {
          expect(sum('memory', all) < memory || sum('cpu', all) < cpu).toBe(true);
          return;
        }
        const picked = names.map((name) => Number(name.split('-')[1]));
        expect(new Set(picked).size).toBe(picked.length);
        expect(sum('memory', picked)).toBeGreaterThanOrEqual(memory);
        expect(sum('cpu', picked)).toBeGreaterThanOrEqual(cpu);
        // The last choice was necessary.
        const before = picked.slice(0, -1);
        expect(sum('memory', before) < memory || sum('cpu', before) < cpu).toBe(true);
      },
    ),
  );
});
