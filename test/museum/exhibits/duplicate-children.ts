// A second child is made because the cache does not show the first one yet.

import { type ExploredExhibit, issue } from '../exhibit.ts';
import { declare, ignoring, specController } from '../parts.ts';
import * as apierrors from '#machinery/apierrors.ts';

export const exhibit: ExploredExhibit = {
  bug: 'a child with a generated name is made twice while the cache is stale',
  sources: [issue(129795), issue(130683)],
  found: /write 1.*\+ .*job-/s,
  reconciler: (fixed) =>
    specController('jobs', ({ parts, make }) => async (spec, request) => {
      if (spec === undefined || parts(request, 'job').length > 0) return;
      await make(request, 'job', `${request.name}-job-`, { generated: !fixed }).catch(
        ignoring(apierrors.isAlreadyExists),
      );
    }),
  test: (run) => declare(run, 'backup', {}),
};
