// A patch that replaces the list of finalizers removes the one that another controller has added meanwhile.

import { configMaps } from '#api/groups/core/v1/index.ts';
import type { ControllerDefinition } from '#controllers/operator/index.ts';
import type { ExploredExhibit } from '../exhibit.ts';
import { declare, specController } from '../parts.ts';

const adder = (name: string, fixed: boolean): ControllerDefinition =>
  specController(name, ({ client, live }) => {
    const added = new Set<string>();
    return async (spec, request) => {
      const own = `example.com/${name}`;
      const key = spec?.metadata.uid ?? '';
      if (spec === undefined || added.has(key)) return;
      const { metadata } = (await live(request)) ?? spec;
      const finalizers = metadata.finalizers ?? [];
      if (!finalizers.includes(own))
        await client
          .resource(configMaps)
          .namespace(request.namespace)
          .patch(request.name, 'application/merge-patch+json', {
            metadata: {
              finalizers: [...finalizers, own].sort(),
              // With the version that was read, a change in between is a conflict.
              ...(fixed && { resourceVersion: metadata.resourceVersion }),
            },
          });
      added.add(key);
    };
  });

export const exhibit: ExploredExhibit = {
  bug: 'a merge patch of finalizers without a precondition removes that of another controller',
  sources: [
    'https://github.com/kubermatic/kubermatic/issues/6759',
    'https://github.com/tigera/operator/pull/4492',
  ],
  found: /requests in the order.*differs/s,
  kinds: ['order'],
  reconciler: (fixed) => [adder('left', fixed), adder('right', fixed)],
  test: (run) => declare(run, 'db', {}),
};
