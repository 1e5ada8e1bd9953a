// Finds the container and the node for a request for logs, exec, attach or port-forward.

import type { Node, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { NodeTarget } from '../node-connector.ts';
import type { Find } from '../catalog/internal-client.ts';

const DEFAULT_KUBELET_PORT = 10250;
/** The types of addresses by which kubelets are reached, in order, unless others are chosen. */
const ADDRESS_TYPES: readonly string[] = [
  'InternalIP',
  'ExternalIP',
  'Hostname',
  'InternalDNS',
  'ExternalDNS',
];

/** Returns the pod. Throws StatusError (404). */
export async function podOf(find: Find, namespace: string, name: string): Promise<Immutable<Pod>> {
  const pod = await find<Immutable<Pod>>('', 'pods', namespace, name);
  if (pod === undefined) throw apierrors.notFound({ group: '', resource: 'pods' }, name);
  return pod;
}

/** Returns the requested container, or the only one. Throws StatusError (400). */
export function chooseContainer(pod: Immutable<Pod>, requested: string): string {
  const { name } = pod.metadata;
  const all = [
    ...(pod.spec.initContainers ?? []),
    ...pod.spec.containers,
    ...(pod.spec.ephemeralContainers ?? []),
  ].map((container) => container.name);
  if (requested !== '') {
    if (all.includes(requested)) return requested;
    throw apierrors.badRequest(`container ${requested} is not valid for pod ${name}`);
  }
  const [only, ...others] = pod.spec.containers;
  if (only === undefined)
    throw apierrors.badRequest(`a container name must be specified for pod ${name}`);
  if (others.length === 0) return only.name;
  throw apierrors.badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${all.join(' ')}]`,
  );
}

/** Returns the node of a pod. Throws StatusError (400) for a pod without a node. */
export function nodeNameOf(pod: Immutable<Pod>): string {
  const { nodeName = '' } = pod.spec;
  if (nodeName === '')
    throw apierrors.badRequest(`pod ${pod.metadata.name} does not have a host assigned`);
  return nodeName;
}

export interface NodeTargetServices {
  readonly find: Find;
  /** The types of addresses by which kubelets are reached, in order. Default: ADDRESS_TYPES. */
  readonly nodeAddressTypes?: readonly string[];
}

/** Returns the connection target of a node. Throws StatusError (404). */
export async function nodeTargetOf(
  { find, nodeAddressTypes }: NodeTargetServices,
  name: string,
): Promise<NodeTarget> {
  const node = await find<Immutable<Node>>('', 'nodes', '', name);
  if (node === undefined) throw apierrors.notFound({ group: '', resource: 'nodes' }, name);
  return targetOf(node, nodeAddressTypes);
}

/** Returns the connection target of a node. */
export function targetOf(
  { metadata: { name }, status }: Immutable<Node>,
  types = ADDRESS_TYPES,
): NodeTarget {
  const addresses = status.addresses ?? [];
  const preferred = types.map(
    (type) => addresses.find((address) => address.type === type)?.address,
  );
  return {
    name,
    host: preferred.find((address) => address !== undefined) ?? '',
    port: status.daemonEndpoints?.kubeletEndpoint?.Port || DEFAULT_KUBELET_PORT,
  };
}
