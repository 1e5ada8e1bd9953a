// Volumes, claims and classes for tests, in the form of informers.

import type {
  PersistentVolume as CoreVolume,
  PersistentVolumeClaim as CoreClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
  PersistentVolumeStatus,
  Volume,
} from '#api/groups/core/v1/index.ts';
import type { StorageClass as StorageClassObject } from '#api/groups/storage/v1/index.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../plugins/volumes/claims.ts';

const metadata = (name: string, namespace?: string) => ({
  name,
  ...(namespace !== undefined && { namespace }),
  uid: `uid-${name}`,
  resourceVersion: '1',
  creationTimestamp: '2026-01-01T00:00:00Z',
});

export interface VolumeOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly storage?: string;
  readonly spec?: Partial<PersistentVolumeSpec>;
  readonly phase?: PersistentVolumeStatus['phase'];
  /** Only nodes with this hostname can use the volume. */
  readonly host?: string;
}

/** Returns a volume. Without options: 1Gi, of the class `late`, available everywhere. */
export function makeVolume(name: string, options: VolumeOptions = {}): PersistentVolume {
  const volume: CoreVolume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      ...metadata(name),
      ...(options.labels !== undefined && { labels: { ...options.labels } }),
    },
    spec: {
      capacity: { storage: options.storage ?? '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: 'late',
      volumeMode: 'Filesystem',
      ...(options.host !== undefined && { nodeAffinity: { required: onHost(options.host) } }),
      ...options.spec,
    },
    status: { phase: options.phase ?? 'Available' },
  };
  return volume;
}

export function onHost(...values: string[]) {
  return {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In' as const, values }] },
    ],
  };
}

export interface ClaimOptions {
  readonly namespace?: string;
  readonly storage?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Partial<PersistentVolumeClaimSpec>;
  readonly phase?: CoreClaim['status']['phase'];
  /** Bound to the volume with this name. */
  readonly volume?: string;
  readonly deleting?: boolean;
  readonly owner?: string;
}

/** Returns a claim. Without options: 1Gi, of the class `late`, unbound. */
export function makeClaim(name: string, options: ClaimOptions = {}): PersistentVolumeClaim {
  const { annotations, owner, volume } = options;
  const claim: CoreClaim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...metadata(name, options.namespace ?? 'default'),
      ...((annotations !== undefined || volume !== undefined) && {
        annotations: {
          ...(volume !== undefined && { 'pv.kubernetes.io/bind-completed': 'yes' }),
          ...annotations,
        },
      }),
      ...(owner !== undefined && {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Pod', name: owner, uid: `uid-${owner}`, controller: true },
        ],
      }),
      ...(options.deleting === true && { deletionTimestamp: '2026-01-01T00:01:00Z' }),
    },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: options.storage ?? '1Gi' } },
      storageClassName: 'late',
      volumeMode: 'Filesystem',
      ...(volume !== undefined && { volumeName: volume }),
      ...options.spec,
    },
    status: { phase: options.phase ?? (volume === undefined ? 'Pending' : 'Bound') },
  };
  return claim;
}

/** Returns a class, which waits for the first consumer unless `more` overrides it. */
export function makeClass(
  name: string,
  provisioner: string,
  more: Partial<StorageClassObject> = {},
): StorageClass {
  const storageClass: StorageClassObject = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: metadata(name),
    provisioner,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    ...more,
  };
  return storageClass;
}

/** Returns the volumes of a pod that mounts these claims. */
export function mounting(...claims: string[]): { volumes: Volume[] } {
  return {
    volumes: claims.map((claimName, i) => ({
      name: `v${i}`,
      persistentVolumeClaim: { claimName },
    })),
  };
}
