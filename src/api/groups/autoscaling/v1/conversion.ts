// The conversion between the two versions of autoscalers. The second has all fields. The first has
// none for metrics other than the CPU utilization, for behavior, and for conditions; annotations
// carry them, so that a round trip loses nothing.

import { allSchemas } from '#api/all-schemas.ts';
import { DecodeError, decodeObject } from '#api/machinery/codec/index.ts';
import type { Conversions } from '#api/machinery/scheme.ts';
import { isPlainObject } from '#machinery/deep.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defaultMetric } from '../v2/defaults.ts';
import type * as v2 from '../v2/types.ts';
import { specFromV1, specToV1, statusFromV1, statusToV1 } from './metrics.ts';
import type * as v1 from './types.ts';

type Old = Immutable<v1.HorizontalPodAutoscaler>;
type New = Immutable<v2.HorizontalPodAutoscaler>;
type Metric = Immutable<v2.MetricSpec>;
type Rules = Immutable<v2.HPAScalingRules>;

const METRICS = 'autoscaling.alpha.kubernetes.io/metrics';
const CURRENT_METRICS = 'autoscaling.alpha.kubernetes.io/current-metrics';
const CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions';
const BEHAVIOR = 'autoscaling.alpha.kubernetes.io/behavior';
/** Annotations of objects in the first version only. Earlier versions wrote the last two. */
const CARRIED: ReadonlySet<string> = new Set([
  METRICS,
  CURRENT_METRICS,
  CONDITIONS,
  BEHAVIOR,
  'autoscaling.alpha.kubernetes.io/scale-down-tolerance',
  'autoscaling.alpha.kubernetes.io/scale-up-tolerance',
]);

/**
 * Converts to the first version, without kind and apiVersion. Also accepts parts of an object, as
 * managed fields have them.
 */
export function toV1({ metadata, spec, status }: New): Omit<Old, 'kind' | 'apiVersion'> {
  const metrics = spec?.metrics ?? [];
  const cpu = metrics.find(isCpuUtilization);
  const others = metrics.filter((metric) => !isCpuUtilization(metric));
  const current = status?.currentMetrics ?? [];
  const { conditions = [] } = status ?? {};
  const carried = {
    ...(others.length > 0 && { [METRICS]: JSON.stringify(others.map(specToV1)) }),
    ...(current.length > 0 && { [CURRENT_METRICS]: JSON.stringify(current.map(statusToV1)) }),
    ...(conditions.length > 0 && { [CONDITIONS]: JSON.stringify(conditions) }),
    ...(spec?.behavior !== undefined && { [BEHAVIOR]: behaviorText(spec.behavior) }),
  };
  const utilization = current.find(
    ({ type, resource }) => type === 'Resource' && resource?.name === 'cpu',
  )?.resource?.current.averageUtilization;
  return part({
    metadata: metadata && withCarried(metadata, carried),
    spec:
      spec &&
      part({
        scaleTargetRef: spec.scaleTargetRef,
        minReplicas: spec.minReplicas,
        maxReplicas: spec.maxReplicas,
        targetCPUUtilizationPercentage: cpu?.resource?.target.averageUtilization,
      }),
    status:
      status &&
      part({
        observedGeneration: status.observedGeneration,
        lastScaleTime: status.lastScaleTime,
        currentReplicas: status.currentReplicas ?? 0,
        desiredReplicas: status.desiredReplicas,
        currentCPUUtilizationPercentage: utilization,
      }),
  });
}

/**
 * Converts from the first version, without kind and apiVersion. Invalid annotations are ignored.
 */
export function fromV1({ metadata, spec, status }: Old): Omit<New, 'kind' | 'apiVersion'> {
  const { annotations = {} } = metadata ?? {};
  const behavior = behaviorFrom(annotations[BEHAVIOR]);
  const current = readList<v1.MetricStatus>('MetricStatus', annotations[CURRENT_METRICS])?.map(
    statusFromV1,
  );
  const utilization = status?.currentCPUUtilizationPercentage;
  const conditions = readList<v1.HorizontalPodAutoscalerCondition>(
    'HorizontalPodAutoscalerCondition',
    annotations[CONDITIONS],
  );
  return part({
    metadata: metadata && withCarried(metadata, {}),
    spec:
      spec &&
      part({
        scaleTargetRef: spec.scaleTargetRef,
        minReplicas: spec.minReplicas,
        maxReplicas: spec.maxReplicas,
        metrics: metricsFrom(spec.targetCPUUtilizationPercentage, annotations[METRICS]),
        behavior,
      }),
    status:
      status &&
      part({
        observedGeneration: status.observedGeneration,
        lastScaleTime: status.lastScaleTime,
        currentReplicas: status.currentReplicas === 0 ? undefined : status.currentReplicas,
        desiredReplicas: status.desiredReplicas,
        currentMetrics: current ?? (utilization === undefined ? null : [cpuStatus(utilization)]),
        conditions,
      }),
  });
}

