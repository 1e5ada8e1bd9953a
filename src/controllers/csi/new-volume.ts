// Builds the request for a claim's volume, and the PersistentVolume from the driver's response. Pure.

import type { PersistentVolume, PersistentVolumeClaim } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import type { StorageClass, VolumeAttributesClass } from '#api/groups/storage/v1/index.ts';
import { csiAccessMode } from '#csi/access-modes.ts';
import type { CsiInput, CsiMessage } from '#csi/schema.ts';
import { newQuantity, parseQuantity } from '#machinery/text/quantity.ts';
import { PROVISIONED_BY } from '../persistent-volume/names.ts';
import type { ClassParameters } from './class-parameters.ts';
import { affinityOf } from './topology.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;

/** The finalizer of a volume: it is kept until the driver has deleted it. */
export const PROVISIONER_FINALIZER = 'external-provisioner.volume.kubernetes.io/finalizer';
const SECRET_NAME = 'volume.kubernetes.io/provisioner-deletion-secret-name';
const SECRET_NAMESPACE = 'volume.kubernetes.io/provisioner-deletion-secret-namespace';

export interface VolumeRequest {
  readonly claim: ReadClaim;
  readonly storageClass: Immutable<StorageClass>;
  readonly parameters: ClassParameters;
  readonly volumeName: string;
  /** The driver distinguishes one writer from several on a node. */
  readonly multiWriter: boolean;
  readonly secrets: Readonly<Record<string, string>>;
  readonly source: CsiInput<'VolumeContentSource'> | undefined;
  readonly topology: CsiInput<'TopologyRequirement'> | undefined;
  /** The class whose parameters can be changed later. */
  readonly attributes: Immutable<VolumeAttributesClass> | undefined;
}

export function createRequest(request: VolumeRequest): CsiInput<'CreateVolumeRequest'> {
  const { claim, storageClass, parameters, source, topology } = request;
  const { accessModes = [], resources, volumeMode } = claim.spec;
  const size = (amount: string | undefined): number =>
    amount === undefined ? 0 : parseQuantity(amount).value();
  return {
    name: request.volumeName,
    capacityRange: {
      requiredBytes: size(resources.requests?.['storage']),
      limitBytes: size(resources.limits?.['storage']),
    },
    volumeCapabilities: accessModes.map((mode) => ({
      accessMode: { mode: csiAccessMode(mode, request.multiWriter) },
      ...(volumeMode === 'Block'
        ? { block: {} }
        : {
            mount: { fsType: parameters.fsType, mountFlags: storageClass.mountOptions ?? [] },
          }),
    })),
    parameters: parameters.own,
    ...(request.attributes !== undefined && {
      mutableParameters: request.attributes.parameters ?? {},
    }),
    secrets: request.secrets,
    ...(source !== undefined && { volumeContentSource: source }),
    ...(topology !== undefined && { accessibilityRequirements: topology }),
  };
}

export function newVolume(
  driver: string,
  { claim, storageClass, parameters, volumeName, attributes }: VolumeRequest,
  created: CsiMessage<'Volume'>,
): New<PersistentVolume> {
  const { name, namespace, uid, resourceVersion } = claim.metadata;
  const reclaimPolicy = storageClass.reclaimPolicy ?? 'Delete';
  const { provisioner: deletion } = parameters.secrets;
  const isBlock = claim.spec.volumeMode === 'Block';
  const nodeAffinity = affinityOf(created.accessibleTopology);
  const capacity =
    created.capacityBytes > 0
      ? newQuantity(created.capacityBytes, 'BinarySI').toString()
      : (claim.spec.resources.requests?.['storage'] ?? '0');
  const secret = (use: keyof ClassParameters['secrets']) => parameters.secrets[use];
  return {
    metadata: {
      name: volumeName,
      annotations: {
        [PROVISIONED_BY]: driver,
        [SECRET_NAME]: deletion?.name ?? '',
        [SECRET_NAMESPACE]: deletion?.namespace ?? '',
      },
      ...(reclaimPolicy === 'Delete' && { finalizers: [PROVISIONER_FINALIZER] }),
    },
    spec: {
      capacity: { storage: capacity },
      accessModes: claim.spec.accessModes,
      volumeMode: claim.spec.volumeMode ?? 'Filesystem',
      persistentVolumeReclaimPolicy: reclaimPolicy,
      storageClassName: storageClass.metadata.name,
      ...(attributes !== undefined && { volumeAttributesClassName: attributes.metadata.name }),
      ...(storageClass.mountOptions !== undefined && { mountOptions: storageClass.mountOptions }),
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace,
        name,
        uid,
        resourceVersion,
      },
      csi: {
        driver,
        volumeHandle: created.volumeId,
        ...(Object.keys(created.volumeContext).length > 0 && {
          volumeAttributes: created.volumeContext,
        }),
        ...(!isBlock && parameters.fsType !== '' && { fsType: parameters.fsType }),
        controllerPublishSecretRef: secret('controller-publish'),
        controllerExpandSecretRef: secret('controller-expand'),
        nodeStageSecretRef: secret('node-stage'),
        nodePublishSecretRef: secret('node-publish'),
        nodeExpandSecretRef: secret('node-expand'),
      },
      ...(nodeAffinity !== undefined && { nodeAffinity }),
    },
  };
}

/** Returns the secret that the driver needs to delete the volume. */
export function deletionSecret({
  metadata,
}: Immutable<PersistentVolume>): { name: string; namespace: string } | undefined {
  const name = metadata.annotations?.[SECRET_NAME] ?? '';
  const namespace = metadata.annotations?.[SECRET_NAMESPACE] ?? '';
  return name === '' ? undefined : { name, namespace };
}
