// A scheduled job is started twice, as a crash comes between its start and the note of it.

import * as apierrors from '#machinery/apierrors.ts';
import type { ExploredExhibit } from '../exhibit.ts';
import { declare, ignoring, specController } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'a job is started twice for one time of its schedule',
  sources: [
    'https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#cron-job-limitations',
  ],
  found: /write 1.*\+ .*cron-/s,
  reconciler: (fixed) =>
    specController('cron', ({ make, note }) => async (spec, request) => {
      if (spec === undefined) return;
      const slot = spec.data?.['slot'] ?? '';
      if (spec.data?.['started'] === slot) return;
      await (fixed
        ? make(request, 'job', `${request.name}-${slot}`).catch(ignoring(apierrors.isAlreadyExists))
        : make(request, 'job', `${request.name}-`, { generated: true }));
      await note(request, { started: slot });
    }),
  test: (run) => declare(run, 'cron', { slot: '1200' }),
};
