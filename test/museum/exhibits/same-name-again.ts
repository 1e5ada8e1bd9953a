// An object that is deleted and made again is taken for the one before.

import * as apierrors from '#machinery/apierrors.ts';
import { type ExploredExhibit, issue } from '../exhibit.ts';
import { declare, ignoring, specController, withdraw } from '../parts.ts';

export const exhibit: ExploredExhibit = {
  bug: 'what is remembered by name belongs to an object that was deleted and made again',
  sources: [issue(142142), 'https://github.com/volcano-sh/volcano/pull/5773'],
  found: /nothing seen.*- .*blue/s,
  reconciler: (fixed) =>
    specController('members', ({ parts, make, remove }) => {
      const done = new Map<string, string>();
      return async (spec, request) => {
        if (spec === undefined) {
          for (const member of parts(request, 'member'))
            await remove(member).catch(ignoring(apierrors.isNotFound));
          done.delete(request.key);
          return;
        }
        const { uid = '' } = spec.metadata;
        const color = spec.data?.['color'] ?? '';
        const before = done.get(request.key);
        if (fixed ? before === uid : before !== undefined) return;
        const [member] = parts(request, 'member');
        if (fixed && member !== undefined && member.metadata.labels?.['uid'] !== uid) {
          await remove(member).catch(ignoring(apierrors.isNotFound));
          await make(request, 'member', `${request.name}-member`, { labels: { uid, color } });
        } else if (member === undefined)
          await make(request, 'member', `${request.name}-member`, { labels: { uid, color } }).catch(
            ignoring(apierrors.isAlreadyExists),
          );
        done.set(request.key, uid);
      };
    }),
  kinds: ['gap', 'conflicts'],
  test: async (run) => {
    await declare(run, 'db', { color: 'red' });
    await run.settle();
    await withdraw(run, 'db');
    await run.cluster.clock.advance('1s');
    await declare(run, 'db', { color: 'blue' });
  },
};
