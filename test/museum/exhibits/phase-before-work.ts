// The phase says that the work is done, and then the work is not done.

import * as apierrors from '#machinery/apierrors.ts';
import { type ExploredExhibit, SIEVE } from '../exhibit.ts';
import { declare, ignoring, specController } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'the phase is written before the work, so a crash between them skips the work',
  sources: ['https://jira.percona.com/browse/K8SPSMDB-579', SIEVE],
  found: /crash after write 1.*- .*user/s,
  reconciler: (fixed) =>
    specController('users', ({ make, note }) => async (spec, request) => {
      if (spec === undefined || spec.data?.['phase'] === 'ready') return;
      const work = (): Promise<void> =>
        make(request, 'user', `${request.name}-user`).catch(ignoring(apierrors.isAlreadyExists));
      if (fixed) await work();
      await note(request, { phase: 'ready' });
      if (!fixed) await work();
    }),
  test: (run) => declare(run, 'db', {}),
};
