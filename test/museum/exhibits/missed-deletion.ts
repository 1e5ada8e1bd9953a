// A volume is leaked unless its member is seen while it is being deleted.

import { secrets } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ExploredExhibit } from '../exhibit.ts';
import { change, declare, ignoring, specController } from '../parts.ts';

const HOLD = 'example.com/hold';
const MERGE = 'application/merge-patch+json';

export const exhibit: ExploredExhibit = {
  bug: 'a volume is leaked if the deletionTimestamp of its member is not seen',
  sources: [
    'https://github.com/instaclustr/cassandra-operator/issues/398',
    'https://github.com/Orange-OpenSource/casskop/issues/342',
  ],
  found: /\+ .*db-data/s,
  kinds: ['stale cache', 'gap', 'lost event', 'crash'],
  reconciler: (fixed) =>
    specController('volumes', ({ parts, remove }) => async (spec, request) => {
      if (spec === undefined) return;
      const members = parts(request, 'member');
      const isLeaving = fixed
        ? spec.data?.['size'] === '0' &&
          members.every(({ metadata }) => metadata.deletionTimestamp !== undefined)
        : members.some(({ metadata }) => metadata.deletionTimestamp !== undefined);
      if (!isLeaving) return;
      for (const volume of parts(request, 'volume'))
        await remove(volume).catch(ignoring(apierrors.isNotFound));
    }),
  test: async (run) => {
    const { cluster, namespace } = run;
    await declare(run, 'db', { size: '1' });
    const parts = cluster.client.resource(secrets).namespace(namespace);
    const labels = { of: 'db', type: 'member' };
    await parts.create({ metadata: { name: 'db', namespace, labels, finalizers: [HOLD] } });
    await parts.create({
      metadata: { name: 'db-data', namespace, labels: { ...labels, type: 'volume' } },
    });
    await run.settle();
    await change(run, 'db', { size: '0' });
    await parts.delete('db');
    await cluster.clock.advance('1s');
    await parts.patch('db', MERGE, { metadata: { finalizers: null } });
  },
};
