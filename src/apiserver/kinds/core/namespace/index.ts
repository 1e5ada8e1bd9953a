// The resource namespaces.

import { namespaces } from '#api/groups/core/v1/index.ts';
import { namespaceTable } from '#apiserver/printers/small-kinds.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { namespaceFinalizeStrategy, namespaceStatusStrategy, namespaceStrategy, type Namespace } from './strategy.ts';

export function namespaceResource(services: RegistryServices): Kind {
  const store = new ResourceStore<Namespace>({ ...services, type: namespaces, strategy: namespaceStrategy });
  const kind = { group: '', version: 'v1', kind: 'Namespace' };
  const finalize = store.view(namespaceFinalizeStrategy);
  return {
    type: namespaces,
    // Namespaces cannot be deleted as a collection: too much would go with a slip.
    rest: {
      get: (context, name, options) => store.get(context, name, options),
      find: (namespace, name) => store.find(namespace, name),
      list: (context, options) => store.list(context, options),
      watch: (context, options) => store.watch(context, options),
      create: (context, name, object, options) => store.create(context, name, object, options),
      update: (context, name, update, options) => store.update(context, name, update, options),
      delete: (context, name, options) => store.delete(context, name, options),
    },
    table: namespaceTable,
    subresources: [
      { name: 'status', kind, rest: store.view(namespaceStatusStrategy) },
      {
        name: 'finalize',
        kind,
        rest: { update: (context, name, update, options) => finalize.update(context, name, update, options) },
      },
    ],
  };
}
