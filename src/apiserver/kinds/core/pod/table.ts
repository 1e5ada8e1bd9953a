// The table of pods. The status column shows more than the phase: why a container waits or ended,
// and whether the pod is being deleted.

import type * as core from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ownValue } from '#machinery/collections/string-map.ts';
import { humanDuration } from '#machinery/text/duration.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type Pod = Immutable<core.Pod>;
type ContainerStatus = Immutable<core.ContainerStatus>;

const COMPLETED_CONDITIONS: Readonly<Record<string, { reason: string; message: string }>> = {
  Succeeded: { reason: 'Succeeded', message: 'The pod has completed successfully.' },
  Failed: { reason: 'Failed', message: 'The pod failed.' },
};

export const podTable: TableConvertor<Pod> = {
  columns: [
    NAME,
    column('Ready', 'Number of ready containers, and of all.'),
    column('Status', 'The state of the pod, or the reason why it is not running.'),
    column('Restarts', 'Number of container restarts, and the time since the last one.'),
    AGE,
    column('IP', 'Address of the pod.', { wide: true }),
    column('Node', 'Node that the pod runs on.', { wide: true }),
    column('Nominated Node', 'Node that is nominated for the pod after preemption.', {
      wide: true,
    }),
    column('Readiness Gates', 'Number of passed readiness gates, and of all.', { wide: true }),
  ],
  cells(pod, now) {
    const { status, spec } = pod;
    const { ready, total, restarts, text } = summarize(pod);
    return [
      pod.metadata.name,
      `${ready}/${total}`,
      text,
      restarts.count > 0 && restarts.last !== undefined
        ? `${restarts.count} (${humanDuration(now - restarts.last)} ago)`
        : String(restarts.count),
      since(pod.metadata.creationTimestamp, now),
      orNone(status.podIPs?.[0]?.ip ?? status.podIP),
      orNone(spec.nodeName),
      orNone(status.nominatedNodeName),
      readinessGates(pod),
    ];
  },
  conditions(pod) {
    const completed = ownValue(COMPLETED_CONDITIONS, pod.status.phase ?? '');
    return completed === undefined ? [] : [{ type: 'Completed', status: 'True', ...completed }];
  },
};

const orNone = (text: string | undefined): string =>
  text === undefined || text === '' ? '<none>' : text;

function readinessGates({ spec, status }: Pod): string {
  const gates = spec.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const fulfilled = gates.filter(({ conditionType }) => {
    return (
      status.conditions?.find((condition) => condition.type === conditionType)?.status === 'True'
    );
  });
  return `${fulfilled.length}/${gates.length}`;
}

interface Restarts {
  readonly count: number;
  /** The time of the last restart, in ms. Undefined: unknown. */
  readonly last: number | undefined;
}

/** A summary of some of a pod's containers. */
interface Part {
  readonly restarts: Restarts;
  readonly ready: number;
  /** The text for the status column; undefined: none. */
  readonly text: string | undefined;
}

interface Summary extends Part {
  readonly total: number;
  readonly text: string;
}

const NO_RESTARTS: Restarts = { count: 0, last: undefined };

function summarize(pod: Pod): Summary {
  const { spec, status } = pod;
  const sidecars = new Set(
    (spec.initContainers ?? [])
      .filter((container) => container.restartPolicy === 'Always')
      .map((container) => container.name),
  );
  const total = spec.containers.length + sidecars.size;
  const init = initContainers(pod, sidecars);
  let text = nonEmpty(status.reason) ?? status.phase ?? '';
  if (
    status.conditions?.some(
      ({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated',
    )
  ) {
    text = 'SchedulingGated';
  }
  if (init.text !== undefined) text = init.text;
  let { restarts, ready } = init;
  if (init.text === undefined || isTrue(pod, 'Initialized')) {
    const regular = regularContainers(pod, text);
    text = regular.text ?? text;
    ready += regular.ready;
    restarts = merge(init.sidecarRestarts, regular.restarts);
  }
  return { ready, total, restarts, text: withDeletion(pod, text) };
}

function withDeletion({ metadata, status }: Pod, text: string): string {
  if (metadata.deletionTimestamp === undefined || metadata.deletionTimestamp === null) return text;
  if (status.reason === 'NodeLost') return 'Unknown';
  return status.phase === 'Succeeded' || status.phase === 'Failed' ? text : 'Terminating';
}

/**
 * Summarizes init containers and sidecars up to the first one that blocks the others, whose state
 * is the text.
 */
function initContainers(
  pod: Pod,
  sidecars: ReadonlySet<string>,
): Part & { readonly sidecarRestarts: Restarts } {
  let restarts = NO_RESTARTS;
  let sidecarRestarts = NO_RESTARTS;
  let ready = 0;
  for (const [index, container] of (pod.status.initContainerStatuses ?? []).entries()) {
    const isSidecar = sidecars.has(container.name);
    restarts = merge(restarts, restartsOf(container));
    if (isSidecar) sidecarRestarts = merge(sidecarRestarts, restartsOf(container));
    const { terminated, waiting } = container.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (isSidecar && container.started === true) {
      if (container.ready) ready++;
      continue;
    }
    const waitsFor = nonEmpty(waiting?.reason);
    let text = `${index}/${pod.spec.initContainers?.length ?? 0}`;
    if (terminated !== undefined) text = terminatedReason(terminated);
    else if (waitsFor !== undefined && waitsFor !== 'PodInitializing') text = waitsFor;
    return { restarts, sidecarRestarts, ready, text: `Init:${text}` };
  }
  return { restarts, sidecarRestarts, ready, text: undefined };
}

/**
 * Summarizes the containers. The first container with a text overrides the others, so the loop runs
 * backwards. `before`: the text if no container has one.
 */
function regularContainers(pod: Pod, before: string): Part {
  let restarts = NO_RESTARTS;
  let text = before;
  let ready = 0;
  for (const container of (pod.status.containerStatuses ?? []).toReversed()) {
    restarts = merge(restarts, restartsOf(container));
    const { waiting, terminated, running } = container.state ?? {};
    const waitsFor = nonEmpty(waiting?.reason);
    if (waitsFor !== undefined) text = waitsFor;
    else if (terminated !== undefined) text = terminatedReason(terminated);
    else if (container.ready && running !== undefined) ready++;
  }
  // A container has completed, but others are still running.
  if (text === 'Completed' && ready > 0) text = isTrue(pod, 'Ready') ? 'Running' : 'NotReady';
  return { restarts, ready, text };
}

function isTrue(pod: Pod, conditionType: string): boolean {
  return (
    pod.status.conditions?.some(
      ({ type, status }) => type === conditionType && status === 'True',
    ) === true
  );
}

function terminatedReason({
  reason,
  signal = 0,
  exitCode,
}: Immutable<core.ContainerStateTerminated>): string {
  return nonEmpty(reason) ?? (signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`);
}

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

function restartsOf({ restartCount, lastState }: ContainerStatus): Restarts {
  const finished = lastState?.terminated?.finishedAt;
  return {
    count: restartCount,
    last: finished === undefined || finished === null ? undefined : Date.parse(finished),
  };
}

function merge(a: Restarts, b: Restarts): Restarts {
  const last =
    a.last === undefined ? b.last : b.last === undefined ? a.last : Math.max(a.last, b.last);
  return { count: a.count + b.count, last };
}
