// Every type of autoscaling/v2: the only list of their fields. `npm run generate` makes types.ts
// and index.ts from it.

import {
  atomic,
  f,
  groupVersion,
  kind,
  openEnum,
  mapList,
  merge,
  message,
  optional,
  required,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('autoscaling', 'v2', 'io.k8s.api.autoscaling.v2', {
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
  HorizontalPodAutoscalerSpec: message(() => [
    f('scaleTargetRef', 1, 'CrossVersionObjectReference'),
    f('minReplicas?', 2, '*int32'),
    f('maxReplicas', 3, 'int32'),
    f('metrics?', 4, '[]MetricSpec', atomic),
    f('behavior?', 5, '*HorizontalPodAutoscalerBehavior'),
  ]),
  CrossVersionObjectReference: message(() => [
    f('kind', 1, 'string'),
    f('name', 2, 'string'),
    f('apiVersion?', 3, 'string'),
  ]),
  MetricSpec: message(() => [
    f('type', 1, 'MetricSourceType'),
    f('object?', 2, '*ObjectMetricSource'),
    f('pods?', 3, '*PodsMetricSource'),
    f('resource?', 4, '*ResourceMetricSource'),
    f('containerResource?', 7, '*ContainerResourceMetricSource'),
    f('external?', 5, '*ExternalMetricSource'),
  ]),
  HorizontalPodAutoscalerBehavior: message(() => [
    f('scaleUp?', 1, '*HPAScalingRules'),
    f('scaleDown?', 2, '*HPAScalingRules'),
  ]),
  ScalingPolicySelect: openEnum('Max', 'Min', 'Disabled'),
  HPAScalingRules: message(() => [
    f('stabilizationWindowSeconds?', 3, '*int32'),
    f('selectPolicy?', 1, '*ScalingPolicySelect'),
    f('policies?', 2, '[]HPAScalingPolicy', atomic),
    f('tolerance?', 4, '*quantity'),
  ]),
  HPAScalingPolicyType: openEnum('Pods', 'Percent'),
  HPAScalingPolicy: message(() => [
    f('type', 1, 'HPAScalingPolicyType'),
    f('value', 2, 'int32'),
    f('periodSeconds', 3, 'int32'),
  ]),
  MetricSourceType: openEnum('Object', 'Pods', 'Resource', 'ContainerResource', 'External'),
  ObjectMetricSource: message(() => [
    f('describedObject', 1, 'CrossVersionObjectReference'),
    f('target', 2, 'MetricTarget'),
    f('metric', 3, 'MetricIdentifier'),
  ]),
  PodsMetricSource: message(() => [
    f('metric', 1, 'MetricIdentifier'),
    f('target', 2, 'MetricTarget'),
  ]),
  ResourceMetricSource: message(() => [
    f('name', 1, 'core/v1.ResourceName'),
    f('target', 2, 'MetricTarget'),
  ]),
  ContainerResourceMetricSource: message(() => [
    f('name', 1, 'core/v1.ResourceName'),
    f('target', 2, 'MetricTarget'),
    f('container', 3, 'string'),
  ]),
  ExternalMetricSource: message(() => [
    f('metric', 1, 'MetricIdentifier'),
    f('target', 2, 'MetricTarget'),
  ]),
  MetricIdentifier: message(() => [
    f('name', 1, 'string'),
    f('selector?', 2, '*meta/v1.LabelSelector'),
  ]),
  MetricTarget: message(() => [
    f('type', 1, 'MetricTargetType'),
    f('value?', 2, '*quantity'),
    f('averageValue?', 3, '*quantity'),
    f('averageUtilization?', 4, '*int32'),
  ]),
  MetricTargetType: openEnum('Utilization', 'Value', 'AverageValue'),
  HorizontalPodAutoscalerStatus: message(() => [
    f('observedGeneration?', 1, '*int64'),
    f('lastScaleTime?', 2, '*time'),
    f('currentReplicas?', 3, 'int32'),
    f('desiredReplicas', 4, 'int32'),
    f('currentMetrics', 5, '[]MetricStatus', optional, atomic),
    f('conditions?', 6, '[]HorizontalPodAutoscalerCondition', mapList('type'), merge('type')),
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
  MetricStatus: message(() => [
    f('type', 1, 'MetricSourceType'),
    f('object?', 2, '*ObjectMetricStatus'),
    f('pods?', 3, '*PodsMetricStatus'),
    f('resource?', 4, '*ResourceMetricStatus'),
    f('containerResource?', 7, '*ContainerResourceMetricStatus'),
    f('external?', 5, '*ExternalMetricStatus'),
  ]),
  ObjectMetricStatus: message(() => [
    f('metric', 1, 'MetricIdentifier'),
    f('current', 2, 'MetricValueStatus'),
    f('describedObject', 3, 'CrossVersionObjectReference'),
  ]),
  PodsMetricStatus: message(() => [
    f('metric', 1, 'MetricIdentifier'),
    f('current', 2, 'MetricValueStatus'),
  ]),
  ResourceMetricStatus: message(() => [
    f('name', 1, 'core/v1.ResourceName'),
    f('current', 2, 'MetricValueStatus'),
  ]),
  ContainerResourceMetricStatus: message(() => [
    f('name', 1, 'core/v1.ResourceName'),
    f('current', 2, 'MetricValueStatus'),
    f('container', 3, 'string'),
  ]),
  ExternalMetricStatus: message(() => [
    f('metric', 1, 'MetricIdentifier'),
    f('current', 2, 'MetricValueStatus'),
  ]),
  MetricValueStatus: message(() => [
    f('value?', 1, '*quantity'),
    f('averageValue?', 2, '*quantity'),
    f('averageUtilization?', 3, '*int32'),
  ]),
  HorizontalPodAutoscalerList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]HorizontalPodAutoscaler'),
  ]),
});
