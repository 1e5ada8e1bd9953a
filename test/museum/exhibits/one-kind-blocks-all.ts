// Nothing is collected, as one kind of many cannot be listed.

import { configMaps, secrets } from '#api/groups/core/v1/index.ts';
import { withCluster } from '#cluster/embedded/testing.ts';
import { defineController } from '#controllers/operator/index.ts';
import { requeueAfter } from '#client/workqueue/index.ts';
import { issue, type ScenarioExhibit } from '../exhibit.ts';

/** Deletes what is labelled as garbage, of several kinds. */
const collector = (fixed: boolean) =>
  defineController('collector', ({ client, for: reconciles }) => {
    reconciles(configMaps);
    return async ({ namespace }) => {
      const collect = async (kind: typeof secrets | typeof configMaps): Promise<void> => {
        const resource = client.resource(kind).namespace(namespace);
        const { items } = await resource.list({ labelSelector: 'garbage=yes' });
        for (const { metadata } of items) await resource.delete(metadata.name);
      };
      if (fixed) await Promise.allSettled([collect(secrets), collect(configMaps)]);
      else {
        await collect(secrets);
        await collect(configMaps);
      }
      return requeueAfter(60_000);
    };
  });

export const exhibit: ScenarioExhibit = {
  bug: 'a kind that cannot be listed keeps the garbage of all other kinds',
  sources: [issue(101078)],
  found: /garbage is left/,
  scenario: (fixed) =>
    withCluster({ clock: 'virtual', nodes: 0, controllers: ['-*'] }, async (cluster) => {
      cluster.runController(collector(fixed));
      // As of a custom resource whose conversion webhook is broken.
      cluster.faults.fail(500, { component: 'collector', kind: 'Secret', verb: 'list' });
      await cluster.client.resource(configMaps).create({
        metadata: { name: 'old', namespace: 'default', labels: { garbage: 'yes' } },
      });
      await cluster.clock.advance('10m');
      const left = await cluster.list(configMaps, { labelSelector: 'garbage=yes' });
      if (left.length > 0) throw new Error('garbage is left');
    }),
};
