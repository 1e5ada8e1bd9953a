// The resource persistentvolumeclaims.

import { persistentVolumeClaims } from '#api/groups/core/v1/index.ts';
import { persistentVolumeClaimTable } from '#apiserver/printers/volumes.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { persistentVolumeClaimStatusStrategy, persistentVolumeClaimStrategy, type PersistentVolumeClaim } from './strategy.ts';

export function persistentVolumeClaimResource(services: RegistryServices): Kind {
  const store = new ResourceStore<PersistentVolumeClaim>({
    ...services,
    type: persistentVolumeClaims,
    strategy: persistentVolumeClaimStrategy,
  });
  return {
    type: persistentVolumeClaims,
    rest: store,
    table: persistentVolumeClaimTable,
    subresources: [
      {
        name: 'status',
        kind: { group: '', version: 'v1', kind: 'PersistentVolumeClaim' },
        rest: store.view(persistentVolumeClaimStatusStrategy),
      },
    ],
  };
}
