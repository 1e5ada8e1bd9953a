import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DesiredPods } from './desired-pods.ts';
import { podRequests } from './pod/resources.ts';
import { makeContainer, makePod } from './testing/make-pod.ts';

test('the bound is never below the pods’ requests, is exact without changes, and zero without pods', () => {
  const version = fc.record({
    uid: fc.constantFrom('a', 'b', 'c'),
    asks: fc.nat({ max: 4 }),
    has: fc.nat({ max: 4 }),
    gone: fc.boolean(),
  });
  const pod = (milli: number) =>
    makePod({
      spec: { containers: [makeContainer('c', { resources: { requests: { cpu: `${milli}m` } } })] },
    });
  fc.assert(
    fc.property(fc.array(version, { maxLength: 20 }), (versions) => {
      const desired = new DesiredPods();
      const most = new Map<string, number>();
      for (const { uid, asks, has, gone } of versions) {
        if (gone) {
          desired.delete(uid);
          most.delete(uid);
        } else {
          const wanted = pod(asks);
          desired.set(uid, wanted, pod(has));
          expect(desired.get(uid)).toBe(wanted);
          most.set(uid, Math.max(most.get(uid) ?? 0, asks, has));
        }
        expect(desired.size).toBe(most.size);
        const sum = [...most.values()].reduce((a, b) => a + b, 0);
        expect(desired.requestedAtMost.get('cpu') ?? 0).toBe(sum);
        const now = [...desired.values()].reduce(
          (all, each) => all + (podRequests(each).get('cpu') ?? 0),
          0,
        );
        expect(now).toBeLessThanOrEqual(sum);
      }
    }),
  );
});
