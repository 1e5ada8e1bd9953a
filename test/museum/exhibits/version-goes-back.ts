// A part is set back to an older version by a controller that has an older spec in its cache.

import { secrets } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { ExploreContext } from '#cluster/embedded/explore-context.ts';
import type { ExploredExhibit } from '../exhibit.ts';
import { change, declare, ignoring, orUndefined, partsIn, specController } from '../parts.ts';

const versionOf = (part: {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
}): number => Number(part.metadata.labels?.['version'] ?? 0);

const newest = new WeakMap<object, Map<string, number>>();

/** The version of the member must not decrease. */
async function onlyForward(run: ExploreContext): Promise<void> {
  const versions = newest.get(run.cluster) ?? new Map<string, number>();
  newest.set(run.cluster, versions);
  for (const part of await partsIn(run, 'member')) {
    const version = versionOf(part);
    const before = versions.get(run.namespace) ?? 0;
    if (version < before) throw new Error(`version ${before} was set back to ${version}`);
    versions.set(run.namespace, version);
  }
}

export const exhibit: ExploredExhibit = {
  bug: 'a stale spec rolls a part back',
  sources: [
    'https://github.com/m3db/m3db-operator/pull/269',
    'https://github.com/pravega/zookeeper-operator/issues/314',
  ],
  found: /version 2 was set back to 1/,
  invariant: onlyForward,
  reconciler: (fixed) =>
    specController('upgrader', ({ client, make }) => async (spec, request) => {
      if (spec === undefined) return;
      const version = spec.data?.['version'] ?? '0';
      const resource = client.resource(secrets).namespace(request.namespace);
      const member = await orUndefined(resource.get(request.name));
      if (member === undefined)
        return make(request, 'member', request.name, { labels: { version } }).catch(
          ignoring(apierrors.isAlreadyExists),
        );
      if (versionOf(member) === Number(version)) return;
      // Versions only grow: an older one is that of a stale cache.
      if (fixed && versionOf(member) > Number(version)) return;
      const { resourceVersion } = member.metadata;
      await resource.patch(request.name, 'application/merge-patch+json', {
        metadata: { labels: { version }, ...(fixed && { resourceVersion }) },
      });
    }),
  test: async (run) => {
    await declare(run, 'db', { version: '1' });
    await run.settle();
    await change(run, 'db', { version: '2' });
    await run.settle();
  },
};
