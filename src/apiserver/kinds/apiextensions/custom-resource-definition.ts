// CustomResourceDefinitions, of which there are none: this server has no custom resources yet. kubectl's validation lists them
// whatever discovery says, and fails where it cannot. So the list is served, empty, and nothing else: neither discovery nor
// OpenAPI mentions it, so that clients learn that they cannot create any.

import { customResourceDefinitions } from '#api/groups/apiextensions/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Storage } from '#storage/interface.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';

export function customResourceDefinitionResource({ storage }: { readonly storage: Storage }): Kind {
  return {
    type: customResourceDefinitions,
    visibility: 'unlisted',
    rest: {
      get: (_context, name) => Promise.reject(apierrors.notFound(customResourceDefinitions, name)),
      list: async () => ({ items: [], resourceVersion: String(await storage.currentRevision()) }),
      create: () => Promise.reject(notSupported()),
    },
  };
}

function notSupported(): apierrors.StatusError {
  const { status } = apierrors.methodNotSupported(customResourceDefinitions, 'create');
  return new apierrors.StatusError({
    ...status,
    message: `${status.message}: this server does not support custom resources yet`,
  });
}
