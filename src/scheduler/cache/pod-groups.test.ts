import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Pod } from '../framework/objects.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { makeNodeInfo, makePodInfo } from '../testing/objects.ts';
import type { PodCounter, PodSelection } from '../framework/snapshot.ts';
import { Snapshot } from './snapshot.ts';

const KINDS: readonly Parameters<typeof makePodInfo>[1][] = [
  {},
  { labels: { app: 'web' } },
  { labels: { app: 'web', tier: 'front' } },
  { labels: { tier: 'front', app: 'web' } },
  { labels: { app: 'db' } },
];
const NODES = ['a', 'b', 'c'];

const has = (key: string, value: string): PodSelection => ({
  selects: ({ metadata: { labels } }: Pod) => labels?.[key] === value,
  label: [key, value],
});
const SELECTIONS: readonly PodSelection[] = [
  { selects: () => true, label: undefined },
  has('app', 'web'),
  { ...has('tier', 'front'), label: undefined },
  has('app', 'none'),
];

/** Records the calls of a counter, by position. */
class RecordingCounter implements PodCounter {
  readonly selection: PodSelection;
  readonly counts = new Map<number, number>();

  constructor(selection: PodSelection) {
    this.selection = selection;
  }

  changed(position: number, by: number): void {
    this.counts.set(position, (this.counts.get(position) ?? 0) + by);
  }
}

describe('PodGroups', () => {
  const pod = fc.record({ kind: fc.nat({ max: KINDS.length - 1 }), uid: fc.nat({ max: 5 }) });
  const step = fc.record({
    node: fc.nat({ max: NODES.length - 1 }),
    add: fc.boolean(),
    pod,
    gone: fc.boolean(),
    follow: fc.boolean(),
  });

  test('notifies each counter of its selected pods as nodes and pods change, whenever it subscribed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const snapshot = new Snapshot();
        const groups = snapshot.podGroups;
        const nodes = new Map(NODES.map((name) => [name, makeNodeInfo(name, {}, [])]));
        const restructure = (): void => {
          snapshot.nodes = [...nodes.values()];
          snapshot.positions.clear();
          snapshot.nodes.forEach(({ name }, position) => snapshot.positions.set(name, position));
          snapshot.changes.restructure();
        };
        restructure();
        const counters: RecordingCounter[] = [];
        for (const {
          node,
          add,
          pod: { kind, uid },
          gone,
          follow,
        } of steps) {
          const name = NODES[node]!;
          const before = nodes.get(name);
          if (gone) {
            if (before === undefined) nodes.set(name, makeNodeInfo(name, {}, []));
            else nodes.delete(name);
            restructure();
          } else if (before !== undefined) {
            const after = before.clone();
            const info: PodInfo = makePodInfo(`p${uid}`, KINDS[kind]);
            const present = after.removePod(info.uid);
            if (add) after.addPod(info);
            if (add || present !== undefined) {
              nodes.set(name, after);
              const position = snapshot.positionOf(name) as number;
              snapshot.nodes[position] = after;
              snapshot.changes.add(position, snapshot.nodes.length);
            }
          }
          const { structure } = groups.nodeChanges;
          groups.update();
          if (follow && counters.length < 12) {
            const counter = new RecordingCounter(SELECTIONS[counters.length % SELECTIONS.length]!);
            counters.push(counter);
            groups.follow(counter);
            groups.forEachCount(counter, (position, by) => counter.changed(position, by));
          }
          for (const counter of counters) {
            if (groups.nodeChanges.structure !== structure) {
              counter.counts.clear();
              groups.forEachCount(counter, (position, by) => counter.changed(position, by));
            }
            snapshot.nodes.forEach((info, position) => {
              const wanted = info.pods.filter((other) =>
                counter.selection.selects(other.pod),
              ).length;
              expect(counter.counts.get(position) ?? 0).toBe(wanted);
            });
          }
        }
        for (const counter of counters) groups.unfollow(counter);
      }),
    );
  });

  test('does not notify a counter that unsubscribed, and forgets deleted pods', () => {
    const snapshot = new Snapshot();
    const put = (...pods: readonly PodInfo[]): void => {
      snapshot.nodes = [makeNodeInfo('a', {}, pods)];
      snapshot.positions.set('a', 0);
      snapshot.changes.add(0, 1);
      snapshot.podGroups.update();
    };
    put();
    const [stays, stops] = [
      new RecordingCounter(has('app', 'web')),
      new RecordingCounter(has('app', 'web')),
    ];
    for (const counter of [stays, stops]) snapshot.podGroups.follow(counter);
    put(makePodInfo('p', { labels: { app: 'web' } }));
    snapshot.podGroups.unfollow(stops);
    put();
    expect([stays.counts.get(0), stops.counts.get(0)]).toEqual([0, 1]);
    const found: number[] = [];
    snapshot.podGroups.forEachCount(stays, (_, count) => found.push(count));
    expect(found).toEqual([]);
  });
});
