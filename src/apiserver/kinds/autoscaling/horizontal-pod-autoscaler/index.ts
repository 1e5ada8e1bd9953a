// The resources horizontalpodautoscalers of two versions. Objects are stored in the second, and its rules are those of the first, too.

import { horizontalPodAutoscalers as firstAutoscalers } from '#api/groups/autoscaling/v1/index.ts';
import type * as v1 from '#api/groups/autoscaling/v1/index.ts';
import { fromV1, toV1 } from '#api/groups/autoscaling/v1/conversion.ts';
import { horizontalPodAutoscalers } from '#api/groups/autoscaling/v2/index.ts';
import type * as v2 from '#api/groups/autoscaling/v2/index.ts';
import { validateHorizontalPodAutoscaler, validateHorizontalPodAutoscalerStatus } from '#api/groups/autoscaling/v2/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { horizontalPodAutoscalerTable, horizontalPodAutoscalerV1Table } from '#apiserver/printers/autoscaling.ts';
import { pathSegmentName } from '#apiserver/registry/metadata-validation.ts';
import { functionConverter } from '#apiserver/registry/object-converter.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '#apiserver/kinds/services.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';

type Autoscaler = Immutable<v2.HorizontalPodAutoscaler>;
type FirstAutoscaler = Immutable<v1.HorizontalPodAutoscaler>;

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

const inSecond = (autoscaler: FirstAutoscaler): Autoscaler => ({
  kind: V2.kind,
  apiVersion: 'autoscaling/v2',
  ...fromV1(autoscaler),
});
const inFirst = (autoscaler: Autoscaler): FirstAutoscaler => ({
  kind: V1.kind,
  apiVersion: 'autoscaling/v1',
  ...toV1(autoscaler),
});

/** Hooks convert: parts of spec and status are in annotations of the first version. */
const firstStrategy: ResourceStrategy<FirstAutoscaler> = {
  prepareForCreate: (autoscaler) => inFirst({ ...inSecond(autoscaler), status: NO_STATUS }),
  validate: (autoscaler, context) => horizontalPodAutoscalerStrategy.validate(inSecond(autoscaler), context),
  prepareForUpdate: (autoscaler, old) => inFirst({ ...inSecond(autoscaler), status: inSecond(old).status }),
  validateUpdate: (autoscaler, old, context) =>
    horizontalPodAutoscalerStrategy.validateUpdate(inSecond(autoscaler), inSecond(old), context),
};

const firstStatusStrategy: SubresourceStrategy<FirstAutoscaler> = {
  prepareForUpdate: (autoscaler, old) => inFirst({ ...inSecond(autoscaler), spec: inSecond(old).spec }),
  validateUpdate: (autoscaler) => validateHorizontalPodAutoscalerStatus(inSecond(autoscaler)),
};

const converter = functionConverter({
  'autoscaling/v1': { 'autoscaling/v2': fromV1 },
  'autoscaling/v2': { 'autoscaling/v1': toV1 },
});

export function horizontalPodAutoscalerResources(services: RegistryServices): readonly Kind[] {
  const second = new ResourceStore<Autoscaler>({
    ...services,
    type: horizontalPodAutoscalers,
    strategy: horizontalPodAutoscalerStrategy,
    converter,
  });
  const first = new ResourceStore<FirstAutoscaler>({
    ...services,
    type: firstAutoscalers,
    storedType: horizontalPodAutoscalers,
    strategy: firstStrategy,
    converter,
  });
  return [
    {
      type: horizontalPodAutoscalers,
      rest: second,
      table: horizontalPodAutoscalerTable,
      otherVersions: [V1],
      subresources: [{ name: 'status', kind: V2, rest: second.view(horizontalPodAutoscalerStatusStrategy) }],
    },
    {
      type: firstAutoscalers,
      rest: first,
      table: horizontalPodAutoscalerV1Table,
      otherVersions: [V2],
      storedKind: V2,
      subresources: [{ name: 'status', kind: V1, rest: first.view(firstStatusStrategy) }],
    },
  ];
}
