// Finds the objects that pods and volumes refer to, which their nodes need.

import type { Container, PersistentVolume, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';

type ReadPod = Immutable<Pod>;
type ReadVolume = Immutable<PersistentVolume>;

/** Kinds of namespaced objects that a pod refers to by name. */
export type ReferredKind = 'secret' | 'configmap' | 'pvc' | 'serviceaccount' | 'resourceclaim';

/** Yields the references of a pod with non-empty names. A name may occur several times. */
export function* referencesOf(pod: ReadPod): Iterable<readonly [ReferredKind, string]> {
  const { spec, status } = pod;
  for (const [kind, name] of candidates(pod))
    if (name !== undefined && name !== '') yield [kind, name];
  for (const claim of spec.resourceClaims ?? []) {
    // A claim that is made from a template has its name in the pod's status once it exists.
    const name =
      claim.resourceClaimName ??
      status.resourceClaimStatuses?.find((noted) => noted.name === claim.name)?.resourceClaimName;
    if (name !== undefined && name !== '') yield ['resourceclaim', name];
  }
  const extended = status.extendedResourceClaimStatus?.resourceClaimName ?? '';
  if (extended !== '') yield ['resourceclaim', extended];
}

function* candidates({
  metadata,
  spec,
}: ReadPod): Iterable<readonly [ReferredKind, string | undefined]> {
  yield ['serviceaccount', spec.serviceAccountName];
  yield* secretsAndConfigMapsOf({ spec });
  for (const { name, persistentVolumeClaim, ephemeral } of spec.volumes ?? []) {
    if (persistentVolumeClaim !== undefined) yield ['pvc', persistentVolumeClaim.claimName];
    else if (ephemeral !== undefined) yield ['pvc', `${metadata.name}-${name}`];
  }
}

/** Yields the references to secrets and config maps, also with empty names. */
export function* secretsAndConfigMapsOf({
  spec,
}: Pick<ReadPod, 'spec'>): Iterable<readonly ['secret' | 'configmap', string | undefined]> {
  for (const { name } of spec.imagePullSecrets ?? []) yield ['secret', name];
  for (const container of spec.containers) yield* ofContainer(container);
  for (const container of spec.initContainers ?? []) yield* ofContainer(container);
  for (const container of spec.ephemeralContainers ?? []) yield* ofContainer(container);
  for (const volume of spec.volumes ?? []) {
    yield ['configmap', volume.configMap?.name];
    yield ['secret', volume.secret?.secretName];
    yield ['secret', volume.azureFile?.secretName];
    yield ['secret', volume.csi?.nodePublishSecretRef?.name];
    const { cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos } = volume;
    for (const source of [cephfs, cinder, flexVolume, iscsi, rbd, scaleIO, storageos]) {
      if (source !== undefined) yield ['secret', source.secretRef?.name];
    }
    for (const source of volume.projected?.sources ?? []) {
      yield ['configmap', source.configMap?.name];
      yield ['secret', source.secret?.name];
    }
  }
}

function* ofContainer({
  env = [],
  envFrom = [],
}: Pick<Immutable<Container>, 'env' | 'envFrom'>): Iterable<
  readonly ['secret' | 'configmap', string | undefined]
> {
  for (const { configMapRef, secretRef } of envFrom) {
    yield ['configmap', configMapRef?.name];
    yield ['secret', secretRef?.name];
  }
  for (const { valueFrom } of env) {
    yield ['configmap', valueFrom?.configMapKeyRef?.name];
    yield ['secret', valueFrom?.secretKeyRef?.name];
  }
}

/**
 * Returns the secrets that the kubelet of a volume needs, as 'namespace/name'. Secrets that only
 * controllers need are left out.
 */
export function secretsOfVolume({ spec }: ReadVolume): readonly string[] {
  const claimNamespace = spec.claimRef?.namespace ?? '';
  const secrets: string[] = [];
  const add = (
    namespace: string | null | undefined,
    name: string | undefined,
    otherwise = '',
  ): void => {
    if (name !== undefined && name !== '') secrets.push(`${namespace || otherwise}/${name}`);
  };
  add(spec.azureFile?.secretNamespace, spec.azureFile?.secretName, claimNamespace);
  for (const source of [spec.cephfs, spec.flexVolume, spec.rbd, spec.scaleIO, spec.iscsi]) {
    add(source?.secretRef?.namespace, source?.secretRef?.name, claimNamespace);
  }
  for (const secret of [
    spec.cinder?.secretRef,
    spec.storageos?.secretRef,
    spec.csi?.nodePublishSecretRef,
    spec.csi?.nodeStageSecretRef,
    spec.csi?.nodeExpandSecretRef,
  ]) {
    add(secret?.namespace, secret?.name);
  }
  return secrets;
}
