// Finds the pods that a service selects, and the services that select a pod, through indexes
// instead of a scan of the namespace.

import { type Pod, pods, type Service, services } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { InformerSource, SharedInformer } from '#client/informers/index.ts';

type ReadPod = Immutable<Pod>;
type ReadService = Immutable<Service>;

const BY_SELECTOR = 'selector';
const BY_LABEL = 'label';

const label = (namespace: string, [key, value]: readonly [string, string]): string =>
  `${namespace}\n${key}=${value}`;

/**
 * Reports whether the service has a selector. Without one, its endpoints are managed by other
 * clients.
 */
export function hasSelector({ spec }: ReadService): boolean {
  return spec.type !== 'ExternalName' && Object.keys(spec.selector ?? {}).length > 0;
}

function selects({ metadata, spec }: ReadService, pod: ReadPod): boolean {
  if (metadata.namespace !== pod.metadata.namespace) return false;
  const labels = pod.metadata.labels ?? {};
  return Object.entries(spec.selector ?? {}).every(
    ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
  );
}

/**
 * Returns the index key of a service. One pair of its selector is enough: selected pods have all
 * pairs.
 */
function bySelector(service: ReadService): readonly string[] {
  const [first] = Object.entries(service.spec.selector ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return first === undefined || !hasSelector(service)
    ? []
    : [label(service.metadata.namespace ?? '', first)];
}

function byLabel({ metadata }: ReadPod): readonly string[] {
  return Object.entries(metadata.labels ?? {}).map((pair) => label(metadata.namespace ?? '', pair));
}

export class ServicePods {
  readonly services: SharedInformer<ReadService>;
  readonly pods: SharedInformer<ReadPod>;

  constructor(informers: InformerSource) {
    this.services = informers.informerFor(services);
    this.pods = informers.informerFor(pods);
    this.services.addIndexers({ [BY_SELECTOR]: bySelector });
    this.pods.addIndexers({ [BY_LABEL]: byLabel });
  }

  /** Returns the selected pods, ordered by name. */
  podsOf(service: ReadService): readonly ReadPod[] {
    const [first] = Object.entries(service.spec.selector ?? {});
    if (first === undefined || !hasSelector(service)) return [];
    const candidates = this.pods.lister.byIndex(
      BY_LABEL,
      label(service.metadata.namespace ?? '', first),
    );
    return candidates
      .filter((pod) => selects(service, pod))
      .sort((a, b) =>
        a.metadata.name < b.metadata.name ? -1 : a.metadata.name > b.metadata.name ? 1 : 0,
      );
  }

  servicesOf(pod: ReadPod): readonly ReadService[] {
    const namespace = pod.metadata.namespace ?? '';
    return Object.entries(pod.metadata.labels ?? {}).flatMap((pair) =>
      this.services.lister
        .byIndex(BY_SELECTOR, label(namespace, pair))
        .filter((service) => selects(service, pod)),
    );
  }
}

/** Reports whether a field changed that endpoints depend on. */
export function changesEndpoints(before: ReadPod, pod: ReadPod): boolean {
  return JSON.stringify(endpointFields(before)) !== JSON.stringify(endpointFields(pod));
}

function endpointFields({ metadata, spec, status }: ReadPod): unknown {
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return [
    metadata.uid,
    metadata.labels,
    metadata.deletionTimestamp !== undefined,
    spec.nodeName,
    spec.hostname,
    spec.subdomain,
    status.phase === 'Succeeded' || status.phase === 'Failed',
    status.podIPs,
    status.podIP,
    ready?.status,
  ];
}
