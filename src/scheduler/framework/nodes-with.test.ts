import fc from 'fast-check';
import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { RecordingLogger } from '../testing/handle.ts';
import { makeNode } from '../testing/objects.ts';
import { SchedulerCache } from '../cache/cache.ts';
import { NodesWith } from './nodes-with.ts';
import { Snapshot } from '../cache/snapshot.ts';

const taints = [{ key: 'k', effect: 'PreferNoSchedule' as const }];

test('counts the nodes with the property as nodes are added, changed and removed', () => {
  const step = fc.record({
    node: fc.nat({ max: 4 }),
    what: fc.constantFrom('with', 'without', 'gone'),
    look: fc.boolean(),
  });
  let most = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const cache = new SchedulerCache({
        clock: new VirtualClock(),
        logger: new RecordingLogger(),
      });
      const snapshot = new Snapshot();
      const soft = new NodesWith(snapshot, ({ softTaints }) => softTaints.length > 0);
      const having = new Set<number>();
      for (const { node, what, look } of steps) {
        if (what === 'gone') cache.removeNode(`n${node}`);
        else cache.putNode(makeNode(`n${node}`, what === 'with' ? { taints } : {}));
        if (what === 'with') having.add(node);
        else having.delete(node);
        if (!look) continue;
        cache.updateSnapshot(snapshot);
        expect(soft.count).toBe(having.size);
        most = Math.max(most, having.size);
      }
    }),
    { numRuns: 100 },
  );
  expect(most).toBeGreaterThan(2);
});
