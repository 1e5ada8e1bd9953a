// The resource horizontalpodautoscalers in two versions. Objects are stored in the second one,
// whose rules also apply to the first.

import { conversions, fromV1, toV1 } from '#api/groups/autoscaling/v1/conversion.ts';
import { horizontalPodAutoscalers as firstAutoscalers } from '#api/groups/autoscaling/v1/index.ts';
import type * as v1 from '#api/groups/autoscaling/v1/index.ts';
import { horizontalPodAutoscalers } from '#api/groups/autoscaling/v2/index.ts';
import type * as v2 from '#api/groups/autoscaling/v2/index.ts';
import {
  validateHorizontalPodAutoscaler,
  validateHorizontalPodAutoscalerStatus,
} from '#api/groups/autoscaling/v2/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import { pathSegmentName } from '#api/machinery/meta/v1/object-meta-validation.ts';
import { functionConverter } from '#apiserver/registry/object-converter.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { horizontalPodAutoscalerTable, horizontalPodAutoscalerV1Table } from './table.ts';

type Autoscaler = Immutable<v2.HorizontalPodAutoscaler>;
type FirstAutoscaler = Immutable<v1.HorizontalPodAutoscaler>;

const NO_STATUS: Autoscaler['status'] = { desiredReplicas: 0, currentMetrics: null };
const names = { pathSegmentProblems: (name: string) => pathSegmentName(name, false) };

const horizontalPodAutoscalerStrategy: ResourceStrategy<Autoscaler> = {
  prepareForCreate: (autoscaler) => ({ ...autoscaler, status: NO_STATUS }),
  validate: (autoscaler) => validateHorizontalPodAutoscaler(autoscaler, undefined, names),
  prepareForUpdate: (autoscaler, old) => ({ ...autoscaler, status: old.status }),
  validateUpdate: (autoscaler, old) => validateHorizontalPodAutoscaler(autoscaler, old, names),
};

const horizontalPodAutoscalerStatusStrategy: SubresourceStrategy<Autoscaler> = {
  prepareForUpdate: (autoscaler, old) => ({ ...autoscaler, spec: old.spec }),
  validateUpdate: (autoscaler) => validateHorizontalPodAutoscalerStatus(autoscaler),
};

const inSecond = (autoscaler: FirstAutoscaler): Autoscaler => ({
  kind: 'HorizontalPodAutoscaler',
  apiVersion: 'autoscaling/v2',
  ...fromV1(autoscaler),
});
const inFirst = (autoscaler: Autoscaler): FirstAutoscaler => ({
  kind: 'HorizontalPodAutoscaler',
  apiVersion: 'autoscaling/v1',
  ...toV1(autoscaler),
});

/** Converts in each hook: the first version has parts of spec and status in annotations. */
const firstStrategy: ResourceStrategy<FirstAutoscaler> = {
  prepareForCreate: (autoscaler) => inFirst({ ...inSecond(autoscaler), status: NO_STATUS }),
  validate: (autoscaler, context) =>
    horizontalPodAutoscalerStrategy.validate(inSecond(autoscaler), context),
  prepareForUpdate: (autoscaler, old) =>
    inFirst({ ...inSecond(autoscaler), status: inSecond(old).status }),
  validateUpdate: (autoscaler, old, context) =>
    horizontalPodAutoscalerStrategy.validateUpdate(inSecond(autoscaler), inSecond(old), context),
};

const firstStatusStrategy: SubresourceStrategy<FirstAutoscaler> = {
  prepareForUpdate: (autoscaler, old) =>
    inFirst({ ...inSecond(autoscaler), spec: inSecond(old).spec }),
  validateUpdate: (autoscaler) => validateHorizontalPodAutoscalerStatus(inSecond(autoscaler)),
};

const converter = functionConverter(conversions);

export const horizontalPodAutoscalerKind = defineKind<Autoscaler>({
  type: horizontalPodAutoscalers,
  converter,
  otherVersions: [firstAutoscalers],
  strategy: horizontalPodAutoscalerStrategy,
  table: horizontalPodAutoscalerTable,
  subresources: { status: { strategy: horizontalPodAutoscalerStatusStrategy } },
});

export const horizontalPodAutoscalerV1Kind = defineKind<FirstAutoscaler>({
  type: firstAutoscalers,
  storedType: horizontalPodAutoscalers,
  converter,
  otherVersions: [horizontalPodAutoscalers],
  strategy: firstStrategy,
  table: horizontalPodAutoscalerV1Table,
  // As in upstream, without the annotations for fields that the version lacks.
  metadataOf: (autoscaler) => inSecond(autoscaler).metadata,
  subresources: { status: { strategy: firstStatusStrategy } },
});
