// Volumes and claims for tests.

import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';

export function newVolume(
  name: string,
  spec: New<PersistentVolume['spec']> = {},
  metadata: object = {},
  size = '1Gi',
): New<PersistentVolume> {
  return {
    metadata: { name, ...metadata },
    spec: {
      capacity: { storage: size },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: `/data/${name}` },
      ...spec,
    },
  };
}

export function newClaim(
  name: string,
  spec: New<PersistentVolumeClaim['spec']> = {},
  size = '1Gi',
  metadata: object = {},
): New<PersistentVolumeClaim> {
  return {
    metadata: { name, namespace: 'default', ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: size } }, ...spec },
  };
}
