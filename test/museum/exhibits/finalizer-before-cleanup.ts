// An object may go before the controller has cleaned up for it.

import { configMaps } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type ExploredExhibit, SIEVE } from '../exhibit.ts';
import { declare, ignoring, specController, withdraw } from '../parts.ts';

const FINALIZER = 'example.com/volumes';

export const exhibit: ExploredExhibit = {
  bug: 'the finalizer is removed before the cleanup, so a crash between them leaks a volume',
  sources: ['https://github.com/rabbitmq/cluster-operator/issues/782', SIEVE],
  found: /crash after write \d+.*\+ .*db-data/s,
  kinds: ['crash', 'conflicts', 'lost event'],
  reconciler: (fixed) =>
    specController('volumes', ({ client, parts, make, remove }) => async (spec, request) => {
      if (spec === undefined) return;
      const release = async (): Promise<void> => {
        await client
          .resource(configMaps)
          .namespace(request.namespace)
          .patch(request.name, 'application/merge-patch+json', { metadata: { finalizers: null } })
          .catch(ignoring(apierrors.isNotFound));
      };
      const volumes = parts(request, 'volume');
      if (spec.metadata.deletionTimestamp === undefined) {
        if (volumes.length === 0)
          await make(request, 'volume', `${request.name}-data`).catch(
            ignoring(apierrors.isAlreadyExists),
          );
        return;
      }
      if (!fixed) await release();
      for (const volume of volumes) await remove(volume).catch(ignoring(apierrors.isNotFound));
      if (fixed) await release();
    }),
  test: async (run) => {
    await declare(run, 'db', {}, [FINALIZER]);
    await run.settle();
    await withdraw(run, 'db');
  },
};
