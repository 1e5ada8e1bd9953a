// Values about nodes that NodeVolumeLimits remembers between pods equal newly computed ones, after
// any changes.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { persistentVolumeClaims, persistentVolumes } from '#api/groups/core/v1/index.ts';
import {
  type CSINode,
  csiNodes,
  type VolumeAttachment,
  volumeAttachments,
} from '#api/groups/storage/v1/index.ts';
import { Snapshot } from '#scheduler/cache/snapshot.ts';
import { CycleState } from '#scheduler/framework/cycle-state.ts';
import type { FilterPlugin, Plugin, PreFilterPlugin } from '#scheduler/framework/plugin.ts';
import type { Status } from '#scheduler/framework/status.ts';
import { makeHandle } from '#scheduler/testing/handle.ts';
import { TestInformers } from '#scheduler/testing/informers.ts';
import { makeNodeInfo, makePodInfo } from '#scheduler/testing/objects.ts';
import { makeClaim, makeVolume, mounting } from '#scheduler/testing/volumes.ts';
import { nodeVolumeLimits } from '../node-volume-limits.ts';

const NODES = ['n0', 'n1', 'n2'];
const CLAIMS = ['a', 'b', 'c', 'd'];
/** Claims c and d use another driver than a and b. */
const driverOf = (claim: string): string => (claim < 'c' ? 'one' : 'two');

const metadata = (name: string) => ({
  name,
  uid: name,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});
const csiNode = (name: string, limits: Readonly<Record<string, number>>): CSINode => ({
  metadata: metadata(name),
  spec: {
    drivers: Object.entries(limits).map(([driver, count]) => ({
      name: driver,
      nodeID: name,
      topologyKeys: null,
      allocatable: { count },
    })),
  },
});
const attachment = (claim: string, node: string): VolumeAttachment => ({
  metadata: metadata(claim),
  spec: { attacher: driverOf(claim), nodeName: node, source: { persistentVolumeName: claim } },
  status: { attached: true },
});

const node = fc.nat({ max: NODES.length - 1 });
const claim = fc.constantFrom(...CLAIMS);
const limit = fc.integer({ min: 1, max: 3 });
const step = fc.oneof(
  fc.record({
    what: fc.constant('limits' as const),
    node,
    one: fc.option(limit),
    two: fc.option(limit),
  }),
  fc.record({ what: fc.constant('no limits' as const), node }),
  // An existing attachment moves.
  fc.record({ what: fc.constant('attach' as const), node, claim }),
  fc.record({ what: fc.constant('detach' as const), claim }),
  fc.record({ what: fc.constant('pods' as const), node, claims: fc.uniqueArray(claim) }),
  fc.record({ what: fc.constant('order' as const) }),
);

describe('NodeVolumeLimits', () => {
  test('returns the same for a node’s position in the snapshot as for the node itself', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const world = new TestInformers();
        for (const name of CLAIMS) {
          const csi = { driver: driverOf(name), volumeHandle: name };
          world.put(persistentVolumes, makeVolume(name, { phase: 'Bound', spec: { csi } }));
          world.put(persistentVolumeClaims, makeClaim(name, { volume: name }));
        }
        const snapshot = new Snapshot();
        const arrange = (names: readonly string[]): void => {
          const present = new Map(snapshot.nodes.map((info) => [info.name, info]));
          snapshot.nodes = names.map((name) => present.get(name) ?? makeNodeInfo(name));
          snapshot.positions.clear();
          names.forEach((name, position) => snapshot.positions.set(name, position));
          snapshot.versions = new Float64Array(names.length);
          snapshot.changes.restructure();
        };
        arrange(NODES);
        const handle = makeHandle({ informers: world.informers, snapshot, ended: world.ended });
        const plugin = nodeVolumeLimits.create(
          { value: undefined, path: 'args' },
          handle,
        ) as Plugin & PreFilterPlugin & FilterPlugin;
        await world.sync();
        const attached = new Map<string, VolumeAttachment>();
        for (const change of steps) {
          switch (change.what) {
            case 'limits': {
              const { one, two } = change;
              const limits = { ...(one !== null && { one }), ...(two !== null && { two }) };
              world.put(csiNodes, csiNode(NODES[change.node]!, limits));
              break;
            }
            case 'no limits':
              world.remove(csiNodes, csiNode(NODES[change.node]!, {}));
              break;
            case 'attach': {
              const made = attachment(change.claim, NODES[change.node]!);
              world.put(volumeAttachments, made);
              attached.set(change.claim, made);
              break;
            }
            case 'detach': {
              const gone = attached.get(change.claim);
              if (gone !== undefined) world.remove(volumeAttachments, gone);
              attached.delete(change.claim);
              break;
            }
            case 'pods': {
              const pods = change.claims.map((name) =>
                makePodInfo(`x-${name}`, { spec: mounting(name) }),
              );
              snapshot.nodes[change.node] = makeNodeInfo(
                snapshot.nodes[change.node]!.name,
                {},
                pods,
              );
              snapshot.renew(change.node);
              snapshot.changes.add(change.node, NODES.length);
              break;
            }
            case 'order':
              arrange(snapshot.nodes.map(({ name }) => name).toReversed());
          }
          await world.sync();
          for (const claims of [['a'], ['b'], ['d'], ['a', 'b', 'c']]) {
            const pod = makePodInfo('p', { spec: mounting(...claims) });
            const state = new CycleState();
            expect(plugin.preFilter(state, pod, snapshot.nodes)).toBeUndefined();
            const answers = (positions: boolean): readonly (Status | undefined)[] =>
              snapshot.nodes.map((info, position) =>
                plugin.filter(state, pod, info, positions ? position : undefined),
              );
            expect(answers(true)).toEqual(answers(false));
          }
        }
        world.stop();
      }),
      { numRuns: 60 },
    );
  });
});