type Annotations = Readonly<Record<string, string>>;

/**
 * Replaces the carried annotations. Annotations keep their position: encoders write fields in this
 * order.
 */
function withCarried<T extends { readonly annotations?: Annotations }>(
  metadata: T,
  carried: Annotations,
): T {
  const before = Object.entries(metadata.annotations ?? {});
  const own = before.filter(([key]) => !CARRIED.has(key));
  if (own.length === before.length && Object.keys(carried).length === 0) return metadata;
  const annotations = { ...Object.fromEntries(own), ...carried };
  if (Object.keys(annotations).length > 0) return { ...metadata, annotations };
  const { annotations: _replaced, ...others } = metadata;
  return others as T;
}

function isCpuUtilization({ type, resource }: Metric): boolean {
  return (
    type === 'Resource' &&
    resource?.name === 'cpu' &&
    resource.target.averageUtilization !== undefined
  );
}

function metricsFrom(
  utilization: number | undefined,
  carried: string | undefined,
): readonly Metric[] {
  const cpu: Metric[] = [];
  if (utilization !== undefined) {
    const target = { type: 'Utilization', averageUtilization: utilization };
    cpu.push({ type: 'Resource', resource: { name: 'cpu', target } });
  }
  const others = readList<v1.MetricSpec>('MetricSpec', carried)?.map(specFromV1) ?? [];
  const all = [...others, ...cpu];
  return all.length === 0 ? [defaultMetric()] : all;
}

/**
 * Writes the annotations into the draft as the conversion to the second version and back does.
 * Upstream's server converts what it decodes, so its writer owns annotations for a status.
 */
export function setCarriedAnnotations(draft: v1.HorizontalPodAutoscaler): void {
  const { annotations } = toV1(fromV1(draft)).metadata;
  if (annotations === undefined) delete draft.metadata.annotations;
  else draft.metadata.annotations = { ...annotations };
}

/** Reports whether annotations carry metrics for which the first version has no field. */
export function carriesMetrics(annotations: Annotations | undefined): boolean {
  return (readList('MetricSpec', annotations?.[METRICS]) ?? []).length > 0;
}

function cpuStatus(averageUtilization: number): Immutable<v2.MetricStatus> {
  return { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization } } };
}

/**
 * Reads a list of objects of a type of this version. Returns undefined for any other text: users may
 * write these annotations, and nothing checks their values later.
 */
function readList<T>(type: string, text: string | undefined): readonly T[] | undefined {
  const value = readJson(text);
  if (!Array.isArray(value)) return undefined;
  const message = allSchemas.message(`autoscaling/v1.${type}`);
  try {
    return value.map((each) => decodeObject<T>(message, each).object);
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

function readJson(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the behavior for the annotation, which has all of Go's fields with Go's names. */
function behaviorText({
  scaleUp,
  scaleDown,
}: Immutable<v2.HorizontalPodAutoscalerBehavior>): string {
  const rules = (each: Rules | undefined): unknown =>
    each === undefined
      ? null
      : {
          StabilizationWindowSeconds: each.stabilizationWindowSeconds ?? null,
          SelectPolicy: each.selectPolicy ?? null,
          Policies:
            each.policies?.map(({ type, value, periodSeconds }) => ({
              Type: type,
              Value: value,
              PeriodSeconds: periodSeconds,
            })) ?? null,
          Tolerance: each.tolerance ?? null,
        };
  return JSON.stringify({ ScaleUp: rules(scaleUp), ScaleDown: rules(scaleDown) });
}

function behaviorFrom(
  text: string | undefined,
): Immutable<v2.HorizontalPodAutoscalerBehavior> | undefined {
  const value = readJson(text);
  if (!isPlainObject(value)) return undefined;
  const behavior = part({
    scaleUp: rulesFrom(value['ScaleUp']),
    scaleDown: rulesFrom(value['ScaleDown']),
  });
  return Object.keys(behavior).length === 0 ? undefined : behavior;
}

function rulesFrom(value: unknown): Rules | undefined {
  if (!isPlainObject(value)) return undefined;
  const {
    StabilizationWindowSeconds: window,
    SelectPolicy: select,
    Policies: policies,
    Tolerance: tolerance,
  } = value;
  return part({
    stabilizationWindowSeconds: typeof window === 'number' ? window : undefined,
    selectPolicy: typeof select === 'string' ? select : undefined,
    policies: Array.isArray(policies)
      ? policies.filter(isPlainObject).map((policy) => ({
          type: textOf(policy['Type']),
          value: numberOf(policy['Value']),
          periodSeconds: numberOf(policy['PeriodSeconds']),
        }))
      : undefined,
    tolerance: typeof tolerance === 'string' ? tolerance : undefined,
  });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

/** Returns the object without undefined values. */
function part<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}

/** The conversions between the two versions. */
export const conversions: Conversions = {
  'autoscaling/v1': { 'autoscaling/v2': fromV1 },
  'autoscaling/v2': { 'autoscaling/v1': toV1 },
};
