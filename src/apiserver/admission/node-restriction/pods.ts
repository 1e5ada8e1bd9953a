// Rules for pods. A kubelet may create mirrors of its static pods, which must not refer to API
// objects. It may write the status of the pods on its node, evict them and delete them.

import type { Node, Pod, Volume } from '#api/groups/core/v1/index.ts';
import type { Immutable, OwnerReference } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { deepEqual } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import { secretsAndConfigMapsOf } from '#apiserver/authorization/node/references.ts';
import { type ImmutablePod, isMirrorPod } from '../pod-defaults.ts';
import type { NodeRequest, Objection } from './objection.ts';

const PODS = { group: '', resource: 'pods' };

export async function podObjection(request: NodeRequest): Promise<Objection> {
  const { attributes, node } = request;
  switch (attributes.operation) {
    case 'CREATE':
      return mirrorObjection(request, attributes.object as ImmutablePod);
    case 'DELETE':
      return ofNode(attributes.oldObject, node)
        ? undefined
        : `node ${quote(node)} can only delete pods with spec.nodeName set to itself`;
    default:
      return (
        `unexpected operation ${quote(attributes.operation)}, node ${quote(node)} can ` +
        'only create and delete mirror pods'
      );
  }
}

export function podStatusObjection({ attributes, node }: NodeRequest): Objection {
  const pod = attributes.object as ImmutablePod;
  const old = attributes.oldObject as ImmutablePod;
  if (!ofNode(old, node))
    return `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`;
  if (!deepEqual(pod.metadata.labels ?? {}, old.metadata.labels ?? {})) {
    return `node ${quote(node)} cannot update labels through pod status`;
  }
  if (!deepEqual(pod.status.resourceClaimStatuses ?? [], old.status.resourceClaimStatuses ?? [])) {
    return `node ${quote(node)} cannot update resource claim statues`;
  }
  if (!deepEqual(pod.status.extendedResourceClaimStatus, old.status.extendedResourceClaimStatus)) {
    return `node ${quote(node)} cannot update extended resource claim status`;
  }
  return undefined;
}

export async function evictionObjection({
  attributes,
  node,
  services,
}: NodeRequest): Promise<Objection> {
  const { name, namespace } = attributes;
  const pod = await services.find<Immutable<Pod>>('', 'pods', namespace, name);
  if (pod === undefined) throw apierrors.notFound(PODS, name);
  return ofNode(pod, node)
    ? undefined
    : `node ${node} can only evict pods with spec.nodeName set to itself`;
}

function ofNode(pod: unknown, node: string): boolean {
  return (pod as ImmutablePod | undefined)?.spec.nodeName === node;
}

async function mirrorObjection(
  { node, services }: NodeRequest,
  pod: ImmutablePod,
): Promise<Objection> {
  const self = quote(node);
  if (!isMirrorPod(pod)) {
    return `pod does not have "kubernetes.io/config.mirror" annotation, node ${self} can only create mirror pods`;
  }
  if (pod.spec.nodeName !== node)
    return `node ${self} can only create pods with spec.nodeName set to itself`;
  const [owner, ...others] = pod.metadata.ownerReferences ?? [];
  if (others.length > 0)
    return `node ${self} can only create pods with a single owner reference set to itself`;
  const why = ownerObjection(owner, node);
  if (why !== undefined) return why;
  const { uid: claimed = '' } = owner!;
  const nodeObject = await services.find<Immutable<Node>>('', 'nodes', '', node);
  if (nodeObject === undefined) throw apierrors.notFound({ group: '', resource: 'nodes' }, node);
  const { uid } = nodeObject.metadata;
  if (claimed !== uid) return `node ${node} UID mismatch: expected ${claimed} got ${uid}`;
  const needed = neededByMirror(pod);
  return needed === undefined
    ? undefined
    : `node ${self} can not create pods that reference ${needed}`;
}

function ownerObjection(owner: Immutable<OwnerReference> | undefined, node: string): Objection {
  const self = quote(node);
  if (
    owner === undefined ||
    owner.apiVersion !== 'v1' ||
    owner.kind !== 'Node' ||
    owner.name !== node
  ) {
    return `node ${self} can only create pods with an owner reference set to itself`;
  }
  if (owner.controller !== true)
    return `node ${self} can only create pods with a controller owner reference set to itself`;
  if (owner.blockOwnerDeletion === true)
    return `node ${self} must not set blockOwnerDeletion on an owner reference`;
  return undefined;
}

/** Returns the resource of an API object that the pod refers to; undefined if there is none. */
function neededByMirror(pod: ImmutablePod): string | undefined {
  const { spec } = pod;
  if ((spec.serviceAccountName ?? '') !== '') return 'serviceaccounts';
  const named = new Set<string>();
  for (const [kind, name] of secretsAndConfigMapsOf(pod))
    if (name !== undefined && name !== '') named.add(kind);
  if (named.has('secret')) return 'secrets';
  if (named.has('configmap')) return 'configmaps';
  if ((spec.resourceClaims ?? []).length > 0) return 'resourceclaims';
  for (const volume of spec.volumes ?? []) {
    const needed = neededByVolume(volume);
    if (needed !== undefined) return needed;
  }
  return undefined;
}

function neededByVolume(volume: Immutable<Volume>): string | undefined {
  if (volume.configMap !== undefined) return 'configmaps (via configmap volumes)';
  if (volume.secret !== undefined) return 'secrets (via secret volumes)';
  if (volume.csi !== undefined) return 'csidrivers (via CSI volumes)';
  if (volume.glusterfs !== undefined) return 'endpoints (via glusterFS volumes)';
  if (volume.persistentVolumeClaim !== undefined) return 'persistentvolumeclaims';
  if (volume.ephemeral !== undefined) return 'persistentvolumeclaims (via ephemeral volumes)';
  if (volume.azureFile !== undefined) return 'secrets (via azureFile volumes)';
  for (const source of volume.projected?.sources ?? []) {
    if (source.configMap !== undefined) return 'configmaps (via projected volumes)';
    if (source.secret !== undefined) return 'secrets (via projected volumes)';
    if (source.serviceAccountToken !== undefined) return 'serviceaccounts (via projected volumes)';
    if (source.clusterTrustBundle !== undefined) return 'clustertrustbundles';
    if (source.podCertificate !== undefined) return 'podcertificates';
  }
  return undefined;
}
