// The form of metrics in the annotations of the first version: one value instead of a target.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as v2 from '../v2/types.ts';
import type * as v1 from './types.ts';

type Spec = Immutable<v2.MetricSpec>;
type OldSpec = Immutable<v1.MetricSpec>;
type Status = Immutable<v2.MetricStatus>;
type OldStatus = Immutable<v1.MetricStatus>;
type Target = Immutable<v2.MetricTarget>;

export function specToV1({
  type,
  object,
  pods,
  resource,
  containerResource,
  external,
}: Spec): OldSpec {
  return defined({
    type: type as v1.MetricSourceType,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      targetValue: object.target.value ?? '0',
      ...defined({ selector: object.metric.selector, averageValue: object.target.averageValue }),
    },
    pods: pods && {
      metricName: pods.metric.name,
      targetAverageValue: pods.target.averageValue ?? '0',
      ...defined({ selector: pods.metric.selector }),
    },
    resource: resource && { name: resource.name, ...resourceTarget(resource.target) },
    containerResource: containerResource && {
      name: containerResource.name,
      ...resourceTarget(containerResource.target),
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      ...defined({
        metricSelector: external.metric.selector,
        targetValue: external.target.value,
        targetAverageValue: external.target.averageValue,
      }),
    },
  });
}

export function specFromV1({
  type,
  object,
  pods,
  resource,
  containerResource,
  external,
}: OldSpec): Spec {
  return defined({
    type,
    object: object && {
      describedObject: object.target,
      target:
        object.averageValue === undefined
          ? { type: 'Value', value: object.targetValue }
          : { type: 'AverageValue', value: object.targetValue, averageValue: object.averageValue },
      metric: metric(object.metricName, object.selector),
    },
    pods: pods && {
      metric: metric(pods.metricName, pods.selector),
      target: { type: 'AverageValue', averageValue: pods.targetAverageValue },
    },
    resource: resource && { name: resource.name, target: targetOf(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      target: targetOf(containerResource),
      container: containerResource.container,
    },
    external: external && {
      metric: metric(external.metricName, external.metricSelector),
      target: {
        type: external.targetValue === undefined ? 'AverageValue' : 'Value',
        ...defined({ value: external.targetValue, averageValue: external.targetAverageValue }),
      },
    },
  } satisfies Loose<Spec>) as Spec;
}

export function statusToV1({
  type,
  object,
  pods,
  resource,
  containerResource,
  external,
}: Status): OldStatus {
  return defined({
    type: type as v1.MetricSourceType,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      currentValue: object.current.value ?? '0',
      ...defined({ selector: object.metric.selector, averageValue: object.current.averageValue }),
    },
    pods: pods && {
      metricName: pods.metric.name,
      currentAverageValue: pods.current.averageValue ?? '0',
      ...defined({ selector: pods.metric.selector }),
    },
    resource: resource && { name: resource.name, ...resourceCurrent(resource.current) },
    containerResource: containerResource && {
      name: containerResource.name,
      ...resourceCurrent(containerResource.current),
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      currentValue: external.current.value ?? '0',
      ...defined({
        metricSelector: external.metric.selector,
        currentAverageValue: external.current.averageValue,
      }),
    },
  });
}

export function statusFromV1({
  type,
  object,
  pods,
  resource,
  containerResource,
  external,
}: OldStatus): Status {
  const currentOf = (source: {
    readonly currentAverageUtilization?: number;
    readonly currentAverageValue: string;
  }) =>
    defined({
      averageUtilization: source.currentAverageUtilization,
      averageValue: source.currentAverageValue,
    });
  return defined({
    type,
    object: object && {
      metric: metric(object.metricName, object.selector),
      current: { value: object.currentValue, ...defined({ averageValue: object.averageValue }) },
      describedObject: object.target,
    },
    pods: pods && {
      metric: metric(pods.metricName, pods.selector),
      current: { averageValue: pods.currentAverageValue },
    },
    resource: resource && { name: resource.name, current: currentOf(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      current: currentOf(containerResource),
      container: containerResource.container,
    },
    external: external && {
      metric: metric(external.metricName, external.metricSelector),
      current: {
        value: external.currentValue,
        ...defined({ averageValue: external.currentAverageValue }),
      },
    },
  } satisfies Loose<Status>) as Status;
}

type Loose<T> = { readonly [Key in keyof T]?: T[Key] | undefined };
type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

/** Returns the object without undefined values. */
function defined<T extends object>(object: T): Defined<T> {
  return Object.fromEntries(
    Object.entries(object).filter(([, value]) => value !== undefined),
  ) as Defined<T>;
}

function metric(
  name: string,
  selector: Immutable<v2.MetricIdentifier>['selector'],
): Immutable<v2.MetricIdentifier> {
  return { name, ...defined({ selector }) };
}

function resourceTarget({ averageUtilization, averageValue }: Target) {
  return defined({
    targetAverageUtilization: averageUtilization,
    targetAverageValue: averageValue,
  });
}

function resourceCurrent({ averageUtilization, averageValue }: Immutable<v2.MetricValueStatus>) {
  return {
    ...defined({ currentAverageUtilization: averageUtilization }),
    currentAverageValue: averageValue ?? '0',
  };
}

function targetOf({
  targetAverageUtilization,
  targetAverageValue,
}: {
  readonly targetAverageUtilization?: number;
  readonly targetAverageValue?: string;
}): Target {
  return {
    type: targetAverageUtilization === undefined ? 'AverageValue' : 'Utilization',
    ...defined({ averageValue: targetAverageValue, averageUtilization: targetAverageUtilization }),
  };
}
