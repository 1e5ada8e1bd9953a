// Claims for pods, bound to volumes of a CSI driver, as the PersistentVolume binder leaves them.

import { persistentVolumeClaims, persistentVolumes } from '#api/groups/core/v1/index.ts';
import { csiNodes } from '#api/groups/storage/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { NewPod } from './templates.ts';

const nameOf = (namespace: string, i: number): string => `${namespace}-${i}`;

/** Limits the node's driver to `count` attached volumes. */
export async function limitVolumes(
  client: Client,
  node: string,
  { driver, count }: { readonly driver: string; readonly count: number },
): Promise<void> {
  const drivers = [{ name: driver, nodeID: node, topologyKeys: null, allocatable: { count } }];
  await client.resource(csiNodes).create({ metadata: { name: node }, spec: { drivers } });
}

/** Creates the volume and the claim of pod number `i`. */
export async function makeVolumes(
  client: Client,
  namespace: string,
  i: number,
  driver: string,
): Promise<void> {
  const name = nameOf(namespace, i);
  const shared = { accessModes: ['ReadOnlyMany' as const], storageClassName: '' };
  const claims = client.resource(persistentVolumeClaims).namespace(namespace);
  const claim = await claims.create({
    metadata: { name, annotations: { 'pv.kubernetes.io/bind-completed': 'true' } },
    spec: { ...shared, resources: { requests: { storage: '1Gi' } }, volumeName: name },
  });
  const volumes = client.resource(persistentVolumes);
  const volume = await volumes.create({
    metadata: { name },
    spec: {
      accessModes: shared.accessModes,
      capacity: { storage: '1Gi' },
      persistentVolumeReclaimPolicy: 'Retain',
      csi: { driver, volumeHandle: name },
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace,
        name,
        uid: claim.metadata.uid,
      },
    },
  });
  await volumes.updateStatus({ ...volume, status: { phase: 'Bound' } });
  await claims.updateStatus({ ...claim, status: { phase: 'Bound' } });
}

/** Returns the pod with the claim of that number. */
export function withClaim(pod: NewPod, namespace: string, i: number): NewPod {
  const volumes = [{ name: 'vol', persistentVolumeClaim: { claimName: nameOf(namespace, i) } }];
  return { ...pod, spec: { ...pod.spec, volumes } };
}
