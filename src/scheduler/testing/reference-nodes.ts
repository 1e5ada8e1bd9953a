// A plain reference implementation of the documented rules for a pod and one node (taints, node
// affinity, host ports, resources, images). The plugins have to agree with it. It shares no code
// with them.

import type {
  NodeAffinity,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Taint,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import type { Node, Pod } from '../framework/objects.ts';
import { requested, resourcesOf, unitsOf } from './reference-requests.ts';

type Added = Immutable<NodeAffinity> | undefined;

function tolerates(pod: Pod, taint: Immutable<Taint>): boolean {
  return (pod.spec.tolerations ?? []).some(
    ({ key = '', operator = 'Equal', value = '', effect = '' }) => {
      if (effect !== '' && effect !== taint.effect) return false;
      if (key === '' && operator === 'Exists') return true;
      return key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''));
    },
  );
}

/** Reports whether the pod tolerates all taints that keep pods away. */
export function toleratesAll(pod: Pod, node: Node): boolean {
  return (node.spec.taints ?? [])
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .every((taint) => tolerates(pod, taint));
}

function holds(
  { key, operator, values = [] }: Immutable<NodeSelectorRequirement>,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[key];
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
      return value !== undefined && /^-?\d+$/.test(value) && Number(value) > Number(values[0]);
    case 'Lt':
      return value !== undefined && /^-?\d+$/.test(value) && Number(value) < Number(values[0]);
  }
}

function termHolds(
  { matchExpressions = [], matchFields = [] }: Immutable<NodeSelectorTerm>,
  node: Node,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  return (
    matchExpressions.every((requirement) => holds(requirement, labels)) &&
    matchFields.every((requirement) => holds(requirement, { 'metadata.name': node.metadata.name }))
  );
}

/** Reports whether node selector and required node affinity match. */
export function wantsNode(pod: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  if (!Object.entries(pod.spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value))
    return false;
  return meets(pod.spec.affinity?.nodeAffinity, node);
}

function meets(affinity: Added, node: Node): boolean {
  const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => termHolds(term, node));
}

interface Port {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

function hostPorts(pod: Pod): readonly Port[] {
  const sidecars = (pod.spec.initContainers ?? []).filter(
    ({ restartPolicy }) => restartPolicy === 'Always',
  );
  return [...pod.spec.containers, ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostIP = '0.0.0.0', hostPort = 0, protocol = 'TCP' }) =>
      hostPort === 0 ? [] : [{ ip: hostIP, port: hostPort, protocol }],
    ),
  );
}

function clash(a: Port, b: Port): boolean {
  const everywhere = a.ip === '0.0.0.0' || b.ip === '0.0.0.0';
  return a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || everywhere);
}

function allocatable(node: Node, resource: string): number {
  const text = node.status.allocatable?.[resource];
  return text === undefined ? 0 : unitsOf(resource, parseQuantity(text));
}

const sum = (pods: readonly Pod[], resource: string, assumed = false): number =>
  pods.reduce((total, pod) => total + requested(pod, resource, assumed), 0);

/** The rejection of a pod on a node: the sorted messages of the first plugin that rejects it. */
export interface Refusal {
  readonly reasons: readonly string[];
  /** Removing all other pods would not help. */
  readonly hopeless: boolean;
}

export const refused = (reason: string, hopeless: boolean): Refusal => ({
  reasons: [reason],
  hopeless,
});

function shortage(
  pod: Pod,
  node: Node,
  there: readonly Pod[],
  ignored: readonly string[],
): Refusal | undefined {
  const names = ['cpu', 'memory', 'ephemeral-storage', ...resourcesOf(pod)].filter(
    (name) => !ignored.includes(name),
  );
  const short = [...new Set(names)].filter((name) => {
    const wanted = requested(pod, name);
    return wanted > 0 && sum(there, name) + wanted > allocatable(node, name);
  });
  const reasons = short.map((name) => `Insufficient ${name}`);
  if (there.length + 1 > allocatable(node, 'pods')) reasons.push('Too many pods');
  const hopeless = short.some((name) => requested(pod, name) > allocatable(node, name));
  return reasons.length === 0 ? undefined : { reasons: reasons.sort(), hopeless };
}

/** Returns the rejection; undefined if the pod fits. */
export function nodeRefusal(
  pod: Pod,
  node: Node,
  there: readonly Pod[],
  { added, ignored = [] }: { readonly added?: Added; readonly ignored?: readonly string[] } = {},
): Refusal | undefined {
  const cordon: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  if (node.spec.unschedulable === true && !tolerates(pod, cordon))
    return refused('node(s) were unschedulable', true);
  if (!toleratesAll(pod, node)) return refused('node(s) had untolerated taint(s)', true);
  if (!meets(added, node))
    return refused("node(s) didn't match scheduler-enforced node affinity", true);
  if (!wantsNode(pod, node))
    return refused("node(s) didn't match Pod's node affinity/selector", true);
  const wanted = hostPorts(pod);
  if (
    there.some((other) => hostPorts(other).some((port) => wanted.some((own) => clash(own, port))))
  ) {
    return refused("node(s) didn't have free ports for the requested pod ports", false);
  }
  return shortage(pod, node, there, ignored);
}

/** Scales values so that the greatest becomes 100. */
function inProportion(raw: readonly number[]): number[] {
  const greatest = Math.max(0, ...raw);
  return raw.map((score) => (greatest === 0 ? 0 : Math.trunc((100 * score) / greatest)));
}

