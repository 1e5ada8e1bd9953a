// The tables of autoscalers, in both versions.

import { fromV1 } from '#api/groups/autoscaling/v1/conversion.ts';
import type * as v1 from '#api/groups/autoscaling/v1/index.ts';
import type * as v2 from '#api/groups/autoscaling/v2/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Autoscaler = Immutable<v2.HorizontalPodAutoscaler>;
type Target = Immutable<v2.MetricTarget>;
type Current = Immutable<v2.MetricValueStatus>;

/** The number of metrics that a cell shows. Of the others it shows only the number. */
const SHOWN = 2;

export const horizontalPodAutoscalerTable: TableConvertor<Autoscaler> = {
  columns: [
    NAME,
    column('Reference', 'The scaled object.'),
    column('Targets', 'The current and the target value of each metric.'),
    column('MinPods', 'Minimum number of pods.'),
    column('MaxPods', 'Maximum number of pods.'),
    column('Replicas', 'Current number of pods.'),
    AGE,
  ],
  cells: ({ metadata, spec, status }, now) => [
    metadata.name,
    `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`,
    targets(spec.metrics ?? [], status.currentMetrics ?? []),
    spec.minReplicas === undefined ? '<unset>' : String(spec.minReplicas),
    spec.maxReplicas,
    status.currentReplicas ?? 0,
    since(metadata.creationTimestamp, now),
  ],
};

export const horizontalPodAutoscalerV1Table: TableConvertor<Immutable<v1.HorizontalPodAutoscaler>> =
  {
    columns: horizontalPodAutoscalerTable.columns,
    cells: (autoscaler, now) => horizontalPodAutoscalerTable.cells(fromV1(autoscaler), now),
  };

function targets(
  specs: readonly Immutable<v2.MetricSpec>[],
  statuses: readonly Immutable<v2.MetricStatus>[],
): string {
  if (specs.length === 0) return '<none>';
  const shown = specs.slice(0, SHOWN).map((spec, index) => oneTarget(spec, statuses[index]));
  return specs.length > SHOWN
    ? `${shown.join(', ')} + ${specs.length - SHOWN} more...`
    : shown.join(', ');
}

function oneTarget(
  spec: Immutable<v2.MetricSpec>,
  status: Immutable<v2.MetricStatus> | undefined,
): string {
  switch (spec.type) {
    case 'External':
      return spec.external === undefined
        ? ''
        : valueOrAverage(spec.external.target, status?.external?.current);
    case 'Pods':
      return `${status?.pods?.current.averageValue ?? '<unknown>'}/${spec.pods?.target.averageValue ?? ''}`;
    case 'Object':
      return spec.object === undefined
        ? ''
        : valueOrAverage(spec.object.target, status?.object?.current);
    case 'Resource':
      return spec.resource === undefined
        ? ''
        : resource(spec.resource.name, spec.resource.target, status?.resource?.current);
    case 'ContainerResource': {
      const { containerResource } = spec;
      if (containerResource === undefined) return '';
      return resource(
        containerResource.name,
        containerResource.target,
        status?.containerResource?.current,
      );
    }
    default:
      return '<unknown type>';
  }
}

function valueOrAverage(target: Target, current: Current | undefined): string {
  if (target.averageValue !== undefined)
    return `${current?.averageValue ?? '<unknown>'}/${target.averageValue} (avg)`;
  return `${current?.value ?? '<unknown>'}/${target.value ?? ''}`;
}

function resource(name: string, target: Target, current: Current | undefined): string {
  if (target.averageValue !== undefined)
    return `${name}: ${current?.averageValue ?? '<unknown>'}/${target.averageValue}`;
  const { averageUtilization: used } = current ?? {};
  const targetText =
    target.averageUtilization === undefined ? '<auto>' : `${target.averageUtilization}%`;
  return `${name}: ${used === undefined ? '<unknown>' : `${used}%`}/${targetText}`;
}
