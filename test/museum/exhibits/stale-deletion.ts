// The volume of a new object is deleted because the deletion of an older one of that name is seen.

import { configMaps } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ExploredExhibit } from '../exhibit.ts';
import { declare, fill, ignoring, specController, withdraw } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'a stale deletionTimestamp of an earlier object deletes the volume of the present one of that name',
  sources: [
    'https://github.com/datastax/cass-operator/issues/412',
    'https://github.com/instaclustr/cassandra-operator/issues/402',
  ],
  found: /configmaps after step \d.*precious/s,
  reconciler: (fixed) =>
    specController('volumes', ({ parts, make, remove }) => async (spec, request) => {
      if (spec === undefined) return;
      const { uid = '', deletionTimestamp } = spec.metadata;
      const volumes = parts(request, 'volume');
      if (deletionTimestamp !== undefined) {
        for (const volume of volumes) {
          if (fixed && volume.metadata.labels?.['uid'] !== uid) continue;
          await remove(volume, { uid: true }).catch(ignoring(apierrors.isNotFound));
        }
      } else if (volumes.length === 0)
        await make(request, 'volume', `${request.name}-data`, { labels: { uid } }).catch(
          ignoring(apierrors.isAlreadyExists),
        );
    }),
  test: async (run) => {
    await declare(run, 'db', {}, ['example.com/hold']);
    await run.settle();
    await withdraw(run, 'db');
    await run.settle();
    const specs = run.cluster.client.resource(configMaps).namespace(run.namespace);
    await specs.patch('db', 'application/merge-patch+json', { metadata: { finalizers: null } });
    await declare(run, 'db', {});
    await run.settle();
    await fill(run, 'db-data');
  },
};
