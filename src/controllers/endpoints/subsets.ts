// Computes the Endpoints of a service: addresses and ports in subsets, of one address family, with
// at most a thousand addresses.

import { repackSubsets } from '#api/groups/core/v1/endpoint-subsets.ts';
import type {
  EndpointAddress,
  EndpointPort,
  EndpointSubset,
  Pod,
  Service,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  addressesOf,
  addressTypesOf,
  belongsToEndpoints,
  hostnameIn,
  portOn,
} from '../endpointslice/pod-endpoints.ts';
import { isPodReady } from '../pod-state.ts';

type ReadPod = Immutable<Pod>;
type ReadService = Immutable<Service>;
type Subset = Immutable<EndpointSubset>;

export const MAX_ADDRESSES = 1000;

export function subsetsOf(service: ReadService, pods: readonly ReadPod[]): readonly Subset[] {
  const { ports = [], clusterIP, publishNotReadyAddresses = false } = service.spec;
  const subsets: Subset[] = [];
  for (const pod of pods) {
    if (!belongsToEndpoints(pod, publishNotReadyAddresses)) continue;
    const address = addressOn(pod, service);
    if (address === undefined) continue;
    const add = (its: readonly EndpointPort[]): void => {
      const isReady = publishNotReadyAddresses || isPodReady(pod);
      subsets.push({ [isReady ? 'addresses' : 'notReadyAddresses']: [address], ports: its });
    };
    if (ports.length === 0 && clusterIP === 'None') add([]);
    for (const servicePort of ports) {
      const port = portOn(pod, servicePort);
      if (port === undefined) continue;
      const { name, protocol = 'TCP', appProtocol } = servicePort;
      add([
        {
          ...(name !== undefined && { name }),
          port,
          protocol,
          ...(appProtocol !== undefined && { appProtocol }),
        },
      ]);
    }
  }
  return repackSubsets(subsets);
}

/** Returns the pod's address of the service's first family. */
function addressOn(pod: ReadPod, service: ReadService): EndpointAddress | undefined {
  const [type = 'IPv4'] = addressTypesOf(service);
  const [ip] = addressesOf(pod, type);
  if (ip === undefined) return undefined;
  const { nodeName } = pod.spec;
  const { name, namespace = '', uid } = pod.metadata;
  const hostname = hostnameIn(pod, service);
  return {
    ip,
    ...(hostname !== undefined && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}

/**
 * Truncates the subsets: ready addresses are kept before not-ready ones, and each subset loses the
 * same share. Returns undefined if there are not too many.
 */
export function truncate(subsets: readonly Subset[]): readonly Subset[] | undefined {
  const ready = count(subsets, 'addresses');
  const notReady = count(subsets, 'notReadyAddresses');
  if (ready + notReady <= MAX_ADDRESSES) return undefined;
  const which = ready > MAX_ADDRESSES ? 'addresses' : 'notReadyAddresses';
  const room = ready > MAX_ADDRESSES ? MAX_ADDRESSES : MAX_ADDRESSES - ready;
  const total = ready > MAX_ADDRESSES ? ready : notReady;
  let left = room;
  return subsets.flatMap((subset) => {
    const list = subset[which] ?? [];
    const kept = list.slice(0, Math.min(left, Math.ceil((list.length / total) * room)));
    left -= kept.length;
    const { addresses = [], ports } = subset;
    const others = which === 'addresses' ? {} : { ...(addresses.length > 0 && { addresses }) };
    if (kept.length === 0 && Object.keys(others).length === 0) return [];
    return [
      {
        ...others,
        ...(kept.length > 0 && { [which]: kept }),
        ...(ports !== undefined && { ports }),
      },
    ];
  });
}

function count(subsets: readonly Subset[], which: 'addresses' | 'notReadyAddresses'): number {
  return subsets.reduce((sum, subset) => sum + (subset[which] ?? []).length, 0);
}
