// A deletion whose answer was lost is tried again, and its NotFound is an error forever.

import { configMaps } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type ExploredExhibit, SIEVE } from '../exhibit.ts';
import { declare, ignoring, specController, withdraw } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'NotFound for a deletion that was done already keeps the object from going',
  sources: [SIEVE],
  found: /.*\+ .*example.com\/volumes/s,
  reconciler: (fixed) =>
    specController(
      'volumes',
      ({ client, make, note, remove, parts, live }) =>
        async (_, request) => {
          const spec = await live(request);
          if (spec === undefined) return;
          const volume = `${request.name}-data`;
          if (spec.metadata.deletionTimestamp === undefined) {
            if (spec.data?.['volume'] !== undefined) return;
            await make(request, 'volume', volume).catch(ignoring(apierrors.isAlreadyExists));
            return note(request, { volume });
          }
          const [part] = parts(request, 'volume');
          const target = part ?? { metadata: { name: volume, namespace: request.namespace } };
          const removed = remove(target as never);
          await (fixed ? removed.catch(ignoring(apierrors.isNotFound)) : removed);
          await client
            .resource(configMaps)
            .namespace(request.namespace)
            .patch(request.name, 'application/merge-patch+json', { metadata: { finalizers: null } })
            .catch(ignoring(apierrors.isNotFound));
        },
    ),
  test: async (run) => {
    await declare(run, 'db', {}, ['example.com/volumes']);
    await run.settle();
    await withdraw(run, 'db');
  },
};
