// The second of two parts is never made after a crash, as the first one is taken for both.

import * as apierrors from '#machinery/apierrors.ts';
import { type ExploredExhibit, SIEVE } from '../exhibit.ts';
import { declare, ignoring, specController } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'after a crash between two creations the second certificate is never made',
  sources: ['https://jira.percona.com/browse/K8SPSMDB-578', SIEVE],
  found: /crash after write 1.*- .*internal/s,
  reconciler: (fixed) =>
    specController('certificates', ({ parts, make }) => async (spec, request) => {
      if (spec === undefined) return;
      const there = parts(request, 'certificate').map(({ metadata }) => metadata.name);
      const names = [`${request.name}-ssl`, `${request.name}-ssl-internal`];
      if (!fixed && there.includes(names[0] as string)) return;
      for (const name of names)
        if (!there.includes(name))
          await make(request, 'certificate', name).catch(ignoring(apierrors.isAlreadyExists));
    }),
  test: (run) => declare(run, 'db', {}),
};
