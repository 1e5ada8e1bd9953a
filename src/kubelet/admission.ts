// Decides whether a pod that is bound to this node may run here. The scheduler decided from older
// state, and pods can be bound without the scheduler.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type Amounts, amounts, podRequests } from './pod/resources.ts';
import { isSidecar } from './pod/restart-policy.ts';
import { tolerates } from './tolerations.ts';
import type { Shortage } from './preemption.ts';
import type { Container, Node, Pod, ResourceList } from './types.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

export interface AdmissionInput {
  readonly pod: Pod;
  /** Returns the admitted pods that have not ended. Called only if they matter. */
  readonly active: () => readonly Pod[];
  /** Upper bounds for the number of active pods and for the sum of their requests. */
  readonly activeAtMost: { readonly pods: number; readonly requested: Amounts };
  readonly allocatable: ResourceList;
  /**
   * The Node in the API; undefined if it has not been read yet: its labels and taints are then not
   * checked.
   */
  readonly node: Node | undefined;
}

/** The reason and message of the pod's Failed status. */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** Returns the rejection; undefined if the pod may run. */
export function admitPod(input: AdmissionInput): Rejection | undefined {
  return (
    checkOS(input.pod) ??
    checkGroups(input) ??
    checkResources(input)[0]?.rejection ??
    checkOthers(input)
  );
}

/**
 * Returns the decision about a critical pod. Missing resources are not a reason to reject it: other
 * pods end for it.
 */
export function admitCriticalPod(input: AdmissionInput): {
  readonly rejection: Rejection | undefined;
  readonly shortage: Shortage;
} {
  return {
    rejection: checkOS(input.pod) ?? checkGroups(input) ?? checkOthers(input),
    shortage: new Map(checkResources(input).map(({ resource, missing }) => [resource, missing])),
  };
}

function checkOthers(input: AdmissionInput): Rejection | undefined {
  return checkNode(input) ?? checkPorts(input) ?? checkTaints(input);
}

function checkOS(pod: Pod): Rejection | undefined {
  const os = pod.spec.os?.name;
  if (os === undefined || os === 'linux') return undefined;
  return {
    reason: 'PodOSNotSupported',
    message: 'Failed to admit pod as the OS field does not match node OS',
  };
}

/** Rejects a pod with strict supplemental groups where the runtime would add those of the image. */
function checkGroups({ pod, node }: AdmissionInput): Rejection | undefined {
  if (pod.spec.securityContext?.supplementalGroupsPolicy !== 'Strict') return undefined;
  if (node === undefined || node.status.features?.supplementalGroupsPolicy === true)
    return undefined;
  return {
    reason: 'SupplementalGroupsPolicyNotSupported',
    message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
  };
}

/** A resource of which the pod requests more than there is. */
interface Lack {
  readonly resource: string;
  readonly missing: number;
  readonly rejection: Rejection;
}

function checkResources({
  pod,
  active,
  activeAtMost,
  allocatable,
}: AdmissionInput): readonly Lack[] {
  const capacity = amounts(allocatable);
  const lacking = (
    reason: string,
    resource: string,
    requested: number,
    used: number,
    total: number,
  ): Lack => ({
    resource,
    missing: requested - (total - used),
    rejection: {
      reason,
      message:
        `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, ` +
        `capacity: ${total}`,
    },
  });
  const lacks: Lack[] = [];
  const pods = capacity.get('pods') ?? 0;
  if (activeAtMost.pods + 1 > pods) {
    const count = active().length;
    if (count + 1 > pods) lacks.push(lacking('OutOfpods', 'pods', 1, count, pods));
  }
  const wanted = podRequests(withoutClaimed(pod));
  if (fits(wanted, activeAtMost.requested, capacity)) return lacks;
  const used = new Map<string, number>();
  for (const other of active())
    for (const [resource, amount] of podRequests(other))
      used.set(resource, (used.get(resource) ?? 0) + amount);
  for (const [resource, amount] of wanted) {
    // Another component may have added the resource to the Node, so that the scheduler has counted
    // it.
    if (isExtended(resource) && !capacity.has(resource)) continue;
    const total = capacity.get(resource) ?? 0;
    const taken = used.get(resource) ?? 0;
    if (amount > 0 && amount > total - taken)
      lacks.push(lacking(`OutOf${resource}`, resource, amount, taken, total));
  }
  return lacks;
}

