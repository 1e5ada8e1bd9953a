// The table of pods. The status column tells more than the phase: what a container waits for, why it ended, whether the pod
// is on its way out.

import type * as core from '../../api/core/v1/index.ts';
import type { Immutable } from '../../api/meta/v1/index.ts';
import type { TableConvertor } from '../registry/table.ts';
import { humanDuration, since } from './age.ts';
import { AGE, column, NAME } from './columns.ts';

type Pod = Immutable<core.Pod>;
type ContainerStatus = Immutable<core.ContainerStatus>;

const COMPLETED_CONDITIONS: Readonly<Record<string, { reason: string; message: string }>> = {
  Succeeded: { reason: 'Succeeded', message: 'The pod has completed successfully.' },
  Failed: { reason: 'Failed', message: 'The pod failed.' },
};

export const podTable: TableConvertor<Pod> = {
  columns: [
    NAME,
    column('Ready', 'Containers that are ready, of all that are to run.'),
    column('Status', 'What the pod as a whole is doing, or why it is not.'),
    column('Restarts', 'How often its containers have been restarted, and when the last time.'),
    AGE,
    column('IP', 'Address of the pod.', { wide: true }),
    column('Node', 'Node that the pod runs on.', { wide: true }),
    column('Nominated Node', 'Node that room is being made on for the pod.', { wide: true }),
    column('Readiness Gates', 'Readiness gates that are fulfilled, of all.', { wide: true }),
  ],
  cells(pod, now) {
    const { status, spec } = pod;
    const { ready, total, restarts, lastRestart, text } = summarize(pod);
    const gates = spec.readinessGates ?? [];
    const fulfilled = gates.filter((gate) =>
      status.conditions?.some((condition) => condition.type === gate.conditionType && condition.status === 'True'),
    );
    return [
      pod.metadata.name,
      `${ready}/${total}`,
      text,
      restarts > 0 && lastRestart !== undefined ? `${restarts} (${humanDuration(now - lastRestart)} ago)` : String(restarts),
      since(pod.metadata.creationTimestamp, now),
      status.podIPs?.[0]?.ip ?? status.podIP ?? '<none>',
      spec.nodeName ?? '<none>',
      status.nominatedNodeName ?? '<none>',
      gates.length === 0 ? '<none>' : `${fulfilled.length}/${gates.length}`,
    ];
  },
  conditions(pod) {
    const completed = COMPLETED_CONDITIONS[pod.status.phase ?? ''];
    return completed === undefined ? [] : [{ type: 'Completed', status: 'True', ...completed }];
  },
};

interface Summary {
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** Milliseconds. */
  readonly lastRestart: number | undefined;
  readonly text: string;
}

function summarize(pod: Pod): Summary {
  const { spec, status, metadata } = pod;
  const sidecars = new Set(
    (spec.initContainers ?? []).filter((container) => container.restartPolicy === 'Always').map((container) => container.name),
  );
  const total = spec.containers.length + sidecars.size;
  let text = status.reason ?? status.phase ?? '';
  if (status.conditions?.some((condition) => condition.type === 'PodScheduled' && condition.reason === 'SchedulingGated'))
    text = 'SchedulingGated';

  let ready = 0;
  const initStatuses = status.initContainerStatuses ?? [];
  const initialization = initializing(pod, initStatuses, sidecars);
  const initRestarts = restartsOf(initStatuses);
  const sidecarStatuses = initStatuses.filter((container) => sidecars.has(container.name));
  ready += sidecarStatuses.filter((container) => container.started === true && container.ready).length;
  let restarts = initRestarts;
  if (initialization !== undefined && !isInitialized(pod)) text = initialization;
  else {
    const statuses = status.containerStatuses ?? [];
    restarts = merge(restartsOf(statuses), restartsOf(sidecarStatuses));
    let running = false;
    // The first container's word counts most, so it comes last.
    for (const container of statuses.toReversed()) {
      const reason = stateReason(container);
      if (reason !== undefined) text = reason;
      else if (container.ready && container.state?.running !== undefined) {
        running = true;
        ready++;
      }
    }
    if (text === 'Completed' && running) {
      const isReady = status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True');
      text = isReady ? 'Running' : 'NotReady';
    }
  }
  if (metadata.deletionTimestamp !== undefined) {
    const ended = status.phase === 'Succeeded' || status.phase === 'Failed';
    text = status.reason === 'NodeLost' ? 'Unknown' : ended ? text : 'Terminating';
  }
  return { ready, total, restarts: restarts.count, lastRestart: restarts.last, text };
}

function isInitialized(pod: Pod): boolean {
  return pod.status.conditions?.some((condition) => condition.type === 'Initialized' && condition.status === 'True') === true;
}

/** What the status says while init containers run; undefined when they are done. */
function initializing(pod: Pod, statuses: readonly ContainerStatus[], sidecars: ReadonlySet<string>): string | undefined {
  const total = (pod.spec.initContainers ?? []).length;
  for (const [index, container] of statuses.entries()) {
    const { terminated, waiting } = container.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecars.has(container.name) && container.started === true) continue;
    if (terminated !== undefined) return `Init:${terminatedReason(terminated)}`;
    if (waiting?.reason !== undefined && waiting.reason !== '' && waiting.reason !== 'PodInitializing')
      return `Init:${waiting.reason}`;
    return `Init:${index}/${total}`;
  }
  return undefined;
}

function stateReason(container: ContainerStatus): string | undefined {
  const { waiting, terminated } = container.state ?? {};
  if (waiting?.reason !== undefined && waiting.reason !== '') return waiting.reason;
  return terminated === undefined ? undefined : terminatedReason(terminated);
}

function terminatedReason(terminated: { readonly reason?: string; readonly signal?: number; readonly exitCode: number }): string {
  if (terminated.reason !== undefined && terminated.reason !== '') return terminated.reason;
  return (terminated.signal ?? 0) !== 0 ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`;
}

interface Restarts {
  readonly count: number;
  readonly last: number | undefined;
}

function restartsOf(statuses: readonly ContainerStatus[]): Restarts {
  return statuses
    .map((status): Restarts => {
      const finished = status.lastState?.terminated?.finishedAt;
      return { count: status.restartCount, last: finished === undefined || finished === null ? undefined : Date.parse(finished) };
    })
    .reduce(merge, { count: 0, last: undefined });
}

function merge(a: Restarts, b: Restarts): Restarts {
  const last = a.last === undefined ? b.last : b.last === undefined ? a.last : Math.max(a.last, b.last);
  return { count: a.count + b.count, last };
}
