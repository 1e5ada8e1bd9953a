// The pods of a job: their indexes, their creation, and their outcome.

import type {
  Job,
  PodFailurePolicyAction,
  PodFailurePolicyRule,
} from '#api/groups/batch/v1/index.ts';
import type { Container, Pod, PodTemplateSpec } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { parseTime } from '#machinery/text/time.ts';

type ReadJob = Immutable<Job>;
type ReadPod = Immutable<Pod>;
type Template = Immutable<PodTemplateSpec>;

/** Keeps a pod until the job controller has counted it. */
export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking';
const COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index';
export const INDEX_FAILURE_COUNT = 'batch.kubernetes.io/job-index-failure-count';
export const INDEX_IGNORED_FAILURE_COUNT = 'batch.kubernetes.io/job-index-ignored-failure-count';
const COMPLETION_INDEX_ENV = 'JOB_COMPLETION_INDEX';

export const isIndexed = ({ spec }: ReadJob): boolean => spec.completionMode === 'Indexed';
export const parallelismOf = ({ spec }: ReadJob): number => spec.parallelism ?? 1;
export const hasFinalizer = ({ metadata }: ReadPod): boolean =>
  (metadata.finalizers ?? []).includes(TRACKING_FINALIZER);

/** Reports whether only failed pods are replaced, not terminating ones. */
export function replacesOnlyFailed({ spec }: ReadJob): boolean {
  return (
    spec.podReplacementPolicy === 'Failed' ||
    (spec.podReplacementPolicy === undefined && spec.podFailurePolicy !== undefined)
  );
}

/** Returns the pod's completion index; undefined if the pod does not belong to an indexed job. */
export function indexOf(pod: ReadPod): number | undefined {
  const text = pod.metadata.annotations?.[COMPLETION_INDEX];
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

export function annotatedCount(pod: ReadPod, name: string): number {
  const text = pod.metadata.annotations?.[name] ?? '0';
  return /^\d{1,10}$/.test(text) ? Number(text) : 0;
}

export const hasSucceeded = ({ status }: ReadPod): boolean => status.phase === 'Succeeded';

/**
 * Reports whether the pod has failed. A terminating pod counts as failed, unless the job waits for
 * its end.
 */
export function hasFailed(pod: ReadPod, job: ReadJob): boolean {
  if (pod.status.phase === 'Failed') return true;
  if (replacesOnlyFailed(job)) return false;
  return pod.metadata.deletionTimestamp !== undefined && pod.status.phase !== 'Succeeded';
}

/**
 * Returns when the pod ended, in milliseconds since the epoch: when its last container ended, or
 * the best approximation.
 */
export function endedAt(pod: ReadPod): number {
  const times = (pod.status.containerStatuses ?? []).flatMap(
    ({ state }) => parseTime(state?.terminated?.finishedAt) ?? [],
  );
  if (times.length > 0) return Math.max(...times);
  const ready = pod.status.conditions?.find(({ type }) => type === 'Ready');
  const { deletionTimestamp, creationTimestamp } = pod.metadata;
  return (
    parseTime(ready?.lastTransitionTime) ??
    parseTime(deletionTimestamp) ??
    parseTime(creationTimestamp) ??
    0
  );
}

/** Returns the template of the job's pods, with the tracking finalizer and the index. */
export function templateFor(
  { metadata, spec }: ReadJob,
  index: number | undefined,
  failures: { readonly counted: number; readonly ignored: number },
): Template {
  const { template } = spec;
  const { finalizers = [] } = template.metadata;
  const tracked: Template = {
    ...template,
    metadata: { ...template.metadata, finalizers: [...finalizers, TRACKING_FINALIZER] },
  };
  if (index === undefined) return tracked;
  const text = String(index);
  const annotations = {
    ...template.metadata.annotations,
    [COMPLETION_INDEX]: text,
    ...(spec.backoffLimitPerIndex !== undefined && {
      [INDEX_FAILURE_COUNT]: String(failures.counted),
    }),
    ...(spec.backoffLimitPerIndex !== undefined &&
      failures.ignored > 0 && { [INDEX_IGNORED_FAILURE_COUNT]: String(failures.ignored) }),
  };
  const { initContainers } = template.spec;
  return {
    ...tracked,
    metadata: {
      ...tracked.metadata,
      annotations,
      labels: { ...template.metadata.labels, [COMPLETION_INDEX]: text },
    },
    spec: {
      ...template.spec,
      hostname: `${metadata.name}-${text}`,
      containers: template.spec.containers.map(withIndex),
      ...(initContainers !== undefined && { initContainers: initContainers.map(withIndex) }),
    },
  };
}

function withIndex(container: Immutable<Container>): Immutable<Container> {
  const { env = [] } = container;
  if (env.some(({ name }) => name === COMPLETION_INDEX_ENV)) return container;
  const fieldPath = `metadata.labels['${COMPLETION_INDEX}']`;
  return {
    ...container,
    env: [
      ...env,
      { name: COMPLETION_INDEX_ENV, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } },
    ],
  };
}

export interface FailureVerdict {
  readonly action: PodFailurePolicyAction;
  /** The reason, for the job's condition. */
  readonly message: string;
}

/**
 * Returns the action of the policy for a failed pod. The first matching rule decides. Without one,
 * the failure is counted.
 */
export function judgeFailure({ spec }: ReadJob, pod: ReadPod): FailureVerdict {
  const { namespace = '', name } = pod.metadata;
  const what = `pod ${namespace}/${name}`;
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const why = matchOf(rule, pod);
    if (why !== undefined) {
      return {
        action: rule.action,
        message: `${why.replace('POD', what)} matching ${rule.action} rule at index ${index}`,
      };
    }
  }
  return { action: 'Count', message: '' };
}

/**
 * Returns a description of the match of a rule, for the message; undefined if the rule does not
 * match.
 */
function matchOf(
  { onExitCodes, onPodConditions }: Immutable<PodFailurePolicyRule>,
  pod: ReadPod,
): string | undefined {
  if (onExitCodes !== undefined) {
    const { containerName, operator, values } = onExitCodes;
    const statuses = [
      ...(pod.status.containerStatuses ?? []),
      ...(pod.status.initContainerStatuses ?? []),
    ];
    for (const { name, state } of statuses) {
      const exitCode = state?.terminated?.exitCode ?? 0;
      if ((containerName !== undefined && containerName !== name) || exitCode === 0) continue;
      if (values.includes(exitCode) === (operator === 'In'))
        return `Container ${name} for POD failed with exit code ${exitCode}`;
    }
    return undefined;
  }
  for (const { type, status } of onPodConditions ?? []) {
    if (
      pod.status.conditions?.some(
        (condition) => condition.type === type && condition.status === status,
      )
    ) {
      return `Pod POD has condition ${type}`.replace('Pod POD', 'POD');
    }
  }
  return undefined;
}