/** Returns the pod without the extended resources that it gets as devices of a claim. */
function withoutClaimed(pod: Pod): Pod {
  const { requestMappings = [] } = pod.status.extendedResourceClaimStatus ?? {};
  if (requestMappings.length === 0) return pod;
  const filtered = (container: Container): Container => {
    const claimed = new Set(
      requestMappings.flatMap(({ containerName, resourceName }) =>
        containerName === container.name ? [resourceName] : [],
      ),
    );
    const requests = Object.entries(container.resources?.requests ?? {}).filter(
      ([resource]) => !claimed.has(resource),
    );
    return {
      ...container,
      resources: { ...container.resources, requests: Object.fromEntries(requests) },
    };
  };
  const { containers, initContainers = [] } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map(filtered),
      initContainers: initContainers.map(filtered),
    },
  };
}

function fits(wanted: Amounts, used: Amounts, capacity: Amounts): boolean {
  for (const [resource, amount] of wanted)
    if (amount > 0 && amount > (capacity.get(resource) ?? 0) - (used.get(resource) ?? 0))
      return false;
  return true;
}

/**
 * Reports whether the resource is an extended resource: its name has a domain other than
 * kubernetes.io.
 */
function isExtended(resource: string): boolean {
  return resource.includes('/') && !resource.includes('kubernetes.io/');
}

function checkNode({ pod, node }: AdmissionInput): Rejection | undefined {
  if (node === undefined) return undefined;
  const mismatch: Rejection = { reason: 'NodeAffinity', message: 'Predicate NodeAffinity failed' };
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec.nodeSelector ?? {}))
    if (ownValue(labels, key) !== value) return mismatch;
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || selectsNode(required, node) ? undefined : mismatch;
}

export function selectsNode(selector: Immutable<v1.NodeSelector>, { metadata }: Node): boolean {
  return (selector.nodeSelectorTerms ?? []).some((term) =>
    termMatches(term, metadata.labels ?? {}, metadata.name),
  );
}

/** Reports whether the term matches. An empty term matches nothing. */
function termMatches(
  term: Immutable<v1.NodeSelectorTerm>,
  labels: Readonly<Record<string, string>>,
  name: string,
): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return false;
  return (
    expressions.every((requirement) => requirementMatches(requirement, labels)) &&
    fields.every(
      (requirement) =>
        requirement.key === 'metadata.name' &&
        requirementMatches(requirement, { 'metadata.name': name }),
    )
  );
}

function requirementMatches(
  requirement: Immutable<v1.NodeSelectorRequirement>,
  labels: Readonly<Record<string, string>>,
): boolean {
  const { key, operator } = requirement;
  const values = requirement.values ?? [];
  const value = ownValue(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
    case 'Lt': {
      const [left, right] = [Number(value), Number(values[0])];
      if (value === undefined || !Number.isInteger(left) || !Number.isInteger(right)) return false;
      return operator === 'Gt' ? left > right : left < right;
    }
    default:
      return false;
  }
}

/** Rejects a pod whose host port is in use, unless the addresses differ. */
function checkPorts({ pod, active }: AdmissionInput): Rejection | undefined {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return undefined;
  const taken = active().flatMap(hostPorts);
  const clash = wanted.some((port) =>
    taken.some(
      (other) =>
        port.port === other.port &&
        port.protocol === other.protocol &&
        (port.ip === other.ip || isAny(port.ip) || isAny(other.ip)),
    ),
  );
  return clash ? { reason: 'NodePorts', message: 'Predicate NodePorts failed' } : undefined;
}

interface HostPort {
  readonly port: number;
  readonly protocol: string;
  readonly ip: string;
}

function hostPorts(pod: Pod): HostPort[] {
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar);
  return [...sidecars, ...pod.spec.containers].flatMap((container) =>
    (container.ports ?? []).flatMap(({ hostPort, protocol, hostIP }) =>
      hostPort === undefined || hostPort === 0
        ? []
        : [{ port: hostPort, protocol: protocol ?? 'TCP', ip: hostIP ?? '0.0.0.0' }],
    ),
  );
}

function isAny(ip: string): boolean {
  return ip === '0.0.0.0' || ip === '::' || ip === '';
}

/**
 * Rejects a pod that a NoExecute taint would evict at once. Static pods belong to the node and
 * stay.
 */
function checkTaints({ pod, node }: AdmissionInput): Rejection | undefined {
  if (pod.metadata.annotations?.['kubernetes.io/config.source'] === 'file') return undefined;
  const untolerated = (node?.spec.taints ?? []).filter(
    (taint) =>
      taint.effect === 'NoExecute' &&
      !(pod.spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
  return untolerated.length === 0
    ? undefined
    : { reason: 'TaintToleration', message: 'Predicate TaintToleration failed' };
}