/** Returns scores; all 0 if no node has such taints, so that nodes do not differ. */
export function taintScores(pod: Pod, nodes: readonly Node[]): number[] {
  const soft = (node: Node) =>
    (node.spec.taints ?? []).filter(({ effect }) => effect === 'PreferNoSchedule');
  if (nodes.every((node) => soft(node).length === 0)) return nodes.map(() => 0);
  return inProportion(
    nodes.map((node) => soft(node).filter((taint) => !tolerates(pod, taint)).length),
  ).map((share) => 100 - share);
}

export function nodeAffinityScores(pod: Pod, nodes: readonly Node[], added: Added): number[] {
  const preferred = [added, pod.spec.affinity?.nodeAffinity].flatMap(
    (affinity) => affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [],
  );
  return inProportion(
    nodes.map((node) =>
      preferred.reduce(
        (total, { weight, preference }) => total + (termHolds(preference, node) ? weight : 0),
        0,
      ),
    ),
  );
}

export interface Strategy {
  readonly type: 'LeastAllocated' | 'MostAllocated' | 'RequestedToCapacityRatio';
  readonly resources: readonly { readonly name: string; readonly weight: number }[];
  readonly shape?: readonly { readonly utilization: number; readonly score: number }[];
}

/**
 * Returns the score. CPU and memory count with assumed values for containers without requests;
 * other resources count only if the pod requests them.
 */
export function fitScore(
  pod: Pod,
  node: Node,
  there: readonly Pod[],
  { type, resources, shape = [] }: Strategy,
): number {
  let [total, weights] = [0, 0];
  for (const { name, weight } of resources) {
    const usual = name === 'cpu' || name === 'memory';
    const has = allocatable(node, name);
    if (has === 0 || (!usual && name !== 'ephemeral-storage' && requested(pod, name) === 0))
      continue;
    const used = sum([...there, pod], name, usual);
    let score: number;
    if (type === 'LeastAllocated') score = used > has ? 0 : Math.trunc(((has - used) * 100) / has);
    else if (type === 'MostAllocated') score = Math.trunc((Math.min(used, has) * 100) / has);
    else score = onCurve(used > has ? 100 : Math.trunc((used * 100) / has), shape);
    if (type === 'RequestedToCapacityRatio' && score === 0) continue;
    total += score * weight;
    weights += weight;
  }
  if (weights === 0) return 0;
  return type === 'RequestedToCapacityRatio'
    ? Math.round(total / weights)
    : Math.trunc(total / weights);
}

/** Interpolates linearly between the points, whose scores are from 0 to 10. */
function onCurve(utilization: number, shape: NonNullable<Strategy['shape']>): number {
  const next = shape.findIndex((point) => utilization <= point.utilization);
  if (next < 0) return (shape.at(-1)?.score ?? 0) * 10;
  const [to, from] = [shape[next], shape[next - 1]];
  if (to === undefined) return 0;
  if (from === undefined) return to.score * 10;
  const rise = (to.score - from.score) * 10 * (utilization - from.utilization);
  return from.score * 10 + Math.trunc(rise / (to.utilization - from.utilization));
}

/**
 * Returns 100 minus the standard deviation, in percent, of the resulting utilizations. 0 for a pod
 * that requests none of the resources.
 */
export function balanceScore(
  pod: Pod,
  node: Node,
  there: readonly Pod[],
  resources: readonly string[],
): number {
  if (resources.every((name) => requested(pod, name) === 0)) return 0;
  const shares = resources.flatMap((name) => {
    const has = allocatable(node, name);
    const counts =
      ['cpu', 'memory', 'ephemeral-storage'].includes(name) || requested(pod, name) > 0;
    return has === 0 || !counts ? [] : [Math.min(sum([...there, pod], name) / has, 1)];
  });
  if (shares.length < 2) return 100;
  if (shares.length === 2)
    return Math.trunc((1 - Math.abs(((shares[0] ?? 0) - (shares[1] ?? 0)) / 2)) * 100);
  const mean = shares.reduce((a, b) => a + b, 0) / shares.length;
  return Math.trunc(
    (1 - Math.sqrt(shares.reduce((a, b) => a + (b - mean) ** 2, 0) / shares.length)) * 100,
  );
}

const MIB = 1024 * 1024;

/**
 * Returns the score. `all`: every node of the cluster, since an image that few nodes have counts
 * less.
 */
export function imageScore(pod: Pod, node: Node, all: readonly Node[]): number {
  const inits = pod.spec.initContainers ?? [];
  const images = [...inits, ...pod.spec.containers].map(({ image = '' }) =>
    /:[^/]*$/.test(image) ? image : `${image}:latest`,
  );
  const has = (of: Node, image: string) =>
    (of.status.images ?? []).find(({ names }) => names?.includes(image) ?? false);
  let bytes = 0;
  for (const image of images) {
    const size = has(node, image)?.sizeBytes;
    if (size !== undefined)
      bytes += Math.trunc(size * (all.filter((other) => has(other, image)).length / all.length));
  }
  const [least, greatest] = [23 * MIB, 1000 * MIB * images.length];
  return Math.trunc(
    (100 * (Math.min(Math.max(bytes, least), greatest) - least)) / (greatest - least),
  );
}
