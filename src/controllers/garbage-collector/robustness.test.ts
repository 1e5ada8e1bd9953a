import { expect, test } from 'vitest';
import { type ConfigMap, configMaps } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { TestCluster } from '../testing/test-cluster.ts';
import { disturb } from '../testing/robustness.ts';
import { GarbageCollector } from './index.ts';

const inDefault = ({ client }: TestCluster) => client.resource(configMaps).namespace('default');
const make = (cluster: TestCluster, name: string, owners: readonly Immutable<ConfigMap>[] = []) => {
  const ownerReferences = owners.map(({ metadata }) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name: metadata.name,
    uid: metadata.uid,
    blockOwnerDeletion: true,
  }));
  return inDefault(cluster).create({ metadata: { name, ownerReferences } });
};

test('reaches the same outcome after every fault', { timeout: 240_000 }, async () => {
  const { writes, outcome, disturbed } = await disturb({
    subject: (config) => new GarbageCollector(config),
    steps: [
      async (cluster) => {
        const [background, foreground, orphan, stays] = [
          await make(cluster, 'background'),
          await make(cluster, 'foreground'),
          await make(cluster, 'orphan'),
          await make(cluster, 'stays'),
        ];
        await make(cluster, 'of-background', [background]);
        await make(cluster, 'of-foreground', [foreground]);
        await make(cluster, 'of-orphan', [orphan]);
        await make(cluster, 'of-two', [background, stays]);
      },
      async (cluster) => {
        await inDefault(cluster).delete('background', { propagationPolicy: 'Background' });
        await inDefault(cluster).delete('foreground', { propagationPolicy: 'Foreground' });
        await inDefault(cluster).delete('orphan', { propagationPolicy: 'Orphan' });
      },
    ],
    outcome: [configMaps],
    rest: '30s',
  });
  expect(writes).toBeGreaterThan(4);
  expect(
    outcome
      .map((map) => (map as ConfigMap).metadata)
      .map(({ name, ownerReferences }) => [name, ownerReferences?.length]),
  ).toEqual([
    ['of-orphan', undefined],
    ['of-two', 1],
    ['stays', undefined],
  ]);
  for (const [what, end] of disturbed) expect(end, what).toEqual(outcome);
});
