// A volume is leaked by a crash between the deletion of its member and the phase that would delete it.

import * as apierrors from '#machinery/apierrors.ts';
import type { ExploredExhibit } from '../exhibit.ts';
import { change, declare, ignoring, membersOf, specController } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'a crash between deleting a member and noting the phase leaks its volume',
  sources: [
    'https://github.com/Orange-OpenSource/casskop/issues/370',
    'https://usenix.org/publications/loginonline/sieve-chaos-testing-kubernetes-controllers',
  ],
  found: /crash after write \d+.*\+ .*db-1-data/s,
  reconciler: (fixed) =>
    specController('scaler', ({ parts, make, remove, note }) => async (spec, request) => {
      if (spec === undefined) return;
      const wanted = membersOf(spec);
      const exists = ignoring(apierrors.isAlreadyExists);
      const gone = ignoring(apierrors.isNotFound);
      const members = parts(request, 'member');
      for (const name of wanted) {
        if (members.some(({ metadata }) => metadata.name === name)) continue;
        await make(request, 'volume', `${name}-data`).catch(exists);
        await make(request, 'member', name).catch(exists);
      }
      const leaving = spec.data?.['finalizing'];
      for (const volume of parts(request, 'volume')) {
        const member = volume.metadata.name.replace(/-data$/, '');
        const isLeft = fixed
          ? !wanted.includes(member) && members.every(({ metadata }) => metadata.name !== member)
          : leaving === member;
        if (isLeft) await remove(volume).catch(gone);
      }
      if (leaving !== undefined) await note(request, { finalizing: null });
      for (const member of members) {
        if (wanted.includes(member.metadata.name)) continue;
        await remove(member).catch(gone);
        if (!fixed) await note(request, { finalizing: member.metadata.name });
      }
    }),
  test: async (run) => {
    await declare(run, 'db', { size: '2' });
    await run.settle();
    await change(run, 'db', { size: '1' });
  },
  kinds: ['crash'],
};
