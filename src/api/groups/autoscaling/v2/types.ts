// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface HorizontalPodAutoscaler extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: HorizontalPodAutoscalerSpec;
  status: HorizontalPodAutoscalerStatus;
}

export interface HorizontalPodAutoscalerSpec {
  scaleTargetRef: CrossVersionObjectReference;
  minReplicas?: number;
  maxReplicas: number;
  metrics?: MetricSpec[];
  behavior?: HorizontalPodAutoscalerBehavior;
}

export interface CrossVersionObjectReference {
  kind: string;
  name: string;
  apiVersion?: string;
}

export interface MetricSpec {
  type: MetricSourceType;
  object?: ObjectMetricSource;
  pods?: PodsMetricSource;
  resource?: ResourceMetricSource;
  containerResource?: ContainerResourceMetricSource;
  external?: ExternalMetricSource;
}

export interface HorizontalPodAutoscalerBehavior {
  scaleUp?: HPAScalingRules;
  scaleDown?: HPAScalingRules;
}

export type ScalingPolicySelect = 'Max' | 'Min' | 'Disabled' | (string & {});

export interface HPAScalingRules {
  stabilizationWindowSeconds?: number;
  selectPolicy?: ScalingPolicySelect;
  policies?: HPAScalingPolicy[];
  tolerance?: string;
}

export type HPAScalingPolicyType = 'Pods' | 'Percent' | (string & {});

export interface HPAScalingPolicy {
  type: HPAScalingPolicyType;
  value: number;
  periodSeconds: number;
}

export type MetricSourceType = 'Object' | 'Pods' | 'Resource' | 'ContainerResource' | 'External' | (string & {});

export interface ObjectMetricSource {
  describedObject: CrossVersionObjectReference;
  target: MetricTarget;
  metric: MetricIdentifier;
}

export interface PodsMetricSource {
  metric: MetricIdentifier;
  target: MetricTarget;
}

export interface ResourceMetricSource {
  name: core.ResourceName;
  target: MetricTarget;
}

export interface ContainerResourceMetricSource {
  name: core.ResourceName;
  target: MetricTarget;
  container: string;
}

export interface ExternalMetricSource {
  metric: MetricIdentifier;
  target: MetricTarget;
}

export interface MetricIdentifier {
  name: string;
  selector?: meta.LabelSelector;
}

export interface MetricTarget {
  type: MetricTargetType;
  value?: string;
  averageValue?: string;
  averageUtilization?: number;
}

export type MetricTargetType = 'Utilization' | 'Value' | 'AverageValue' | (string & {});

export interface HorizontalPodAutoscalerStatus {
  observedGeneration?: number;
  lastScaleTime?: string;
  currentReplicas?: number;
  desiredReplicas: number;
  currentMetrics: MetricStatus[] | null;
  conditions?: HorizontalPodAutoscalerCondition[];
}

export type HorizontalPodAutoscalerConditionType = 'ScalingActive' | 'AbleToScale' | 'ScalingLimited' | 'ScaledToZero' | (string & {});

export interface HorizontalPodAutoscalerCondition {
  type: HorizontalPodAutoscalerConditionType;
  status: core.ConditionStatus;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

export interface MetricStatus {
  type: MetricSourceType;
  object?: ObjectMetricStatus;
  pods?: PodsMetricStatus;
  resource?: ResourceMetricStatus;
  containerResource?: ContainerResourceMetricStatus;
  external?: ExternalMetricStatus;
}

export interface ObjectMetricStatus {
  metric: MetricIdentifier;
  current: MetricValueStatus;
  describedObject: CrossVersionObjectReference;
}

export interface PodsMetricStatus {
  metric: MetricIdentifier;
  current: MetricValueStatus;
}

export interface ResourceMetricStatus {
  name: core.ResourceName;
  current: MetricValueStatus;
}

export interface ContainerResourceMetricStatus {
  name: core.ResourceName;
  current: MetricValueStatus;
  container: string;
}

export interface ExternalMetricStatus {
  metric: MetricIdentifier;
  current: MetricValueStatus;
}

export interface MetricValueStatus {
  value?: string;
  averageValue?: string;
  averageUtilization?: number;
}

export interface HorizontalPodAutoscalerList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: HorizontalPodAutoscaler[];
}
