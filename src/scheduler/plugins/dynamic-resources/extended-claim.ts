// The claim for a pod's extended resources, as far as devices provide them on a node. It is created
// when the pod is bound.

import type { Container, ContainerExtendedResourceRequest } from '#api/groups/core/v1/index.ts';
import type { DeviceRequest } from '#api/groups/resource/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Pod } from '#scheduler/framework/objects.ts';
import { valueOf } from '#scheduler/framework/resource.ts';
import type { ResourceClaim } from './objects.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

const ANNOTATION = 'resource.kubernetes.io/extended-resource-claim';
/** The name before the claim is created. It is not a valid name of a claim. */
const NO_NAME = '<extended-resources>';

export interface ExtendedClaim {
  readonly claim: ResourceClaim;
  /** Maps containers' resources to requests. */
  readonly mappings: readonly ContainerExtendedResourceRequest[];
}

/** Reports whether the claim was created for the pod's extended resources. */
export function isExtendedClaimOf({ metadata }: ResourceClaim, pod: Pod): boolean {
  if (metadata.annotations?.[ANNOTATION] !== 'true') return false;
  return (
    metadata.ownerReferences?.some(
      ({ controller, uid }) => controller === true && uid === pod.metadata.uid,
    ) === true
  );
}

/**
 * Returns the claim for these resources, each with the class that provides it. `uid`: identifies
 * the claim until it is created.
 */
export function extendedClaim(
  pod: Pod,
  classes: ReadonlyMap<string, string>,
  uid: string,
): ExtendedClaim {
  const { name, namespace = '', uid: podUid } = pod.metadata;
  const { requests, mappings } = requestsOf(pod, classes);
  const claim: ResourceClaim = {
    metadata: {
      name: NO_NAME,
      namespace,
      uid,
      resourceVersion: '',
      creationTimestamp: '',
      generateName: `${name}-extended-resources-`,
      annotations: { [ANNOTATION]: 'true' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Pod', name: name ?? '', uid: podUid, controller: true },
      ],
    },
    spec: { devices: { requests } },
    status: {},
  };
  return { claim, mappings };
}

interface Asked {
  readonly name: string;
  readonly count: number;
}

/**
 * Returns the requests. Containers that run for the pod's whole life have their own devices; the
 * others, which run before, use devices of later containers, and share additional devices one after
 * the other.
 */
function requestsOf(pod: Pod, classes: ReadonlyMap<string, string>) {
  const inits = pod.spec.initContainers ?? [];
  const containers = [...inits, ...pod.spec.containers];
  const requests: DeviceRequest[] = [];
  const mappings: ContainerExtendedResourceRequest[] = [];
  for (const resourceName of [...classes.keys()].sort()) {
    const ask = ({ name, count }: Asked): void => {
      const deviceClassName = classes.get(resourceName) ?? '';
      requests.push({ name, exactly: { deviceClassName, allocationMode: 'ExactCount', count } });
    };
    const map = (index: number, requestName: string): void => {
      mappings.push({ containerName: containers[index]?.name ?? '', resourceName, requestName });
    };
    const amounts = containers.map((container) =>
      valueOf(ownValue(container.resources.requests, resourceName) ?? '0'),
    );
    const isBrief = (index: number): boolean =>
      index < inits.length && inits[index]?.restartPolicy !== 'Always';
    const lasting = containers.map((container, i): Asked | undefined => {
      const count = amounts[i] ?? 0;
      return isBrief(i) || count === 0
        ? undefined
        : { name: nameOf(i, container, resourceName), count };
    });
    lasting.forEach((asked, i) => {
      if (asked === undefined) return;
      ask(asked);
      map(i, asked.name);
    });
    const more: { readonly index: number; readonly asked: Asked }[] = [];
    const brief: { readonly index: number; readonly request: string }[] = [];
    amounts.forEach((amount, index) => {
      if (!isBrief(index) || amount === 0) return;
      let had = 0;
      for (const asked of lasting.slice(index)) {
        if (asked === undefined || had >= amount) continue;
        had += asked.count;
        brief.push({ index, request: asked.name });
      }
      if (had >= amount) return;
      const name = nameOf(index, containers[index]!, resourceName);
      more.push({ index, asked: { name, count: amount - had } });
    });
    const most = more.reduce<Asked | undefined>(
      (best, { asked }) => (best === undefined || asked.count > best.count ? asked : best),
      undefined,
    );
    if (most !== undefined) {
      ask(most);
      for (const { index } of more) brief.push({ index, request: most.name });
    }
    brief.sort((a, b) => a.index - b.index);
    for (const { index, request } of brief) map(index, request);
  }
  return { requests: requests.sort((a, b) => (a.name < b.name ? -1 : 1)), mappings };
}

function nameOf(index: number, { resources }: Immutable<Container>, resourceName: string): string {
  return `container-${index}-request-${Object.keys(resources.requests ?? {})
    .sort()
    .indexOf(resourceName)}`;
}
