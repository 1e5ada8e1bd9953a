// Decides what is wrong in a cluster, from what was observed of it. Pure; observe-cluster.ts reads it.

import type { ValidatingWebhookConfiguration } from '#api/groups/admissionregistration/v1/index.ts';
import type { APIService } from '#api/groups/apiregistration/v1/index.ts';
import type { CustomResourceDefinition } from '#api/groups/apiextensions/v1/index.ts';
import type { Node, Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { type Cause, cause, type ObjectRef, rootCauses } from './cause.ts';
import { certificateProblem } from './certificates.ts';
import { warnings } from './events.ts';
import { deviceClaimProblem } from './explain-device-claim.ts';
import { claimProblem } from './explain-storage.ts';
import { explainApiService, explainNamespace, webhookProblem } from './explain-others.ts';
import { conditionCauses } from './explain-workload.ts';
import { nodeStateCauses } from './node-state.ts';
import { type EventObject, eventTime, groupOf, type ObjectSet, refOf } from './object-set.ts';
import { conditionOf, deletionCause, podProblem } from './pod-state.ts';

/** Controllers of these kinds have no condition for pods that cannot be created. */
const WITHOUT_CONDITION = new Set(['StatefulSet', 'DaemonSet', 'Job']);
/** Controllers try again, at the latest, after this long; an older event is about the past. */
const RECENT_MS = 5 * 60_000;

export interface ComponentState {
  readonly name: string;
  /** Undefined if unknown, such as for components that do not run beside the API server. */
  readonly healthy: boolean | undefined;
  /** The reason, if the component is unhealthy or its health is unknown. */
  readonly message?: string;
}

export interface ClusterState {
  /** 'v1.36.0'. */
  readonly version: string;
  readonly components: readonly ComponentState[];
  readonly nodes: { readonly total: number; readonly ready: number };
  /** By phase. */
  readonly pods: Readonly<Record<string, number>>;
  /** Pods that do not run as they should, at most MAX_TROUBLED. */
  readonly troubledPods: readonly Immutable<Pod>[];
  /** The number of such pods. */
  readonly troubledPodCount: number;
  /** Nodes, API services, webhooks, definitions, services, endpoints and events. */
  readonly objects: ObjectSet;
  /** Wall-clock milliseconds. */
  readonly now: number;
}

export interface Problem {
  readonly severity: 'problem' | 'waiting';
  /** The first object with the problem. */
  readonly object?: ObjectRef;
  readonly text: string;
  readonly source?: string;
  /** The number of objects with the problem. */
  readonly count: number;
}

/**
 * Returns the problems, the most fundamental first: components, nodes, extensions, pods; then what only waits.
 */
export function clusterProblems(state: ClusterState): readonly Problem[] {
  const { objects } = state;
  const causes: Cause[] = [
    ...state.components
      .filter(({ healthy }) => healthy === false)
      .map(({ name, message }) =>
        cause('problem', `${name} is not healthy${message ? `: ${message}` : ''}`),
      ),
    ...objects.ofKind<Node>('', 'Node').flatMap(nodeProblems),
    ...objects
      .ofKind<APIService>('apiregistration.k8s.io', 'APIService')
      .flatMap((service) => apiServiceProblems(service as KubeObject, state)),
    ...['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'].flatMap((kind) =>
      objects
        .ofKind<ValidatingWebhookConfiguration>('admissionregistration.k8s.io', kind)
        .flatMap((configuration) => webhookProblems(configuration, state)),
    ),
    ...objects
      .ofKind<CustomResourceDefinition>('apiextensions.k8s.io', 'CustomResourceDefinition')
      .flatMap((definition) => definitionProblems(definition as KubeObject)),
    ...(objects.ofKind('', 'Node').length === 0 &&
    objects.isComplete({ group: '', kind: 'Node' }, '')
      ? [cause('problem', 'there are no nodes: no pod can run')]
      : []),
    ...objects
      .ofKind<KubeObject>('', 'Namespace')
      .flatMap((namespace) => namespaceProblems(namespace, state)),
    ...rejectedPods(state),
    ...objects
      .ofKind<KubeObject>('', 'PersistentVolumeClaim')
      .flatMap((claim) => claimProblems(claim, state, claimProblem)),
    ...objects
      .ofKind<KubeObject>('resource.k8s.io', 'ResourceClaim')
      .flatMap((claim) => claimProblems(claim, state, deviceClaimProblem)),
    ...state.troubledPods.flatMap((pod) => podProblems(pod, state)),
  ];
  return grouped(causes);
}

const about = (each: Cause, object: KubeObject): Cause => ({ ...each, object: refOf(object) });

function nodeProblems(node: Immutable<Node>): readonly Cause[] {
  return nodeStateCauses(node).map((each) => about(each, node as KubeObject));
}

function apiServiceProblems(service: KubeObject, state: ClusterState): readonly Cause[] {
  const { spec } = service as Immutable<APIService>;
  const explained = explainApiService(service, { ...state, descend: () => cause('info', '') })
    .filter(({ severity }) => severity === 'problem')
    .map((each) => about(each, service));
  const bundle = spec?.caBundle
    ? bundleProblem(spec.caBundle, 'the caBundle', state.now)
    : undefined;
  return [...explained, ...(bundle === undefined ? [] : [about(bundle, service)])];
}

function webhookProblems(
  configuration: Immutable<ValidatingWebhookConfiguration>,
  { objects, now }: ClusterState,
): readonly Cause[] {
  return (configuration.webhooks ?? []).flatMap((webhook) => {
    const unreachable = webhookProblem(webhook, objects);
    const bundle = webhook.clientConfig?.caBundle
      ? bundleProblem(webhook.clientConfig.caBundle, `webhook ${webhook.name}: its caBundle`, now)
      : undefined;
    return [unreachable, bundle]
      .filter((each) => each?.severity === 'problem')
      .map((each) => about(each as Cause, configuration as KubeObject));
  });
}

/** `bundle`: PEM in base64. */
function bundleProblem(bundle: string, what: string, now: number): Cause | undefined {
  return certificateProblem(Buffer.from(bundle, 'base64').toString('latin1'), what, now);
}

function definitionProblems(definition: KubeObject): readonly Cause[] {
  return conditionCauses(definition).map((each) => about(each, definition));
}

function namespaceProblems(namespace: KubeObject, { now }: ClusterState): readonly Cause[] {
  if (!namespace.metadata.deletionTimestamp) return [];
  const going = deletionCause(namespace, now);
  if (going.severity !== 'problem') return [];
  const [reason] = explainNamespace(namespace);
  const text = reason === undefined ? going.text : `${going.text}: ${reason.text}`;
  return [about({ ...going, text }, namespace)];
}

function claimProblems(
  claim: KubeObject,
  state: ClusterState,
  problemOf: typeof claimProblem,
): readonly Cause[] {
  const found = problemOf(claim, { ...state, descend: () => cause('info', '') });
  return found === undefined ? [] : [about(found, claim)];
}

/** Reports pods that admission rejects, by the controller's condition or by recent events. */
function rejectedPods({ objects, now }: ClusterState): readonly Cause[] {
  const conditions = [
    ...objects.ofKind<KubeObject>('apps', 'ReplicaSet'),
    ...objects.ofKind<KubeObject>('', 'ReplicationController'),
  ].flatMap((owner) => {
    const failure = conditionOf(owner, 'ReplicaFailure');
    if (failure?.status !== 'True') return [];
    const text = `its pods are not created: ${failure.message || failure.reason}`;
    return [about(cause('problem', text, { source: 'condition ReplicaFailure' }), owner)];
  });
  const latest = new Map<string, EventObject>();
  for (const event of objects.events()) {
    const { kind = '', namespace = '', name = '' } = event.involvedObject ?? {};
    const recent = now - eventTime(event) < RECENT_MS;
    if (event.reason !== 'FailedCreate' || !WITHOUT_CONDITION.has(kind) || !recent) continue;
    const key = `${kind} ${namespace}/${name}`;
    const known = latest.get(key);
    if (known === undefined || eventTime(known) < eventTime(event)) latest.set(key, event);
  }
  const events = [...latest.values()].map(({ involvedObject, message }) => {
    const { apiVersion = '', kind = '', namespace = '', name = '' } = involvedObject ?? {};
    return cause('problem', `its pods are not created: ${message}`, {
      source: 'event FailedCreate',
      object: { group: groupOf(apiVersion), kind, namespace, name },
    });
  });
  return [...conditions, ...events];
}

function podProblems(pod: Immutable<Pod>, { objects, now }: ClusterState): readonly Cause[] {
  const found = podProblem(pod, now);
  if (found === undefined) return [];
  const object = pod as KubeObject;
  // A container that is not started yet does not say why: the kubelet's events do.
  const [event] = found.severity === 'waiting' ? warnings(object, objects, now) : [];
  const shown = event === undefined ? found : { ...event, text: `${found.text}: ${event.text}` };
  return [about(shown, object)];
}

/** Objects of one kind with the same problem are one line. */
function grouped(causes: readonly Cause[]): readonly Problem[] {
  const groups = new Map<string, { readonly first: Cause; count: number }>();
  for (const each of causes) {
    const key = `${each.severity} ${each.object?.kind ?? ''} ${comparable(each)}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { first: each, count: 1 });
    else group.count++;
  }
  const all = [...groups.values()];
  const waits = ({ first }: { readonly first: Cause }): boolean => first.severity === 'waiting';
  return [...all.filter((group) => !waits(group)), ...all.filter(waits)].map(problemOf);
}

function problemOf({ first, count }: { readonly first: Cause; readonly count: number }): Problem {
  return {
    severity: first.severity === 'waiting' ? 'waiting' : 'problem',
    text: detailed(first),
    count,
    ...(first.object !== undefined && { object: first.object }),
    ...(first.source !== undefined && { source: first.source }),
  };
}

/** Returns the text with its deepest cause. */
function detailed(each: Cause): string {
  const deeper = rootCauses(each).filter(({ text }) => text !== each.text);
  return [each.text, ...deeper.map(({ text }) => text)].join(': ');
}

/** Returns the text without names of the object and times. */
function comparable({ text, object }: Cause): string {
  return (object === undefined ? text : text.replaceAll(object.name, '…')).replace(
    /\d+(\.\d+)?(ms|s|m|h|d)\b/g,
    '…',
  );
}
