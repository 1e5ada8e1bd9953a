// Nodes, namespaces, volumes, API services, webhooks, and every kind that has no explainer of its own.

import type {
  ValidatingWebhookConfiguration,
  ValidatingWebhook,
} from '#api/groups/admissionregistration/v1/index.ts';
import type { APIService } from '#api/groups/apiregistration/v1/index.ts';
import type { Node, PersistentVolume, Pod } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { asInfo, type Cause, cause, type ObjectRef } from './cause.ts';
import { conditionsOf, conditionText } from './conditions.ts';
import type { Context } from './context.ts';
import { notSaid, warnings } from './events.ts';
import { childCauses, conditionCauses } from './explain-workload.ts';
import { nodeStateCauses } from './node-state.ts';
import type { ObjectSet } from './object-set.ts';
import { podProblem } from './pod-state.ts';

export function explainNode(object: KubeObject, context: Context): readonly Cause[] {
  const node = object as Immutable<Node>;
  const { objects, now } = context;
  const state = nodeStateCauses(node);
  const taints = (node.spec?.taints ?? []).map(({ key, value, effect }) =>
    cause('info', `taint ${key}${value ? `=${value}` : ''}:${effect}`, { source: 'spec.taints' }),
  );
  const pods = objects
    .ofKind<Pod>('', 'Pod')
    .filter(({ spec }) => spec.nodeName === node.metadata.name);
  const bad = pods.filter((pod) => podProblem(pod, now)?.severity === 'problem');
  const counted = cause(
    'info',
    `${pods.length} pods are on it${bad.length > 0 ? `, ${bad.length} of them with problems` : ''}`,
    { causes: bad.slice(0, 5).map((pod) => context.descend(pod as KubeObject, '')) },
  );
  const events = warnings(object, objects, now);
  if (state.length === 0)
    return [cause('ok', 'is ready', { source: 'condition Ready' }), counted, ...taints];
  const [main, ...others] = state as readonly [Cause, ...Cause[]];
  return [
    cause(main.severity, main.text, { ...main, causes: events }),
    ...others,
    counted,
    ...taints,
  ];
}

export function explainNamespace(object: KubeObject): readonly Cause[] {
  const { deletionTimestamp } = object.metadata;
  if (!deletionTimestamp) return [cause('ok', 'is active', { source: 'status' })];
  // Each condition that is true is a reason for which it is still there.
  return conditionsOf(object)
    .filter(({ status }) => status === 'True')
    .map((condition) =>
      cause('problem', conditionText(condition), { source: `condition ${condition.type}` }),
    );
}

export function explainVolume(object: KubeObject, { objects, now }: Context): readonly Cause[] {
  const volume = object as Immutable<PersistentVolume>;
  const { phase, message } = volume.status ?? {};
  const claim = volume.spec?.claimRef;
  const by = claim ? ` by ${claim.namespace}/${claim.name}` : '';
  const events = warnings(object, objects, now);
  switch (phase) {
    case 'Bound':
      return [cause('ok', `is bound${by}`, { source: 'status' })];
    case 'Available':
      return [cause('ok', 'is free', { source: 'status' })];
    case 'Released':
      return [
        cause('problem', `was used${by}, whose claim is gone; it is not given to another claim`, {
          source: 'status',
          causes: events,
        }),
      ];
    default:
      return [
        cause(
          phase === 'Failed' ? 'problem' : 'waiting',
          `is ${phase ?? 'Pending'}${message ? `: ${message}` : ''}`,
          {
            source: 'status',
            causes: events,
          },
        ),
      ];
  }
}

export function explainApiService(object: KubeObject, { objects }: Context): readonly Cause[] {
  const { spec } = object as Immutable<APIService>;
  const bad = conditionCauses(object);
  const service = spec?.service;
  if (bad.length === 0)
    return [cause('ok', service ? 'its server is reachable' : 'is served by this API server')];
  const backing = service ? serviceProblem(service, objects) : undefined;
  return bad.map((each) =>
    cause(each.severity, each.text, { ...each, causes: backing === undefined ? [] : [backing] }),
  );
}

/** Explains a mutating or a validating webhook configuration. */
export function explainWebhooks(object: KubeObject, { objects }: Context): readonly Cause[] {
  const { webhooks = [] } = object as Immutable<ValidatingWebhookConfiguration>;
  const problems = webhooks.flatMap((webhook) => webhookProblem(webhook, objects) ?? []);
  return problems.length > 0
    ? problems
    : [cause('ok', `${webhooks.length} webhooks, no problem is known`)];
}

/** Returns the problem of a webhook whose service cannot be called. */
export function webhookProblem(
  { name, clientConfig, failurePolicy }: Immutable<ValidatingWebhook>,
  objects: ObjectSet,
): Cause | undefined {
  const problem = clientConfig?.service && serviceProblem(clientConfig.service, objects);
  if (!problem) return undefined;
  const effect =
    failurePolicy === 'Ignore'
      ? 'it is left out (failurePolicy Ignore)'
      : 'requests that match it fail (failurePolicy Fail)';
  return cause(failurePolicy === 'Ignore' ? 'info' : 'problem', `webhook ${name}: ${effect}`, {
    source: 'webhooks',
    causes: [problem],
  });
}

/** Returns why a service that API servers call has no endpoint. Undefined if it has one, or if that is not known. */
export function serviceProblem(
  service: { readonly namespace?: string; readonly name?: string },
  objects: ObjectSet,
): Cause | undefined {
  const { namespace = '', name = '' } = service;
  const ref: ObjectRef = { group: '', kind: 'Service', namespace, name };
  const found = objects.lookup(ref);
  if (found.state === 'absent')
    return cause('problem', `its service ${namespace}/${name} does not exist`, { object: ref });
  const slices = { group: 'discovery.k8s.io', kind: 'EndpointSlice' };
  if (found.state === 'unknown' || !objects.isComplete(slices, namespace)) return undefined;
  const ready = objects
    .ofKind<EndpointSlice>(slices.group, slices.kind, namespace)
    .filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === name)
    .flatMap(({ endpoints }) => endpoints ?? [])
    .some(({ conditions }) => conditions?.ready !== false);
  return ready
    ? undefined
    : cause('problem', `its service ${namespace}/${name} has no ready endpoint`, { object: ref });
}

/** Explains any other object, such as a custom resource, by its conditions, events and owned objects. */
export function explainAny(object: KubeObject, context: Context): readonly Cause[] {
  const { objects, now } = context;
  const bad = conditionCauses(object);
  const children = childCauses(object, context);
  const events = notSaid(warnings(object, objects, now), bad);
  const [main, ...others] = bad;
  if (main !== undefined) {
    // A condition is what the controller says now; its events are how it came to it.
    const causes = [...events.map(asInfo), ...children];
    return [cause(main.severity, main.text, { ...main, causes }), ...others];
  }
  if (events.length > 0 || children.length > 0) return [...events, ...children];
  return [
    conditionsOf(object).length > 0
      ? cause('ok', 'no condition is bad', { source: 'status.conditions' })
      : cause('ok', 'says nothing about its state, and no warning is known'),
  ];
}
