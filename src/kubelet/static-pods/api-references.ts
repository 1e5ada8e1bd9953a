// Finds references of a static pod to objects of the API, which it must not have: the kubelet runs
// it without the API server.

import type { Container, Pod } from '../types.ts';

type Volume = NonNullable<Pod['spec']['volumes']>[number];

/**
 * Returns the resource that the pod refers to, in upstream's words: 'secrets (via secret volumes)'.
 * Returns undefined if it refers to none.
 */
export function apiReferenceOf({ spec }: Pod): string | undefined {
  if ((spec.serviceAccountName ?? '') !== '') return 'serviceaccounts';
  const containers: readonly Container[] = [
    ...spec.containers,
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  const volumes = spec.volumes ?? [];
  if (
    (spec.imagePullSecrets ?? []).length > 0 ||
    containers.some(refersTo('secretRef', 'secretKeyRef')) ||
    volumes.some(refersToSecret)
  )
    return 'secrets';
  if (
    containers.some(refersTo('configMapRef', 'configMapKeyRef')) ||
    volumes.some(
      ({ configMap, projected }) =>
        configMap !== undefined ||
        (projected?.sources ?? []).some((source) => source.configMap !== undefined),
    )
  )
    return 'configmaps';
  if ((spec.resourceClaims ?? []).length > 0) return 'resourceclaims';
  return volumes.map(ofVolume).find((resource) => resource !== undefined);
}

const refersTo =
  (all: 'secretRef' | 'configMapRef', key: 'secretKeyRef' | 'configMapKeyRef') =>
  ({ env = [], envFrom = [] }: Container): boolean =>
    env.some(({ valueFrom }) => valueFrom?.[key] !== undefined) ||
    envFrom.some((source) => source[all] !== undefined);

/** Reports whether the volume names a Secret, itself or with its credentials. */
function refersToSecret(volume: Volume): boolean {
  const { secret, projected, csi, azureFile, cephfs, cinder, flexVolume, rbd, scaleIO } = volume;
  const { iscsi, storageos } = volume;
  return (
    secret !== undefined ||
    azureFile !== undefined ||
    (projected?.sources ?? []).some((source) => source.secret !== undefined) ||
    csi?.nodePublishSecretRef !== undefined ||
    [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos].some(
      (source) => source?.secretRef !== undefined,
    )
  );
}

function ofVolume(volume: Volume): string | undefined {
  if (volume.csi !== undefined) return 'csidrivers (via CSI volumes)';
  if (volume.glusterfs !== undefined) return 'endpoints (via glusterFS volumes)';
  if (volume.persistentVolumeClaim !== undefined) return 'persistentvolumeclaims';
  if (volume.ephemeral !== undefined) return 'persistentvolumeclaims (via ephemeral volumes)';
  for (const source of volume.projected?.sources ?? []) {
    if (source.serviceAccountToken !== undefined) return 'serviceaccounts (via projected volumes)';
    if (source.clusterTrustBundle !== undefined) return 'clustertrustbundles';
    if (source.podCertificate !== undefined) return 'podcertificates';
  }
  return undefined;
}
