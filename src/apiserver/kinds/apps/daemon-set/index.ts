// The resource daemonsets.

import { daemonSets } from '#api/groups/apps/v1/index.ts';
import { daemonSetTable } from '#apiserver/printers/workloads.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { daemonSetStatusStrategy, daemonSetStrategy, type DaemonSet } from './strategy.ts';

export function daemonSetResource(services: RegistryServices): Kind {
  const store = new ResourceStore<DaemonSet>({ ...services, type: daemonSets, strategy: daemonSetStrategy });
  return {
    type: daemonSets,
    rest: store,
    table: daemonSetTable,
    subresources: [
      { name: 'status', kind: { group: 'apps', version: 'v1', kind: 'DaemonSet' }, rest: store.view(daemonSetStatusStrategy) },
    ],
  };
}
