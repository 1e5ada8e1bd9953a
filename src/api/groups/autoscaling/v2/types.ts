// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** Scales a workload by metrics. */
export interface HorizontalPodAutoscaler extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: HorizontalPodAutoscalerSpec;
  /** The observed state. */
  status: HorizontalPodAutoscalerStatus;
}

/** The target of the scaling, its metrics and its bounds. */
export interface HorizontalPodAutoscalerSpec {
  /** The object that is scaled. */
  scaleTargetRef: CrossVersionObjectReference;
  /** The lower bound of the number of pods. Default: 1. */
  minReplicas?: number;
  /** The upper bound of the number of pods. */
  maxReplicas: number;
  /** The metrics. The one that asks for the most pods decides. Default: 80 % of the requested CPU. */
  metrics?: MetricSpec[];
  /** How fast the number of pods may change. */
  behavior?: HorizontalPodAutoscalerBehavior;
}

/** A reference to an object in the same namespace. */
export interface CrossVersionObjectReference {
  /** The kind of object that it is, in CamelCase. */
  kind: string;
  /** The name of the object. */
  name: string;
  /** APIVersion defines the API group and version that the object is written in, such as v1 or apps/v1. */
  apiVersion?: string;
}

/** A metric and its target. The field that the type names is set. */
export interface MetricSpec {
  /** ContainerResource, External, Object, Pods or Resource. */
  type: MetricSourceType;
  /** A metric of one object, such as requests per second of an Ingress. */
  object?: ObjectMetricSource;
  /** A metric of each pod, averaged. */
  pods?: PodsMetricSource;
  /** CPU or memory of the pods. */
  resource?: ResourceMetricSource;
  /** CPU or memory of one container of the pods. */
  containerResource?: ContainerResourceMetricSource;
  /** A metric that belongs to no object of the cluster, such as the length of a queue. */
  external?: ExternalMetricSource;
}

/** How fast the number of pods may change. */
export interface HorizontalPodAutoscalerBehavior {
  /** Rules for scaling up. Default: at most 4 pods or twice as many in 15 seconds. */
  scaleUp?: HPAScalingRules;
  /** Rules for scaling down. Default: to the minimum, after 300 seconds of stability. */
  scaleDown?: HPAScalingRules;
}

export type ScalingPolicySelect = 'Max' | 'Min' | 'Disabled' | (string & {});

/** Rules for one direction. */
export interface HPAScalingRules {
  /** For how many seconds past recommendations are considered, to avoid flapping. From 0 to 3600. */
  stabilizationWindowSeconds?: number;
  /** Which policy applies: Max, Min, or Disabled. Default: Max. */
  selectPolicy?: ScalingPolicySelect;
  /** Limits of the change. */
  policies?: HPAScalingPolicy[];
  /** The ratio by which a metric may differ from its target without a change. Default: 0.1. */
  tolerance?: string;
}

export type HPAScalingPolicyType = 'Pods' | 'Percent' | (string & {});

/** A limit of the change. */
export interface HPAScalingPolicy {
  /** Pods or Percent. */
  type: HPAScalingPolicyType;
  /** How many pods, or how much percent. */
  value: number;
  /** The time in which the change is allowed, at most 1800 seconds. */
  periodSeconds: number;
}

export type MetricSourceType = 'Object' | 'Pods' | 'Resource' | 'ContainerResource' | 'External' | (string & {});

/** A metric of one object. */
export interface ObjectMetricSource {
  /** The object. */
  describedObject: CrossVersionObjectReference;
  /** The target value. */
  target: MetricTarget;
  /** The metric. */
  metric: MetricIdentifier;
}

/** A metric of each pod. */
export interface PodsMetricSource {
  /** The metric. */
  metric: MetricIdentifier;
  /** The target of the average. */
  target: MetricTarget;
}

/** A resource of the pods. */
export interface ResourceMetricSource {
  /** cpu or memory. */
  name: core.ResourceName;
  /** The target value. */
  target: MetricTarget;
}

