// Generates a pod's API status from its spec, its state in the runtime, its probe results, and the
// previous status.

import { oneOfEachFamily, sortPodIPs } from '../pod/pod-ips.ts';
import { podSandboxChanged } from '../pod/pod-progress.ts';
import { mayRestartAllContainers, shouldRestartAllContainers } from '../pod/restart-policy.ts';
import {
  podIPs,
  findContainer,
  type RuntimePodStatus,
  type StartFailure,
} from '../pod/pod-status.ts';
import type { ContainerStatus, Pod, PodStatus } from '../types.ts';
import { ALL_CONTAINERS_RESTARTING, generateConditions } from './conditions.ts';
import { convertContainerStatuses, type ContainerStatusInput } from './container-statuses.ts';
import { resizeConditions, type ResizeState } from './resize-conditions.ts';
import { getPhase, isTerminal, type PodPhase } from './phase.ts';
import { podResources } from './pod-resources.ts';

/** The results of container probes, from the probe manager. */
export interface ProbeStatusSource {
  /** Returns `status` with `started` and `ready` by the probes. */
  withProbeResults(pod: Pod, status: ContainerStatus, init: boolean): ContainerStatus;
}

export interface GenerateStatusInput {
  readonly pod: Pod;
  readonly runtimeStatus: RuntimePodStatus;
  /** The last reported status, or the API's. */
  readonly previous: PodStatus;
  readonly runtimeName: string;
  readonly startFailure: (containerName: string) => StartFailure | undefined;
  readonly probes: ProbeStatusSource;
  /** The node's addresses, the primary one first; at most one per family is used. */
  readonly hostIPs: readonly string[];
  readonly qosClass: PodStatus['qosClass'];
  /** No container of the pod will be started again. */
  readonly ended: boolean;
  readonly actualResources?: ContainerStatusInput['actualResources'];
  readonly resize?: ResizeState;
  /** Whether the pod's runtime handler makes mounts below a mount read-only, if that is known. */
  readonly recursiveReadOnly?: boolean;
  /** Adds the health of a regular container's devices to its status. */
  readonly withDeviceHealth?: (pod: Pod, status: ContainerStatus) => ContainerStatus;
}

export function generatePodStatus(input: GenerateStatusInput): PodStatus {
  const { pod, runtimeStatus, previous } = input;
  const restartingAll =
    shouldRestartAllContainers(pod, runtimeStatus) ||
    (previous.conditions ?? []).some(
      ({ type, status }) => type === ALL_CONTAINERS_RESTARTING && status === 'True',
    );
  const convert = (
    kind: 'regular' | 'init',
    containers: Pod['spec']['containers'],
    old: readonly ContainerStatus[],
  ) =>
    convertContainerStatuses({ ...input, restartingAll }, kind, containers, old).map((status) =>
      input.probes.withProbeResults(pod, status, kind === 'init'),
    );
  const containerStatuses = convert(
    'regular',
    pod.spec.containers,
    previous.containerStatuses ?? [],
  ).map((status) => input.withDeviceHealth?.(pod, status) ?? status);
  const initContainerStatuses = convert(
    'init',
    pod.spec.initContainers ?? [],
    previous.initContainerStatuses ?? [],
  );
  const ephemeral = pod.spec.ephemeralContainers ?? [];
  const ephemeralStatuses = convertContainerStatuses(
    input,
    'ephemeral',
    ephemeral,
    previous.ephemeralContainerStatuses ?? [],
  );

  const started = pod.spec.containers.some((container) => {
    const state = findContainer(runtimeStatus, container.name)?.state;
    return state === 'running' || state === 'exited';
  });
  const phase = settlePhase(
    getPhase(pod, containerStatuses, initContainerStatuses, input.ended, started),
    previous,
    pod,
  );
  const addresses = podAddresses(input);
  const reason = phase === previous.phase ? (previous.reason ?? pod.status?.reason) : undefined;
  const message = phase === previous.phase ? (previous.message ?? pod.status?.message) : undefined;
  const generation = pod.metadata.generation ?? 0;
  return {
    ...(generation > 0 ? { observedGeneration: generation } : {}),
    phase,
    conditions: [
      ...generateConditions({
        pod,
        previous: previous.conditions ?? [],
        phase,
        containerStatuses,
        initContainerStatuses,
        sandboxReady: !podSandboxChanged(pod, runtimeStatus).changed,
        ...(mayRestartAllContainers(pod) && {
          restartingAll: restartingAll && runtimeStatus.containers.length > 0,
        }),
      }),
      ...(input.resize !== undefined && !isTerminal(phase)
        ? resizeConditions(pod, input.resize)
        : []),
    ],
    ...(message !== undefined ? { message } : {}),
    ...(reason !== undefined ? { reason } : {}),
    ...(pod.status?.nominatedNodeName !== undefined
      ? { nominatedNodeName: pod.status.nominatedNodeName }
      : {}),
    ...hostAddresses(input.hostIPs),
    ...(addresses.length > 0
      ? { podIP: addresses[0], podIPs: addresses.map((ip) => ({ ip })) }
      : {}),
    ...(previous.startTime !== undefined ? { startTime: previous.startTime } : {}),
    ...(initContainerStatuses.length > 0 ? { initContainerStatuses } : {}),
    containerStatuses,
    ...(input.qosClass !== undefined ? { qosClass: input.qosClass } : {}),
    ...podResources(pod, previous, input.resize?.inProgress !== undefined),
    ...(ephemeralStatuses.length > 0 ? { ephemeralContainerStatuses: ephemeralStatuses } : {}),
  };
}

/** Returns the phase. A pod that has ended, in the API or in the kubelet, keeps its phase. */
function settlePhase(phase: PodPhase, previous: PodStatus, pod: Pod): PodPhase {
  const reported = pod.status?.phase;
  if (isTerminal(reported)) return reported as PodPhase;
  if (!isTerminal(phase) && isTerminal(previous.phase)) return previous.phase as PodPhase;
  return phase;
}

function hostAddresses(hostIPs: readonly string[]): Pick<PodStatus, 'hostIP' | 'hostIPs'> {
  const [first] = hostIPs;
  if (first === undefined) return {};
  return { hostIP: first, hostIPs: oneOfEachFamily(hostIPs, first).map((ip) => ({ ip })) };
}

function podAddresses(input: GenerateStatusInput): readonly string[] {
  if (input.pod.spec.hostNetwork === true) {
    const before = (input.previous.podIPs ?? []).map((entry) => entry.ip);
    const [first] = input.hostIPs;
    return before.length > 0 || first === undefined
      ? before
      : oneOfEachFamily(input.hostIPs, first);
  }
  const { runtimeStatus, previous, hostIPs } = input;
  const ips = sortPodIPs(podIPs(runtimeStatus), hostIPs[0]);
  // A pod without a ready sandbox, such as an ended one, keeps its addresses.
  if (ips.length > 0 || runtimeStatus.sandboxes.some(({ ready }) => ready)) return ips;
  return (previous.podIPs ?? []).map(({ ip }) => ip);
}
