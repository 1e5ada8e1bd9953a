// A member is deleted because an older size is seen after a restart.

import { type ExploredExhibit, issue } from '../exhibit.ts';
import { change, declare, fill, ignoring, membersOf, specController } from '../parts.ts';
import * as apierrors from '#machinery/apierrors.ts';

export const exhibit: ExploredExhibit = {
  bug: 'a restart that reads a stale size deletes a member that is needed',
  sources: [issue(59848), 'https://github.com/elastic/cloud-on-k8s/issues/5274'],
  found: /configmaps after step \d.*precious/s,
  reconciler: (fixed) =>
    specController('scaler', ({ parts, make, remove, live }) => async (spec, request) => {
      if (spec === undefined) return;
      const wanted = membersOf(spec);
      const members = parts(request, 'member');
      for (const name of wanted)
        if (!members.some(({ metadata }) => metadata.name === name))
          await make(request, 'member', name).catch(ignoring(apierrors.isAlreadyExists));
      for (const member of members) {
        if (wanted.includes(member.metadata.name)) continue;
        if (fixed) {
          const current = await live(request);
          if (current !== undefined && membersOf(current).includes(member.metadata.name)) continue;
        }
        await remove(member, { uid: true }).catch(ignoring(apierrors.isNotFound));
      }
    }),
  test: async (run) => {
    await declare(run, 'db', { size: '2' });
    await run.settle();
    await change(run, 'db', { size: '1' });
    await run.settle();
    await change(run, 'db', { size: '2' });
    await run.settle();
    await fill(run, 'db-1');
  },
};
