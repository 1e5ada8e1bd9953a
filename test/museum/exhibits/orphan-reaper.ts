// A volume is taken for an orphan because the cache does not show its member yet.

import { secrets } from '#api/groups/core/v1/index.ts';
import type { ExploreContext } from '#cluster/embedded/explore-context.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ExploredExhibit } from '../exhibit.ts';
import { declare, ignoring, orUndefined, partsIn, specController } from '../parts.ts';

async function membersHaveVolumes(run: ExploreContext): Promise<void> {
  const volumes = (await partsIn(run, 'volume')).map(({ metadata }) => metadata.name);
  for (const { metadata } of await partsIn(run, 'member'))
    if (!volumes.includes(`${metadata.name}-data`))
      throw new Error(`the volume of ${metadata.name} is gone`);
}

export const exhibit: ExploredExhibit = {
  bug: 'a volume is deleted as an orphan while the cache does not show its member',
  sources: [
    'https://github.com/druid-io/druid-operator/issues/305',
    'https://github.com/druid-io/druid-operator/issues/287',
  ],
  found: /the volume of db is gone/,
  invariant: membersHaveVolumes,
  reconciler: (fixed) =>
    specController('reaper', ({ client, parts, make, remove }) => {
      const made = new Set<string>();
      return async (spec, request) => {
        if (spec === undefined) return;
        const { uid = '' } = spec.metadata;
        const isMade = made.has(uid) || parts(request, 'member').length > 0;
        if (!isMade) {
          const exists = ignoring(apierrors.isAlreadyExists);
          await make(request, 'volume', `${request.name}-data`).catch(exists);
          await make(request, 'member', request.name).catch(exists);
          made.add(uid);
          return;
        }
        const members = parts(request, 'member').map(({ metadata }) => metadata.name);
        for (const volume of parts(request, 'volume')) {
          const member = volume.metadata.name.replace(/-data$/, '');
          if (members.includes(member)) continue;
          if (fixed) {
            const resource = client.resource(secrets).namespace(request.namespace);
            if ((await orUndefined(resource.get(member))) !== undefined) continue;
          }
          await remove(volume, { uid: true }).catch(ignoring(apierrors.isNotFound));
        }
      };
    }),
  test: (run) => declare(run, 'db', {}),
};
