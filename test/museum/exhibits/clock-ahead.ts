// Objects go too early, as the clock of the controller is ahead of that of the server.

import { configMaps } from '#api/groups/core/v1/index.ts';
import { requeueAfter } from '#client/workqueue/index.ts';
import { withCluster } from '#cluster/embedded/testing.ts';
import { defineController } from '#controllers/operator/index.ts';
import type { ScenarioExhibit } from '../exhibit.ts';

const TTL_MS = 10 * 60_000;

const expirer = (fixed: boolean) =>
  defineController('expirer', ({ client, clock, for: reconciles }) => {
    const all = reconciles(configMaps);
    const seen = new Map<string, number>();
    return async ({ namespace, name }) => {
      const object = all.lister.get(namespace, name);
      if (object?.metadata.labels?.['ttl'] === undefined) return;
      const { uid = '', creationTimestamp = '' } = object.metadata;
      if (!seen.has(uid)) seen.set(uid, clock.monotonic());
      // A duration that the controller has measured itself does not depend on anyone's time of day.
      const age = fixed
        ? clock.monotonic() - (seen.get(uid) ?? 0)
        : clock.now() - Date.parse(creationTimestamp);
      if (age < TTL_MS) return requeueAfter(TTL_MS - age);
      await client.resource(configMaps).namespace(namespace).delete(name);
      return undefined;
    };
  });

export const exhibit: ScenarioExhibit = {
  bug: 'a clock that is ahead lets objects expire too early',
  sources: [
    'https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/#time-skew',
  ],
  found: /expired too early/,
  scenario: (fixed) =>
    withCluster({ clock: 'virtual', nodes: 0, controllers: ['-*'] }, async (cluster) => {
      cluster.runController(expirer(fixed));
      cluster.faults.jumpClock({ component: 'expirer', by: '1h' });
      await cluster.client.resource(configMaps).create({
        metadata: { name: 'short', namespace: 'default', labels: { ttl: '10m' } },
      });
      await cluster.clock.advance('5m');
      const left = await cluster.list(configMaps, { labelSelector: 'ttl' });
      if (left.length === 0) throw new Error('the object expired too early');
      await cluster.clock.advance('10m');
      if ((await cluster.list(configMaps, { labelSelector: 'ttl' })).length > 0)
        throw new Error('the object did not expire');
    }),
};
