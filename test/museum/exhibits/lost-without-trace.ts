// A change is never acted on, as its event was lost, and nothing looks again.

import { requeueAfter } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { type ExploredExhibit, issue } from '../exhibit.ts';
import { change, declare, ignoring, membersOf, specController } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'without a periodic look, an event that the watch cache lost is never made up for',
  sources: [issue(49956)],
  found: /lost without a trace.*- .*db-1/s,
  kinds: ['silent loss'],
  rest: '2m',
  reconciler: (fixed) =>
    specController('members', ({ parts, make, live }) => {
      const known = new Set<string>();
      return async (cached, request) => {
        const spec = fixed ? await live(request) : cached;
        if (spec === undefined) return;
        known.add(request.key);
        const there = parts(request, 'member').map(({ metadata }) => metadata.name);
        for (const name of membersOf(spec))
          if (!there.includes(name))
            await make(request, 'member', name).catch(ignoring(apierrors.isAlreadyExists));
        return fixed ? requeueAfter(60_000) : undefined;
      };
    }),
  test: async (run) => {
    await declare(run, 'db', { size: '1' });
    await run.settle();
    await change(run, 'db', { size: '2' });
  },
};
