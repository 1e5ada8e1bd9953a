// A conflict is taken for success, and the write is never tried again.

import * as apierrors from '#machinery/apierrors.ts';
import type { ExploredExhibit } from '../exhibit.ts';
import { declare, ignoring, specController } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'a conflict is dropped instead of being tried again',
  sources: ['https://kubernetes.io/docs/reference/using-api/api-concepts/'],
  found: /conflicts.*- .*ready/s,
  reconciler: (fixed) =>
    specController('phases', ({ note }) => async (spec, request) => {
      if (spec === undefined || spec.data?.['phase'] === 'ready') return;
      const written = note(request, { phase: 'ready' });
      await (fixed ? written : written.catch(ignoring(apierrors.isConflict)));
    }),
  test: (run) => declare(run, 'db', {}),
};
