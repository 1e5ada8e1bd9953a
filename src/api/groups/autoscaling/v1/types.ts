// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface CrossVersionObjectReference {
  kind: string;
  name: string;
  apiVersion?: string;
}

export interface HorizontalPodAutoscalerSpec {
  scaleTargetRef: CrossVersionObjectReference;
  minReplicas?: number;
  maxReplicas: number;
  targetCPUUtilizationPercentage?: number;
}

export interface HorizontalPodAutoscalerStatus {
  observedGeneration?: number;
  lastScaleTime?: string;
  currentReplicas: number;
  desiredReplicas: number;
  currentCPUUtilizationPercentage?: number;
}

export interface HorizontalPodAutoscaler extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: HorizontalPodAutoscalerSpec;
  status: HorizontalPodAutoscalerStatus;
}

export interface HorizontalPodAutoscalerList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: HorizontalPodAutoscaler[];
}

export interface Scale extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: ScaleSpec;
  status: ScaleStatus;
}

export interface ScaleSpec {
  replicas?: number;
}

export interface ScaleStatus {
  replicas: number;
  selector?: string;
}

export type MetricSourceType = 'Object' | 'Pods' | 'Resource' | 'ContainerResource' | 'External';

export interface MetricSpec {
  type: MetricSourceType;
  object?: ObjectMetricSource;
  pods?: PodsMetricSource;
  resource?: ResourceMetricSource;
  containerResource?: ContainerResourceMetricSource;
  external?: ExternalMetricSource;
}

export interface ObjectMetricSource {
  target: CrossVersionObjectReference;
  metricName: string;
  targetValue: string;
  selector?: meta.LabelSelector;
  averageValue?: string;
}

export interface PodsMetricSource {
  metricName: string;
  targetAverageValue: string;
  selector?: meta.LabelSelector;
}

export interface ResourceMetricSource {
  name: core.ResourceName;
  targetAverageUtilization?: number;
  targetAverageValue?: string;
}

export interface ContainerResourceMetricSource {
  name: core.ResourceName;
  targetAverageUtilization?: number;
  targetAverageValue?: string;
  container: string;
}

export interface ExternalMetricSource {
  metricName: string;
  metricSelector?: meta.LabelSelector;
  targetValue?: string;
  targetAverageValue?: string;
}

export interface MetricStatus {
  type: MetricSourceType;
  object?: ObjectMetricStatus;
  pods?: PodsMetricStatus;
  resource?: ResourceMetricStatus;
  containerResource?: ContainerResourceMetricStatus;
  external?: ExternalMetricStatus;
}

export type HorizontalPodAutoscalerConditionType = 'ScalingActive' | 'AbleToScale' | 'ScalingLimited' | 'ScaledToZero' | (string & {});

export interface HorizontalPodAutoscalerCondition {
  type: HorizontalPodAutoscalerConditionType;
  status: core.ConditionStatus;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

export interface ObjectMetricStatus {
  target: CrossVersionObjectReference;
  metricName: string;
  currentValue: string;
  selector?: meta.LabelSelector;
  averageValue?: string;
}

export interface PodsMetricStatus {
  metricName: string;
  currentAverageValue: string;
  selector?: meta.LabelSelector;
}

export interface ResourceMetricStatus {
  name: core.ResourceName;
  currentAverageUtilization?: number;
  currentAverageValue: string;
}

export interface ContainerResourceMetricStatus {
  name: core.ResourceName;
  currentAverageUtilization?: number;
  currentAverageValue: string;
  container: string;
}

export interface ExternalMetricStatus {
  metricName: string;
  metricSelector?: meta.LabelSelector;
  currentValue: string;
  currentAverageValue?: string;
}
