// Every type of autoscaling/v1: the only list of their fields. `npm run generate` makes types.ts
// and index.ts from it.

import {
  atomicMessage,
  defaults,
  f,
  groupVersion,
  kind,
  openEnum,
  message,
  oneOf,
  required,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('autoscaling', 'v1', 'io.k8s.api.autoscaling.v1', {
  CrossVersionObjectReference: atomicMessage(() => [
    f('kind', 1, 'string'),
    f('name', 2, 'string'),
    f('apiVersion?', 3, 'string'),
  ]),
  HorizontalPodAutoscalerSpec: message(() => [
    f('scaleTargetRef', 1, 'CrossVersionObjectReference'),
    f('minReplicas?', 2, '*int32'),
    f('maxReplicas', 3, 'int32'),
    f('targetCPUUtilizationPercentage?', 4, '*int32'),
  ]),
  HorizontalPodAutoscalerStatus: message(() => [
    f('observedGeneration?', 1, '*int64'),
    f('lastScaleTime?', 2, '*time'),
    f('currentReplicas', 3, 'int32'),
    f('desiredReplicas', 4, 'int32'),
    f('currentCPUUtilizationPercentage?', 5, '*int32'),
  ]),
  HorizontalPodAutoscaler: resource(
    {
      resource: 'horizontalpodautoscalers',
      scope: 'Namespaced',
      shortNames: ['hpa'],
      categories: ['all'],
      subresources: ['status'],
    },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('spec?', 2, 'HorizontalPodAutoscalerSpec', required),
      f('status?', 3, 'HorizontalPodAutoscalerStatus'),
    ],
  ),
  HorizontalPodAutoscalerList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]HorizontalPodAutoscaler'),
  ]),
  Scale: kind(() => [
    f('metadata?', 1, 'meta/v1.ObjectMeta'),
    f('spec?', 2, 'ScaleSpec'),
    f('status?', 3, 'ScaleStatus'),
  ]),
  ScaleSpec: message(() => [f('replicas?', 1, 'int32', defaults(0))]),
  ScaleStatus: message(() => [f('replicas', 1, 'int32'), f('selector?', 2, 'string')]),
  MetricSourceType: oneOf('Object', 'Pods', 'Resource', 'ContainerResource', 'External'),
  MetricSpec: message(() => [
    f('type', 1, 'MetricSourceType'),
    f('object?', 2, '*ObjectMetricSource'),
    f('pods?', 3, '*PodsMetricSource'),
    f('resource?', 4, '*ResourceMetricSource'),
    f('containerResource?', 7, '*ContainerResourceMetricSource'),
    f('external?', 5, '*ExternalMetricSource'),
  ]),
  ObjectMetricSource: message(() => [
    f('target', 1, 'CrossVersionObjectReference'),
    f('metricName', 2, 'string'),
    f('targetValue', 3, 'quantity'),
    f('selector?', 4, '*meta/v1.LabelSelector'),
    f('averageValue?', 5, '*quantity'),
  ]),
  PodsMetricSource: message(() => [
    f('metricName', 1, 'string'),
    f('targetAverageValue', 2, 'quantity'),
    f('selector?', 3, '*meta/v1.LabelSelector'),
  ]),
  ResourceMetricSource: message(() => [
    f('name', 1, 'core/v1.ResourceName'),
    f('targetAverageUtilization?', 2, '*int32'),
    f('targetAverageValue?', 3, '*quantity'),
  ]),
  ContainerResourceMetricSource: message(() => [
    f('name', 1, 'core/v1.ResourceName'),
    f('targetAverageUtilization?', 2, '*int32'),
    f('targetAverageValue?', 3, '*quantity'),
    f('container', 5, 'string'),
  ]),
  ExternalMetricSource: message(() => [
    f('metricName', 1, 'string'),
    f('metricSelector?', 2, '*meta/v1.LabelSelector'),
    f('targetValue?', 3, '*quantity'),
    f('targetAverageValue?', 4, '*quantity'),
  ]),
  MetricStatus: message(() => [
    f('type', 1, 'MetricSourceType'),
    f('object?', 2, '*ObjectMetricStatus'),
    f('pods?', 3, '*PodsMetricStatus'),
    f('resource?', 4, '*ResourceMetricStatus'),
    f('containerResource?', 7, '*ContainerResourceMetricStatus'),
    f('external?', 5, '*ExternalMetricStatus'),
  ]),
  HorizontalPodAutoscalerConditionType: openEnum(
    'ScalingActive',
    'AbleToScale',
    'ScalingLimited',
    'ScaledToZero',
  ),
  HorizontalPodAutoscalerCondition: message(() => [
    f('type', 1, 'HorizontalPodAutoscalerConditionType'),
    f('status', 2, 'core/v1.ConditionStatus'),
    f('lastTransitionTime?', 3, 'time'),
    f('reason?', 4, 'string'),
    f('message?', 5, 'string'),
  ]),
  ObjectMetricStatus: message(() => [
    f('target', 1, 'CrossVersionObjectReference'),
    f('metricName', 2, 'string'),
    f('currentValue', 3, 'quantity'),
    f('selector?', 4, '*meta/v1.LabelSelector'),
    f('averageValue?', 5, '*quantity'),
  ]),
  PodsMetricStatus: message(() => [
    f('metricName', 1, 'string'),
    f('currentAverageValue', 2, 'quantity'),
    f('selector?', 3, '*meta/v1.LabelSelector'),
  ]),
  ResourceMetricStatus: message(() => [
    f('name', 1, 'core/v1.ResourceName'),
    f('currentAverageUtilization?', 2, '*int32'),
    f('currentAverageValue', 3, 'quantity'),
  ]),
  ContainerResourceMetricStatus: message(() => [
    f('name', 1, 'core/v1.ResourceName'),
    f('currentAverageUtilization?', 2, '*int32'),
    f('currentAverageValue', 3, 'quantity'),
    f('container', 4, 'string'),
  ]),
  ExternalMetricStatus: message(() => [
    f('metricName', 1, 'string'),
    f('metricSelector?', 2, '*meta/v1.LabelSelector'),
    f('currentValue', 3, 'quantity'),
    f('currentAverageValue?', 4, '*quantity'),
  ]),
});
