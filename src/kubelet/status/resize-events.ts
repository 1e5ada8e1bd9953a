// The events about resizes of a pod. They follow from the conditions that are reported one after the
// other; reasons and messages are upstream's.

import type { PendingResize } from '../allocations.ts';
import type { Container, Pod, PodCondition, PodStatus } from '../types.ts';

export interface ResizeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason:
    | 'ResizeStarted'
    | 'ResizeCompleted'
    | 'ResizeDeferred'
    | 'ResizeInfeasible'
    | 'ResizeError';
  readonly message: string;
}

type Conditions = NonNullable<PodStatus['conditions']>;

/** Returns the event of a resize that was just allocated. */
export function resizeStarted(pod: Pod): ResizeEvent {
  const message = summary('Pod resize started', pod, generationOf(pod));
  return { type: 'Normal', reason: 'ResizeStarted', message };
}

/**
 * Returns the event of a resize that has to wait; undefined if the last reported conditions have it
 * already. `wanted`: the pod with the resources of its spec.
 */
export function resizePending(
  wanted: Pod,
  { reason, message: error }: PendingResize,
  before: Conditions,
): ResizeEvent | undefined {
  const last = find(before, 'PodResizePending');
  const generation = generationOf(wanted);
  if (last?.reason === reason && (last.observedGeneration ?? 0) === generation) return undefined;
  const message = summary(`Pod resize ${reason}`, wanted, generation, error);
  return { type: 'Warning', reason: `Resize${reason}`, message };
}

/**
 * Returns the event of a change between the last reported conditions and the next ones; undefined if
 * there is none. `begun`: the generation of a resize that was allocated and is not known to be
 * complete.
 */
export function resizeProgress(
  allocated: Pod,
  before: Conditions,
  after: Conditions,
  begun: number | undefined,
): ResizeEvent | undefined {
  const last = find(before, 'PodResizeInProgress');
  const next = find(after, 'PodResizeInProgress');
  if (next === undefined) {
    if (last === undefined && begun === undefined) return undefined;
    const generation = begun ?? last?.observedGeneration ?? 0;
    const message = summary('Pod resize completed', allocated, generation);
    return { type: 'Normal', reason: 'ResizeCompleted', message };
  }
  if (next.reason !== 'Error' || (last?.reason === 'Error' && last.message === next.message))
    return undefined;
  const generation = begun ?? next.observedGeneration ?? 0;
  const message = summary('Pod resize error', allocated, generation, next.message);
  return { type: 'Warning', reason: 'ResizeError', message };
}

const find = (conditions: Conditions, type: string): PodCondition | undefined =>
  conditions.find((each) => each.type === type);

const generationOf = ({ metadata }: Pod): number => metadata.generation ?? 0;

/** Returns the text with the resources of the pod's containers, as JSON. */
function summary(what: string, { spec }: Pod, generation: number, error = ''): string {
  const all = (containers: readonly Container[] = []): object[] =>
    containers.map(({ name, resources }) => ({
      name,
      resources: {
        ...(resources.limits !== undefined && { limits: sorted(resources.limits) }),
        ...(resources.requests !== undefined && { requests: sorted(resources.requests) }),
        ...(resources.claims !== undefined && { claims: resources.claims }),
      },
    }));
  const [initContainers, containers] = [all(spec.initContainers), all(spec.containers)];
  const content = {
    ...(initContainers.length > 0 && { initContainers }),
    ...(containers.length > 0 && { containers }),
    generation,
    ...(error !== '' && { error }),
  };
  return `${what}: ${JSON.stringify(content)}`;
}

function sorted(list: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(list).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
