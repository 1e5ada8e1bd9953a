// A part is collected as garbage, as its owner is in another namespace.

import { configMaps, namespaces, secrets } from '#api/groups/core/v1/index.ts';
import { withCluster } from '#cluster/embedded/testing.ts';
import { defineController, ownerReference } from '#controllers/operator/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { issue, type ScenarioExhibit } from '../exhibit.ts';
import { ignoring } from '../parts.ts';

const mirror = (fixed: boolean) =>
  defineController('mirror', ({ client, for: reconciles }) => {
    const all = reconciles(configMaps);
    return async ({ namespace, name }) => {
      const source = all.lister.get(namespace, name);
      if (source?.metadata.labels?.['mirror'] === undefined) return;
      // The garbage collector looks for the owner in the namespace of the part.
      const by = fixed
        ? { labels: { 'mirror-of': `${namespace}.${name}` } }
        : { ownerReferences: [ownerReference(source, configMaps)] };
      await client
        .resource(secrets)
        .create({ metadata: { name: `mirror-of-${name}`, namespace: 'mirrors', ...by } })
        .catch(ignoring(apierrors.isAlreadyExists));
    };
  });

export const exhibit: ScenarioExhibit = {
  bug: 'an owner in another namespace does not count, and its part is deleted',
  sources: [issue(65200)],
  found: /the mirror is gone/,
  scenario: (fixed) =>
    withCluster(
      { clock: 'virtual', nodes: 0, controllers: ['garbage-collector-controller'] },
      async (cluster) => {
        await cluster.client.resource(namespaces).create({ metadata: { name: 'mirrors' } });
        cluster.runController(mirror(fixed));
        await cluster.client.resource(configMaps).create({
          metadata: { name: 'source', namespace: 'default', labels: { mirror: 'yes' } },
        });
        await cluster.clock.advance('2m');
        const mirrors = await cluster.list(secrets, { namespace: 'mirrors' });
        if (mirrors.length === 0) throw new Error('the mirror is gone');
      },
    ),
};
