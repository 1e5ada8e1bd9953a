// Explains why a service reaches no pod.

import type { Pod, Service } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Ingress } from '#api/groups/networking/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { type Cause, cause } from './cause.ts';
import type { Context } from './context.ts';
import { warnings } from './events.ts';
import { conditionOf } from './pod-state.ts';

const SERVICE_NAME = 'kubernetes.io/service-name';

export function explainService(object: KubeObject, context: Context): readonly Cause[] {
  const service = object as Immutable<Service>;
  const { objects, now } = context;
  const { type, externalName, selector } = service.spec;
  if (type === 'ExternalName')
    return [cause('ok', `is a name for ${externalName}`, { source: 'spec.externalName' })];
  const causes: Cause[] = [];
  if (type === 'LoadBalancer' && (service.status?.loadBalancer?.ingress ?? []).length === 0)
    causes.push(
      cause('waiting', 'has no address of a load balancer yet', {
        source: 'status.loadBalancer',
        causes: warnings(object, objects, now),
      }),
    );
  causes.push(
    selector === undefined || Object.keys(selector).length === 0
      ? withoutSelector(service, context)
      : withSelector(service, selector, context),
  );
  return causes;
}

function readyEndpoints(service: Immutable<Service>, { objects }: Context): number {
  const { namespace = '', name } = service.metadata;
  return objects
    .ofKind<EndpointSlice>('discovery.k8s.io', 'EndpointSlice', namespace)
    .filter(({ metadata }) => metadata.labels?.[SERVICE_NAME] === name)
    .flatMap(({ endpoints }) => endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false).length;
}

function withoutSelector(service: Immutable<Service>, context: Context): Cause {
  const count = readyEndpoints(service, context);
  return count > 0
    ? cause('ok', `has ${count} endpoints, made by hand`, { source: 'EndpointSlices' })
    : cause('problem', 'has neither a selector nor endpoints', { source: 'spec.selector' });
}

function withSelector(
  service: Immutable<Service>,
  selector: Readonly<Record<string, string>>,
  context: Context,
): Cause {
  const { objects } = context;
  const { namespace = '' } = service.metadata;
  const wanted = labels.selectorFromSet(selector);
  const pods = objects
    .ofKind<Pod>('', 'Pod', namespace)
    .filter(({ metadata }) => wanted.matches(metadata.labels));
  const text = labels.formatLabels(selector);
  if (pods.length === 0) {
    if (!objects.isComplete({ group: '', kind: 'Pod' }, namespace))
      return cause('info', 'its pods were not read', { source: 'spec.selector' });
    return cause('problem', `no pod has the labels ${text}`, {
      source: 'spec.selector',
      causes: nearMisses(selector, context, namespace),
    });
  }
  const ports = portCauses(service, pods);
  const ready = pods.filter((pod) => conditionOf(pod, 'Ready')?.status === 'True');
  const endpoints = readyEndpoints(service, context);
  const counted = `${ready.length} of ${pods.length} pods with the labels ${text} are ready`;
  if (ready.length === 0)
    return cause('problem', counted, {
      source: 'spec.selector',
      causes: [...ports, ...pods.slice(0, 5).map((pod) => context.descend(pod as KubeObject, ''))],
    });
  if (endpoints === 0 && objects.isComplete(SLICES, namespace))
    return cause('problem', `${counted}, but it has no endpoints`, {
      source: 'EndpointSlices',
      causes: ports,
    });
  return ports.length > 0
    ? cause('problem', counted, { source: 'spec.ports', causes: ports })
    : cause('ok', `${counted}: ${endpoints} endpoints`, { source: 'EndpointSlices' });
}

const SLICES = { group: 'discovery.k8s.io', kind: 'EndpointSlice' };

/** The pod that comes nearest: it has all labels but one, and that one with a value that begins alike. */
function nearMisses(
  selector: Readonly<Record<string, string>>,
  { objects }: Context,
  namespace: string,
): readonly Cause[] {
  const entries = Object.entries(selector);
  const near = entries.flatMap(([key, value]) => {
    const others = labels.selectorFromSet(
      Object.fromEntries(entries.filter(([other]) => other !== key)),
    );
    return objects.ofKind<Pod>('', 'Pod', namespace).flatMap((pod) => {
      const own = ownValue(pod.metadata.labels, key);
      if (own === undefined || !others.matches(pod.metadata.labels)) return [];
      const alike = commonPrefix(own, value);
      return alike >= 2 || entries.length > 1 ? [{ pod, key, value, own, alike }] : [];
    });
  });
  const [best] = near.toSorted((a, b) => b.alike - a.alike);
  if (best === undefined) return [];
  const { pod, key, value, own } = best;
  return [cause('info', `pod/${pod.metadata.name} has ${key}=${own}, not ${key}=${value}`)];
}

function commonPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

/** Named target ports that no container has. */
function portCauses(
  service: Immutable<Service>,
  pods: readonly Immutable<Pod>[],
): readonly Cause[] {
  const names = new Set(
    pods.flatMap(({ spec }) =>
      [...spec.containers, ...(spec.initContainers ?? [])].flatMap(({ ports = [] }) =>
        ports.flatMap(({ name }) => name ?? []),
      ),
    ),
  );
  return (service.spec.ports ?? []).flatMap(({ port, targetPort }) =>
    typeof targetPort === 'string' && !names.has(targetPort)
      ? [
          cause('problem', `port ${port} leads to ${targetPort}, which no container has`, {
            source: 'spec.ports',
          }),
        ]
      : [],
  );
}

export function explainIngress(object: KubeObject, context: Context): readonly Cause[] {
  const ingress = object as Immutable<Ingress>;
  const { objects, now } = context;
  const { namespace = '' } = ingress.metadata;
  const { rules = [], defaultBackend, ingressClassName } = ingress.spec ?? {};
  const backends = [
    defaultBackend?.service,
    ...rules.flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend.service)),
  ];
  const services = new Set(backends.flatMap((backend) => backend?.name ?? []));
  const causes = [...services].flatMap((name): readonly Cause[] => {
    const ref = { group: '', kind: 'Service', namespace, name };
    const found = objects.lookup(ref);
    if (found.state === 'absent')
      return [cause('problem', `its service ${name} does not exist`, { object: ref })];
    return found.state === 'found' ? [context.descend(found.object, 'leads to')] : [];
  });
  const address = (ingress.status?.loadBalancer?.ingress ?? []).length > 0;
  const ingressClass = ingressClassName
    ? objects.lookup({ group: 'networking.k8s.io', kind: 'IngressClass', name: ingressClassName })
    : undefined;
  const classCause =
    ingressClass?.state === 'absent'
      ? [
          cause('problem', `its class ${ingressClassName} does not exist`, {
            source: 'spec.ingressClassName',
          }),
        ]
      : address
        ? [cause('ok', 'has an address', { source: 'status.loadBalancer' })]
        : [
            cause('waiting', 'no controller has given it an address', {
              source: 'status.loadBalancer',
            }),
          ];
  return [...classCause, ...warnings(object, objects, now), ...causes];
}
