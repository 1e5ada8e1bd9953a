// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** A reference to an object in the same namespace. */
export interface CrossVersionObjectReference {
  /** The kind of object that it is, in CamelCase. */
  kind: string;
  /** The name of the object. */
  name: string;
  /** APIVersion defines the API group and version that the object is written in, such as v1 or apps/v1. */
  apiVersion?: string;
}

/** The target of the scaling and its bounds. */
export interface HorizontalPodAutoscalerSpec {
  /** The object that is scaled. */
  scaleTargetRef: CrossVersionObjectReference;
  /** The lower bound of the number of pods. Default: 1. */
  minReplicas?: number;
  /** The upper bound of the number of pods. */
  maxReplicas: number;
  /** The target of the average CPU utilization, as a percentage of the requested CPU. */
  targetCPUUtilizationPercentage?: number;
}

/** The observed state of an autoscaler. */
export interface HorizontalPodAutoscalerStatus {
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** When the number of pods was last changed. */
  lastScaleTime?: string;
  /** The number of pods at the last look. */
  currentReplicas: number;
  /** The number of pods that the autoscaler last asked for. */
  desiredReplicas: number;
  /** The average CPU utilization, as a percentage of the requested CPU. */
  currentCPUUtilizationPercentage?: number;
}

/** Scales a workload by CPU utilization. */
export interface HorizontalPodAutoscaler extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: HorizontalPodAutoscalerSpec;
  /** The observed state. */
  status: HorizontalPodAutoscalerStatus;
}

/** A list of HorizontalPodAutoscaler objects. */
export interface HorizontalPodAutoscalerList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: HorizontalPodAutoscaler[];
}

/** The number of pods of a workload. */
export interface Scale extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ScaleSpec;
  /** The observed state. */
  status: ScaleStatus;
}

/** The desired number of pods. */
export interface ScaleSpec {
  /** The number of pods. */
  replicas?: number;
}

/** The observed number of pods. */
export interface ScaleStatus {
  /** The number of pods. */
  replicas: number;
  /** The label selector of the pods, as text. */
  selector?: string;
}

export type MetricSourceType = 'Object' | 'Pods' | 'Resource' | 'ContainerResource' | 'External';

/** A metric and its target. */
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

/** A metric of one object. */
export interface ObjectMetricSource {
  /** The object. */
  target: CrossVersionObjectReference;
  /** The name of the metric. */
  metricName: string;
  /** The target of the metric. */
  targetValue: string;
  /** Labels that select a series. */
  selector?: meta.LabelSelector;
  /** The target of the metric divided by the number of pods. */
  averageValue?: string;
}

/** A metric of each pod. */
export interface PodsMetricSource {
  /** The name of the metric. */
  metricName: string;
  /** The target of the average. */
  targetAverageValue: string;
  /** Labels that select a series. */
  selector?: meta.LabelSelector;
}

/** A resource of the pods. */
export interface ResourceMetricSource {
  /** cpu or memory. */
  name: core.ResourceName;
  /** The target as a percentage of the requested amount. */
  targetAverageUtilization?: number;
  /** The target of the average. */
  targetAverageValue?: string;
}

/** A resource of one container. */
export interface ContainerResourceMetricSource {
  /** cpu or memory. */
  name: core.ResourceName;
  /** The target as a percentage of the requested amount. */
  targetAverageUtilization?: number;
  /** The target of the average. */
  targetAverageValue?: string;
  /** The name of the container. */
  container: string;
}

/** An external metric. */
export interface ExternalMetricSource {
  /** The name of the metric. */
  metricName: string;
  /** Labels that select a series. */
  metricSelector?: meta.LabelSelector;
  /** The target of the metric. */
  targetValue?: string;
  /** The target of the metric divided by the number of pods. */
  targetAverageValue?: string;
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

/** The last value of a metric of an object. */
export interface ObjectMetricStatus {
  /** The object. */
  target: CrossVersionObjectReference;
  /** The name of the metric. */
  metricName: string;
  /** The value. */
  currentValue: string;
  /** Labels that select a series. */
  selector?: meta.LabelSelector;
  /** The value divided by the number of pods. */
  averageValue?: string;
}

/** The last value of a metric of pods. */
export interface PodsMetricStatus {
  /** The name of the metric. */
  metricName: string;
  /** The average. */
  currentAverageValue: string;
  /** Labels that select a series. */
  selector?: meta.LabelSelector;
}

/** The last value of a resource. */
export interface ResourceMetricStatus {
  /** cpu or memory. */
  name: core.ResourceName;
  /** The average as a percentage of the requested amount. */
  currentAverageUtilization?: number;
  /** The average. */
  currentAverageValue: string;
}

/** The last value of a resource of a container. */
export interface ContainerResourceMetricStatus {
  /** cpu or memory. */
  name: core.ResourceName;
  /** The average as a percentage of the requested amount. */
  currentAverageUtilization?: number;
  /** The average. */
  currentAverageValue: string;
  /** The name of the container. */
  container: string;
}

/** The last value of an external metric. */
export interface ExternalMetricStatus {
  /** The name of the metric. */
  metricName: string;
  /** Labels that select a series. */
  metricSelector?: meta.LabelSelector;
  /** The value. */
  currentValue: string;
  /** The value divided by the number of pods. */
  currentAverageValue?: string;
}
