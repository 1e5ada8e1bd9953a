// Rules for a kubelet's own node. A kubelet may not change what attracts or repels pods: no taints
// on an existing node, and of Kubernetes' labels only those that kubelets set.

import type { Node } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { deepEqual } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { NodeRequest, Objection } from './objection.ts';

type ReadNode = Immutable<Node>;
type Labels = Readonly<Record<string, string>>;

const RESTRICTED = 'node-restriction.kubernetes.io';
const KUBELET_NAMESPACES = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const KUBELET_LABELS: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
]);

export function nodeObjection({ attributes, node }: NodeRequest): Objection {
  const { name, operation } = attributes;
  if (name !== node) return `node ${quote(node)} is not allowed to modify node ${quote(name)}`;
  const object = attributes.object as ReadNode | undefined;
  const old = attributes.oldObject as ReadNode | undefined;
  if (object === undefined) return undefined;
  return operation === 'CREATE'
    ? createObjection(object, node)
    : updateObjection(object, old!, node);
}

function createObjection({ metadata, spec }: ReadNode, node: string): Objection {
  if (spec.configSource !== undefined)
    return `node ${quote(node)} is not allowed to create pods with a non-nil configSource`;
  const forbidden = changedLabels(metadata.labels, {}).filter(isForbidden);
  if (forbidden.length === 0) return undefined;
  return `node ${quote(node)} is not allowed to set the following labels: ${forbidden.join(', ')}`;
}

function updateObjection({ metadata, spec }: ReadNode, old: ReadNode, node: string): Objection {
  if (spec.configSource !== undefined && !deepEqual(spec.configSource, old.spec.configSource)) {
    return `node ${quote(node)} is not allowed to update configSource to a new non-nil configSource`;
  }
  if (!deepEqual(spec.taints ?? [], old.spec.taints ?? []))
    return `node ${quote(node)} is not allowed to modify taints`;
  if (!deepEqual(metadata.ownerReferences ?? [], old.metadata.ownerReferences ?? [])) {
    return `node ${quote(node)} is not allowed to modify ownerReferences`;
  }
  const forbidden = changedLabels(metadata.labels, old.metadata.labels).filter(isForbidden);
  return forbidden.length === 0
    ? undefined
    : `is not allowed to modify labels: ${forbidden.join(', ')}`;
}

/** Returns the keys of labels that differ, sorted. */
function changedLabels(now: Labels = {}, before: Labels = {}): readonly string[] {
  const keys = new Set([...Object.keys(now), ...Object.keys(before)]);
  return [...keys].filter((key) => now[key] !== before[key]).sort();
}

function isForbidden(label: string): boolean {
  const slash = label.indexOf('/');
  const namespace = slash < 0 ? '' : label.slice(0, slash);
  if (isWithin(namespace, RESTRICTED)) return true;
  const ofKubernetes = isWithin(namespace, 'kubernetes.io') || isWithin(namespace, 'k8s.io');
  return (
    ofKubernetes &&
    !KUBELET_LABELS.has(label) &&
    !KUBELET_NAMESPACES.some((allowed) => isWithin(namespace, allowed))
  );
}

const isWithin = (namespace: string, domain: string): boolean =>
  namespace === domain || namespace.endsWith(`.${domain}`);
