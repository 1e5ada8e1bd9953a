// The resources horizontalpodautoscalers of two versions: the second is stored, the first is a view of it.

import { horizontalPodAutoscalers as firstAutoscalers } from '#api/groups/autoscaling/v1/index.ts';
import type * as v1 from '#api/groups/autoscaling/v1/index.ts';
import { fromV1, toV1 } from '#api/groups/autoscaling/v1/conversion.ts';
import { horizontalPodAutoscalers } from '#api/groups/autoscaling/v2/index.ts';
import type * as v2 from '#api/groups/autoscaling/v2/index.ts';
import { validateHorizontalPodAutoscaler, validateHorizontalPodAutoscalerStatus } from '#api/groups/autoscaling/v2/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { horizontalPodAutoscalerTable, horizontalPodAutoscalerV1Table } from '#apiserver/printers/autoscaling.ts';
import { pathSegmentName } from '#apiserver/registry/metadata-validation.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { Rest } from '#apiserver/registry/rest.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { versionView } from '#apiserver/registry/version-view.ts';

type Autoscaler = Immutable<v2.HorizontalPodAutoscaler>;

const V1 = { group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler' } as const;
const V2 = { group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' } as const;
const NO_STATUS: Autoscaler['status'] = { desiredReplicas: 0, currentMetrics: null };
const names = { pathSegmentProblems: (name: string) => pathSegmentName(name, false) };

export const horizontalPodAutoscalerStrategy: ResourceStrategy<Autoscaler> = {
  prepareForCreate: (autoscaler) => ({ ...autoscaler, status: NO_STATUS }),
  validate: (autoscaler) => validateHorizontalPodAutoscaler(autoscaler, undefined, names),
  prepareForUpdate: (autoscaler, old) => ({ ...autoscaler, status: old.status }),
  validateUpdate: (autoscaler, old) => validateHorizontalPodAutoscaler(autoscaler, old, names),
};

export const horizontalPodAutoscalerStatusStrategy: SubresourceStrategy<Autoscaler> = {
  prepareForUpdate: (autoscaler, old) => ({ ...autoscaler, spec: old.spec }),
  validateUpdate: (autoscaler) => validateHorizontalPodAutoscalerStatus(autoscaler),
};

export function horizontalPodAutoscalerResources(services: RegistryServices): readonly Kind[] {
  const store = new ResourceStore<Autoscaler>({
    ...services,
    type: horizontalPodAutoscalers,
    strategy: horizontalPodAutoscalerStrategy,
  });
  const status = store.view(horizontalPodAutoscalerStatusStrategy);
  const first = (rest: Rest): Rest =>
    versionView(rest, {
      kind: V1,
      stored: V2,
      fromStored: (autoscaler) => toV1(autoscaler as Autoscaler),
      toStored: (autoscaler) => fromV1(autoscaler as Immutable<v1.HorizontalPodAutoscaler>),
    });
  return [
    {
      type: horizontalPodAutoscalers,
      rest: store,
      table: horizontalPodAutoscalerTable,
      otherVersions: [V1],
      subresources: [{ name: 'status', kind: V2, rest: status }],
    },
    {
      type: firstAutoscalers,
      rest: first(store),
      table: horizontalPodAutoscalerV1Table,
      otherVersions: [V2],
      storedKind: V2,
      subresources: [{ name: 'status', kind: V1, rest: first(status) }],
    },
  ];
}
