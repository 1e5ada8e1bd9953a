// The resource pods, and the resource bindings, an older path to the subresource of that name.

import { bindings, pods } from '#api/groups/core/v1/index.ts';
import { defineKind, type KindDefinition } from '#apiserver/catalog/define-kind.ts';
import { podProxySubresource } from '#apiserver/endpoint-proxy/proxy.ts';
import {
  attachSubresource,
  execSubresource,
  logSubresource,
  portForwardSubresource,
  type StreamServices,
} from '#apiserver/node-proxy/subresources.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import { bindingRest } from './binding.ts';
import { evictionRest, type EvictionServices } from './eviction.ts';
import type { Pod } from './pod.ts';
import { ephemeralContainersStrategy, resizeStrategy } from './running-pod.ts';
import { podStatusStrategy, podStrategy } from './strategy.ts';
import { podTable } from './table.ts';

const BINDING = { group: '', version: 'v1', kind: 'Binding' } as const;
const EVICTION = { group: 'policy', version: 'v1', kind: 'Eviction' } as const;

/** The services that the subresources of pods need. */
export interface PodServices extends StoreServices, StreamServices, EvictionServices {}

const podKind = defineKind<Pod, PodServices>({
  type: pods,
  strategy: podStrategy,
  selectableFields: {
    // Indexed, since each kubelet follows the pods of its node.
    'spec.nodeName': {
      value: ({ spec }) => spec.nodeName ?? '',
      path: ['spec', 'nodeName'],
      indexed: true,
      oldNames: ['spec.host'],
    },
    'spec.restartPolicy': ({ spec }) => spec.restartPolicy ?? '',
    'spec.schedulerName': ({ spec }) => spec.schedulerName ?? '',
    'spec.serviceAccountName': ({ spec }) => spec.serviceAccountName ?? '',
    'spec.hostNetwork': ({ spec }) => String(spec.hostNetwork ?? false),
    // Indexed, since consoles and operators look for the few pods that are not running.
    'status.phase': {
      value: ({ status }) => status.phase ?? '',
      path: ['status', 'phase'],
      indexed: true,
    },
    'status.podIP': ({ status }) => status.podIPs?.[0]?.ip ?? status.podIP ?? '',
    // Upstream accepts this name, too, and never sets the field.
    'status.podIPs': () => '',
    'status.nominatedNodeName': ({ status }) => status.nominatedNodeName ?? '',
  },
  table: podTable,
  subresources: {
    status: { strategy: podStatusStrategy },
    ephemeralcontainers: { strategy: ephemeralContainersStrategy },
    resize: { strategy: resizeStrategy },
    binding: ({ store, services: { clock } }) => ({
      kind: BINDING,
      rest: bindingRest(store, () => clock.now()),
    }),
    eviction: ({ store, services }) => ({ kind: EVICTION, rest: evictionRest(store, services) }),
    log: ({ services }) => logSubresource(services),
    exec: ({ services }) => execSubresource(services),
    attach: ({ services }) => attachSubresource(services),
    portforward: ({ services }) => portForwardSubresource(services),
    proxy: ({ services }) => podProxySubresource(services),
  },
});

/**
 * The kinds of pods and of bindings, an older resource that is the subresource of that name, with
 * the pod's name in the object.
 */
export const podKinds: KindDefinition<PodServices> = {
  types: [pods, bindings],
  build(services) {
    const built = podKind.build(services);
    const binding = built[0]!.subresources!.find(({ name }) => name === 'binding')!;
    return [...built, { type: bindings, rest: binding.rest }];
  },
};
