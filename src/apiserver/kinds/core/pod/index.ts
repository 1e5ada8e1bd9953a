// The resource pods, and bindings, which is the older path to one of its subresources.

import { bindings, pods } from '#api/groups/core/v1/index.ts';
import { podProxySubresource } from '#apiserver/endpoint-proxy/proxy.ts';
import { podNodeSubresources } from '#apiserver/node-proxy/subresources.ts';
import { podTable } from '#apiserver/printers/pod.ts';
import type { PodDisruptionBudget } from '#apiserver/kinds/policy/pod-disruption-budget/index.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import { bindingRest } from './binding.ts';
import { evictionRest } from './eviction.ts';
import { ephemeralContainersStrategy, resizeStrategy } from './running-pod.ts';
import { podStatusStrategy, podStrategy, type Pod } from './strategy.ts';

const POD = { group: '', version: 'v1', kind: 'Pod' } as const;

export function podResources(services: RegistryServices, budgets: ResourceStore<PodDisruptionBudget>): readonly Kind[] {
  const store = new ResourceStore<Pod>({ ...services, type: pods, strategy: podStrategy });
  const now = (): number => services.clock.now();
  const binding = bindingRest(store, now);
  return [
    {
      type: pods,
      rest: store,
      table: podTable,
      subresources: [
        { name: 'status', kind: POD, rest: store.view(podStatusStrategy) },
        { name: 'ephemeralcontainers', kind: POD, rest: store.view(ephemeralContainersStrategy) },
        { name: 'resize', kind: POD, rest: store.view(resizeStrategy) },
        { name: 'binding', kind: { group: '', version: 'v1', kind: 'Binding' }, rest: binding },
        { name: 'eviction', kind: { group: 'policy', version: 'v1', kind: 'Eviction' }, rest: evictionRest(store, budgets, now) },
        ...podNodeSubresources(services),
        podProxySubresource(services),
      ],
    },
    { type: bindings, rest: binding },
  ];
}
