import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Deployment, ReplicaSet } from '#api/groups/apps/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  desiredPods,
  maxSurge,
  maxUnavailable,
  newReplicaSetSize,
  replicasOf,
  scaleInProportion,
  shrinkOld,
} from './sizes.ts';

type Amount = number | string;

const deployment = (
  replicas: number,
  surge: Amount,
  unavailable: Amount,
  total = 0,
): Immutable<Deployment> =>
  ({
    metadata: { name: 'd' },
    spec: {
      replicas,
      strategy: {
        type: 'RollingUpdate',
        rollingUpdate: { maxSurge: surge, maxUnavailable: unavailable },
      },
    },
    status: { replicas: total },
  }) as unknown as Immutable<Deployment>;

let serial = 0;
const replicaSet = (replicas: number, available = replicas): Immutable<ReplicaSet> => {
  const number = String(++serial).padStart(9, '0');
  return {
    metadata: { name: `rs-${number}`, creationTimestamp: number },
    spec: { replicas },
    status: { replicas, availableReplicas: available },
  } as unknown as Immutable<ReplicaSet>;
};

describe('limits', () => {
  test.each([
    [10, '25%', '25%', 3, 2],
    [1, '25%', '25%', 1, 0],
    [4, 0, 0, 0, 1],
    [3, '0%', '10%', 0, 1],
    [5, 2, 9, 2, 5],
    [0, 1, 1, 1, 0],
  ] as const)(
    '%i replicas with a surge of %s and %s unavailable',
    (replicas, surge, unavailable, most, least) => {
      const it = deployment(replicas, surge, unavailable);
      expect([maxSurge(it), maxUnavailable(it)]).toEqual([most, least]);
    },
  );

  test('without a rolling update there is none', () => {
    const it = {
      ...deployment(3, 1, 1),
      spec: { replicas: 3, strategy: { type: 'Recreate' } },
    } as unknown as Immutable<Deployment>;
    expect([maxSurge(it), maxUnavailable(it), newReplicaSetSize(it, [replicaSet(3)], 0)]).toEqual([
      0, 0, 3,
    ]);
  });
});

describe('a rolling update', () => {
  const amount = fc.oneof(
    fc.integer({ min: 0, max: 5 }),
    fc.integer({ min: 0, max: 100 }).map((share) => `${share}%`),
  );
  const sizes = fc.array(
    fc.record({
      replicas: fc.integer({ min: 1, max: 12 }),
      ready: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    {
      maxLength: 4,
    },
  );

  test('keeps to its limits at every step, and completes', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 12 }),
        amount,
        amount,
        sizes,
        (replicas, surge, unavailable, old) => {
          const it = deployment(replicas, surge, unavailable);
          let olds = old.map((each) =>
            replicaSet(each.replicas, Math.floor(each.replicas * each.ready)),
          );
          let fresh = replicaSet(0);
          const resized = (set: Immutable<ReplicaSet>, size: number, available: number) =>
            ({
              ...set,
              spec: { ...set.spec, replicas: size },
              status: { ...set.status, availableReplicas: available },
            }) as Immutable<ReplicaSet>;
          for (let step = 0; ; step++) {
            expect(step).toBeLessThan(100);
            const before = desiredPods([...olds, fresh]);
            const grown = newReplicaSetSize(it, [...olds, fresh], replicasOf(fresh));
            expect(grown).toBeLessThanOrEqual(replicas);
            expect(grown).toBeGreaterThanOrEqual(replicasOf(fresh));
            if (grown !== replicasOf(fresh)) {
              expect(before - replicasOf(fresh) + grown).toBeLessThanOrEqual(
                replicas + maxSurge(it),
              );
              fresh = resized(fresh, grown, fresh.status.availableReplicas ?? 0);
            }
            const active = olds.filter((set) => replicasOf(set) > 0);
            const least = Math.min(
              replicas - maxUnavailable(it),
              active.reduce(
                (sum, { status }) => sum + (status.availableReplicas ?? 0),
                fresh.status.availableReplicas ?? 0,
              ),
            );
            for (const { set, size } of shrinkOld(it, active, fresh)) {
              expect(size).toBeLessThan(replicasOf(set));
              expect(size).toBeGreaterThanOrEqual(0);
              olds = olds.map((each) =>
                each === set
                  ? resized(set, size, Math.min(size, set.status.availableReplicas ?? 0))
                  : each,
              );
            }
            const available = [...olds, fresh].reduce(
              (sum, { status }) => sum + (status.availableReplicas ?? 0),
              0,
            );
            expect(available).toBeGreaterThanOrEqual(least);
            if (replicasOf(fresh) === replicas && desiredPods(olds) === 0) return;
            // All wanted pods become available.
            fresh = resized(fresh, replicasOf(fresh), replicasOf(fresh));
          }
        },
      ),
    );
  });

  test('removes unavailable pods first, from the oldest ReplicaSet on', () => {
    const [first, second] = [replicaSet(4, 4), replicaSet(3, 1)];
    const resizes = shrinkOld(deployment(6, 2, 1), [first, second], replicaSet(1, 1));
    expect(resizes.map(({ set, size }) => [set.metadata.name, size])).toEqual([
      [first.metadata.name, 3],
      [second.metadata.name, 1],
    ]);
  });
});

describe('scaling in the middle of a rollout', () => {
  test('shares added pods by size, and gives the remainder to the largest', () => {
    const sets = [replicaSet(5), replicaSet(8)];
    const scaled = scaleInProportion(deployment(15, 3, 2, 13), sets, () => 13);
    expect(scaled.map(({ set, size }) => [replicasOf(set), size])).toEqual([
      [8, 11],
      [5, 7],
    ]);
  });

  test('of the same size grows the newer ReplicaSet and shrinks the older', () => {
    const [older, newer] = [replicaSet(3), replicaSet(3)];
    const largest = (replicas: number) =>
      scaleInProportion(deployment(replicas, 1, 1, 6), [older, newer], () => 6)[0]?.set;
    expect(largest(8)).toBe(newer);
    expect(largest(2)).toBe(older);
  });

  test('to zero removes every pod, and otherwise adds up', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 2, maxLength: 5 }),
        fc.integer({ min: 0, max: 60 }),
        (olds, replicas) => {
          const sets = olds.map((size) => replicaSet(size));
          const total = desiredPods(sets);
          const it = deployment(replicas, '25%', '25%', total);
          const scaled = scaleInProportion(it, sets, () => total);
          const sum = scaled.reduce((all, { size }) => all + size, 0);
          expect(scaled.every(({ size }) => size >= 0)).toBe(true);
          const allowed = replicas === 0 ? 0 : replicas + maxSurge(it);
          // The rounding remainder is taken from the largest ReplicaSet, as far as it has pods.
          if (scaled[0]?.size === 0) expect(sum).toBeGreaterThanOrEqual(allowed);
          else expect(sum).toBe(allowed);
        },
      ),
    );
  });
});