/** A resource of one container. */
export interface ContainerResourceMetricSource {
  /** cpu or memory. */
  name: core.ResourceName;
  /** The target value. */
  target: MetricTarget;
  /** The name of the container. */
  container: string;
}

/** An external metric. */
export interface ExternalMetricSource {
  /** The metric. */
  metric: MetricIdentifier;
  /** The target value. */
  target: MetricTarget;
}

/** The name of a metric. */
export interface MetricIdentifier {
  /** The name. */
  name: string;
  /** Labels that select one of several series of that name. */
  selector?: meta.LabelSelector;
}

/** The target of a metric. One of the values is set. */
export interface MetricTarget {
  /** Utilization, Value or AverageValue. */
  type: MetricTargetType;
  /** The target of the metric itself. */
  value?: string;
  /** The target of the metric divided by the number of pods. */
  averageValue?: string;
  /** The target as a percentage of the requested amount. For resources only. */
  averageUtilization?: number;
}

export type MetricTargetType = 'Utilization' | 'Value' | 'AverageValue' | (string & {});

/** The observed state of an autoscaler. */
export interface HorizontalPodAutoscalerStatus {
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** When the number of pods was last changed. */
  lastScaleTime?: string;
  /** The number of pods at the last look. */
  currentReplicas?: number;
  /** The number of pods that the autoscaler last asked for. */
  desiredReplicas: number;
  /** The values of the metrics at the last look. */
  currentMetrics: MetricStatus[] | null;
  /** AbleToScale, ScalingActive and ScalingLimited. */
  conditions?: HorizontalPodAutoscalerCondition[];
}

export type HorizontalPodAutoscalerConditionType = 'ScalingActive' | 'AbleToScale' | 'ScalingLimited' | 'ScaledToZero' | (string & {});

/** A condition of an autoscaler. */
export interface HorizontalPodAutoscalerCondition {
  /** The type of the condition. */
  type: HorizontalPodAutoscalerConditionType;
  /** True, False or Unknown. */
  status: core.ConditionStatus;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** The last value of a metric. */
export interface MetricStatus {
  /** ContainerResource, External, Object, Pods or Resource. */
  type: MetricSourceType;
  /** A metric of one object, such as requests per second of an Ingress. */
  object?: ObjectMetricStatus;
  /** A metric of each pod, averaged. */
  pods?: PodsMetricStatus;
  /** CPU or memory of the pods. */
  resource?: ResourceMetricStatus;
  /** CPU or memory of one container of the pods. */
  containerResource?: ContainerResourceMetricStatus;
  /** A metric that belongs to no object of the cluster, such as the length of a queue. */
  external?: ExternalMetricStatus;
}

/** The last value of a metric of an object. */
export interface ObjectMetricStatus {
  /** The metric. */
  metric: MetricIdentifier;
  /** The current value. */
  current: MetricValueStatus;
  /** The object. */
  describedObject: CrossVersionObjectReference;
}

/** The last value of a metric of pods. */
export interface PodsMetricStatus {
  /** The metric. */
  metric: MetricIdentifier;
  /** The current value. */
  current: MetricValueStatus;
}

/** The last value of a resource. */
export interface ResourceMetricStatus {
  /** cpu or memory. */
  name: core.ResourceName;
  /** The current value. */
  current: MetricValueStatus;
}

/** The last value of a resource of a container. */
export interface ContainerResourceMetricStatus {
  /** cpu or memory. */
  name: core.ResourceName;
  /** The current value. */
  current: MetricValueStatus;
  /** The name of the container. */
  container: string;
}

/** The last value of an external metric. */
export interface ExternalMetricStatus {
  /** The metric. */
  metric: MetricIdentifier;
  /** The current value. */
  current: MetricValueStatus;
}

/** The last value of a metric. */
export interface MetricValueStatus {
  /** The value. */
  value?: string;
  /** The value divided by the number of pods. */
  averageValue?: string;
  /** The value as a percentage of the requested amount. */
  averageUtilization?: number;
}

/** A list of HorizontalPodAutoscaler objects. */
export interface HorizontalPodAutoscalerList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: HorizontalPodAutoscaler[];
}
