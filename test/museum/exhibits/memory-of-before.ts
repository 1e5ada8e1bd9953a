// The cleanup depends on what the controller remembers, which a restart forgets.

import * as apierrors from '#machinery/apierrors.ts';
import { type ExploredExhibit, SIEVE } from '../exhibit.ts';
import { change, declare, ignoring, membersOf, sizeOf, specController } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'members are removed only when the size is seen to shrink, so a crash in between leaks them',
  sources: ['https://github.com/rabbitmq/cluster-operator/issues/758', SIEVE],
  found: /crash after write \d+.*\+ .*db-[12]/s,
  reconciler: (fixed) =>
    specController('scaler', ({ parts, make, remove }) => {
      const before = new Map<string, number>();
      return async (spec, request) => {
        if (spec === undefined) return;
        const wanted = membersOf(spec);
        const members = parts(request, 'member');
        for (const name of wanted)
          if (!members.some(({ metadata }) => metadata.name === name))
            await make(request, 'member', name).catch(ignoring(apierrors.isAlreadyExists));
        const shrinks = (before.get(request.key) ?? 0) > sizeOf(spec);
        if (fixed || shrinks)
          for (const member of members)
            if (!wanted.includes(member.metadata.name))
              await remove(member).catch(ignoring(apierrors.isNotFound));
        before.set(request.key, sizeOf(spec));
      };
    }),
  kinds: ['crash'],
  test: async (run) => {
    await declare(run, 'db', { size: '3' });
    await run.settle();
    await change(run, 'db', { size: '1' });
  },
};
