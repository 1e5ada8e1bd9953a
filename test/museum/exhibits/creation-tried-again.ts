// A creation whose answer was lost is tried again, and its AlreadyExists is an error forever.

import * as apierrors from '#machinery/apierrors.ts';
import { type ExploredExhibit, SIEVE } from '../exhibit.ts';
import { declare, ignoring, specController } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'AlreadyExists for a part that was made before a crash keeps the rest from being made',
  sources: ['https://jira.percona.com/browse/K8SPXC-896', SIEVE],
  found: /write 1.*- .*db-service/s,
  reconciler: (fixed) =>
    specController('parts', ({ make, note }) => async (spec, request) => {
      if (spec === undefined || spec.data?.['made'] !== undefined) return;
      for (const type of ['config', 'service']) {
        const made = make(request, type, `${request.name}-${type}`);
        await (fixed ? made.catch(ignoring(apierrors.isAlreadyExists)) : made);
      }
      await note(request, { made: 'yes' });
    }),
  test: (run) => declare(run, 'db', {}),
};
