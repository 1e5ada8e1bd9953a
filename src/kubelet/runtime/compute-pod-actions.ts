// Decides which actions bring a pod's containers from their state in the runtime to the state in
// the spec. A pure function of pod, status and probe results; runtime-manager.ts carries the
// decision out.

import type { Container, Pod } from '../types.ts';
import { hasAnyContainerCreated, podSandboxChanged } from '../pod/pod-progress.ts';
import { hashContainer } from './labels.ts';
import { findContainer, type ContainerRecord, type RuntimePodStatus } from '../pod/pod-status.ts';
import {
  isSidecar,
  restartsAllContainers,
  shouldContainerBeRestarted,
  shouldRestartAllContainers,
} from '../pod/restart-policy.ts';

export type KillReason =
  | 'Unknown'
  | 'StartupProbe'
  | 'LivenessProbe'
  | 'FailedPostStartHook'
  | 'DefinitionChanged'
  | 'RestartAllContainers';

export interface ContainerToKill {
  readonly id: string;
  readonly name: string;
  /** The message of the Killing event; '' for the default. */
  readonly message: string;
  readonly reason: KillReason;
}

/**
 * The actions. Indices refer to the spec's lists. `containersToKill` are killed before any
 * container is started.
 */
export interface PodActions {
  /** Stop all containers and the sandbox. Always set when a sandbox is created. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** The sandbox to use; with `createSandbox`, the one to replace ('' if there is none). */
  readonly sandboxId: string;
  /** The attempt number of the sandbox in use, or of the one to create. */
  readonly attempt: number;
  /** The indexes of the init containers to start, in the order of their start. */
  readonly initContainersToStart: readonly number[];
  readonly containersToStart: readonly number[];
  readonly ephemeralContainersToStart: readonly number[];
  readonly containersToKill: readonly ContainerToKill[];
  /**
   * The IDs of all containers to kill and remove, in this order, so that the pod starts from the
   * beginning in its sandbox. If there are any, this is the only action.
   */
  readonly containersToReset: readonly string[];
}

/** The latest probe verdict of a container instance; undefined without one. */
export interface ProbeVerdicts {
  liveness(containerId: string): 'success' | 'failure' | undefined;
  startup(containerId: string): 'success' | 'failure' | undefined;
}

interface Draft {
  killPod: boolean;
  initContainersToStart: number[];
  containersToStart: number[];
  ephemeralContainersToStart: number[];
  containersToKill: ContainerToKill[];
}

/** Reports whether a running container has to be restarted to get its allocated resources. */
export type NeedsRestart = (container: Container, latest: ContainerRecord) => boolean;

const NEVER: NeedsRestart = () => false;

export function computePodActions(
  pod: Pod,
  status: RuntimePodStatus,
  probes: ProbeVerdicts,
  needsRestart: NeedsRestart = NEVER,
): PodActions {
  const { changed, attempt, sandboxId } = podSandboxChanged(pod, status);
  const draft: Draft = {
    killPod: changed,
    initContainersToStart: [],
    containersToStart: [],
    ephemeralContainersToStart: [],
    containersToKill: [],
  };
  if (!changed && shouldRestartAllContainers(pod, status)) {
    const containersToReset = recordsToReset(pod, status).map(({ id }) => id);
    return { ...draft, createSandbox: false, sandboxId, attempt, containersToReset };
  }
  const createSandbox = changed && startFromSandbox(pod, status, attempt, draft);
  if (!changed) {
    startEphemeralContainers(pod, status, draft);
    const initialized = computeInitContainers(pod, status, probes, needsRestart, draft);
    if (initialized && !draft.killPod) computeContainers(pod, status, probes, needsRestart, draft);
  }
  return { ...draft, createSandbox, sandboxId, attempt, containersToReset: [] };
}

/**
 * Returns the containers of the pod. Those that have asked for the restart are the last ones, so
 * that a restart that was interrupted continues.
 */
function recordsToReset({ spec }: Pod, status: RuntimePodStatus): readonly ContainerRecord[] {
  const entries = [...spec.containers, ...(spec.initContainers ?? [])].flatMap((container) =>
    status.containers
      .filter(({ name }) => name === container.name)
      .map((record) => ({ record, asks: restartsAllContainers(container, record) })),
  );
  return [...entries.filter(({ asks }) => !asks), ...entries.filter(({ asks }) => asks)].map(
    ({ record }) => record,
  );
}

/**
 * Returns the containers to start in a new sandbox; false if none is needed because the pod has
 * finished.
 */
function startFromSandbox(
  pod: Pod,
  status: RuntimePodStatus,
  attempt: number,
  draft: Draft,
): boolean {
  const containers = pod.spec?.containers ?? [];
  const initContainers = pod.spec?.initContainers ?? [];
  // A pod that has run and may not restart gets no new sandbox; a pod that never had a container
  // does.
  if (!mayRestartOnFailure(pod) && attempt !== 0 && status.containers.length > 0) return false;
  const toStart: number[] = [];
  containers.forEach((container, index) => {
    const latest = findContainer(status, container.name);
    if (latest?.state === 'exited' && !shouldContainerBeRestarted(container, pod, status)) return;
    toStart.push(index);
  });
  if (toStart.length === 0 && hasAnyContainerCreated(pod, status)) return false;
  if (initContainers.length > 0) {
    draft.initContainersToStart.push(0);
    return true;
  }
  draft.containersToStart.push(...toStart);
  return true;
}

function mayRestartOnFailure(pod: Pod): boolean {
  if (pod.spec?.restartPolicy !== 'Never') return true;
  const all = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
  return all.some(
    (container) => (container.restartPolicyRules ?? []).length > 0 || ownPolicyRestarts(container),
  );
}

function ownPolicyRestarts(container: Container): boolean {
  return (
    container.restartPolicy === 'OnFailure' ||
    (container.restartPolicy === 'Always' && (container.restartPolicyRules ?? []).length > 0)
  );
}

/** Starts ephemeral containers. Each starts once, whether or not the pod is initialized. */
function startEphemeralContainers(pod: Pod, status: RuntimePodStatus, draft: Draft): void {
  (pod.spec?.ephemeralContainers ?? []).forEach((container, index) => {
    if (findContainer(status, container.name) === undefined)
      draft.ephemeralContainersToStart.push(index);
  });
}

/**
 * Computes actions for init containers. They run in order, one after the other; a started sidecar
 * does not block the next one, and keeps running. Returns true when the pod is initialized.
 *
 * The search begins at the last init container: earlier ones that have ended may have been removed
 * from the runtime, so the last existing one shows the progress of the pod.
 */
function computeInitContainers(
  pod: Pod,
  status: RuntimePodStatus,
  probes: ProbeVerdicts,
  needsRestart: NeedsRestart,
  draft: Draft,
): boolean {
  const initContainers = pod.spec?.initContainers ?? [];
  if (initContainers.length === 0) return true;
  // Ended containers do not count: they may belong to a previous sandbox.
  let podInitialized = (pod.spec?.containers ?? []).some((container) => {
    const state = findContainer(status, container.name)?.state;
    return state === 'created' || state === 'running';
  });
  /** A later init container (or a regular one) has started, so this one had succeeded. */
  let passed = podInitialized;
  const toStart: number[] = [];
  const last = initContainers.length - 1;
  for (let index = last; index >= 0; index--) {
    const container = initContainers[index]!;
    const sidecar = isSidecar(container);
    const latest = findContainer(status, container.name);
    if (latest === undefined) {
      if (passed && sidecar) toStart.push(index);
      continue;
    }
    if (passed && !sidecar) continue;
    const verdict = sidecar
      ? judgeSidecar(container, latest, probes, needsRestart)
      : judgeInitContainer(container, pod, status, latest);
    switch (verdict.is) {
      case 'failed':
        draft.killPod = true;
        return false;
      case 'waiting':
        break;
      case 'done':
      case 'done, restart':
        if (index === last) podInitialized = true;
        else if (!passed) toStart.push(index + 1);
        if (verdict.is === 'done, restart') toStart.push(index);
        break;
      case 'restart':
        toStart.push(index);
        break;
    }
    if (verdict.kill !== undefined) draft.containersToKill.push(verdict.kill);
    passed = true;
  }
  if (!passed) toStart.push(0);
  draft.initContainersToStart.push(...toStart.reverse());
  return podInitialized;
}

interface InitVerdict {
  /** 'done': the next container may start. */
  readonly is: 'waiting' | 'done' | 'restart' | 'done, restart' | 'failed';
  readonly kill?: ContainerToKill;
}

function judgeInitContainer(
  container: Container,
  pod: Pod,
  status: RuntimePodStatus,
  latest: ContainerRecord,
): InitVerdict {
  switch (latest.state) {
    case 'created':
      // Creation and start are one step, so the start failed.
      return { is: 'restart' };
    case 'running':
      return { is: 'waiting' };
    case 'exited':
      if (latest.exitCode === 0) return { is: 'done' };
      return { is: shouldContainerBeRestarted(container, pod, status) ? 'restart' : 'failed' };
    case 'unknown': {
      const restarts = container.restartPolicy
        ? container.restartPolicy !== 'Never'
        : mayRestartOnFailure(pod);
      return restarts
        ? { is: 'restart', kill: killUnknown(latest, 'Init container') }
        : { is: 'failed' };
    }
  }
}

function judgeSidecar(
  container: Container,
  latest: ContainerRecord,
  probes: ProbeVerdicts,
  needsRestart: NeedsRestart,
): InitVerdict {
  switch (latest.state) {
    case 'created':
    case 'exited':
      return { is: 'restart' };
    case 'unknown':
      return { is: 'restart', kill: killUnknown(latest, 'Init container') };
    case 'running':
      break;
  }
  const kill = (message: string, reason: KillReason): ContainerToKill => ({
    id: latest.id,
    name: container.name,
    message,
    reason,
  });
  if (container.startupProbe) {
    const startup = probes.startup(latest.id);
    if (startup === 'failure') {
      return {
        is: 'restart',
        kill: kill(`Init container ${container.name} failed startup probe`, 'StartupProbe'),
      };
    }
    if (startup === undefined) return { is: 'waiting' };
  }
  if (hashContainer(container) !== latest.hash) {
    return {
      is: 'done, restart',
      kill: kill(`Init container ${container.name} definition changed`, 'DefinitionChanged'),
    };
  }
  if (needsRestart(container, latest)) {
    return {
      is: 'done, restart',
      kill: kill(`Init container ${container.name} resize requires restart`, 'DefinitionChanged'),
    };
  }
  if (container.livenessProbe && probes.liveness(latest.id) === 'failure') {
    return {
      is: 'done, restart',
      kill: kill(`Init container ${container.name} failed liveness probe`, 'LivenessProbe'),
    };
  }
  return { is: 'done' };
}

function computeContainers(
  pod: Pod,
  status: RuntimePodStatus,
  probes: ProbeVerdicts,
  needsRestart: NeedsRestart,
  draft: Draft,
): void {
  let kept = 0;
  (pod.spec?.containers ?? []).forEach((container, index) => {
    const latest = findContainer(status, container.name);
    if (latest === undefined || latest.state !== 'running') {
      if (!shouldContainerBeRestarted(container, pod, status)) return;
      draft.containersToStart.push(index);
      // A container never has two instances at once: one that may be running is killed first.
      if (latest?.state === 'unknown')
        draft.containersToKill.push(killUnknown(latest, 'Container'));
      return;
    }
    let restart = shouldRestartWhenKilled(container, pod);
    let message: string;
    let reason: KillReason;
    if (hashContainer(container) !== latest.hash) {
      message = `Container ${container.name} definition changed`;
      reason = 'DefinitionChanged';
      restart = true;
    } else if (probes.liveness(latest.id) === 'failure') {
      message = `Container ${container.name} failed liveness probe`;
      reason = 'LivenessProbe';
    } else if (probes.startup(latest.id) === 'failure') {
      message = `Container ${container.name} failed startup probe`;
      reason = 'StartupProbe';
    } else if (needsRestart(container, latest)) {
      message = `Container ${container.name} resize requires restart`;
      draft.containersToStart.push(index);
      draft.containersToKill.push({
        id: latest.id,
        name: container.name,
        message,
        reason: 'DefinitionChanged',
      });
      return;
    } else {
      kept++;
      return;
    }
    if (restart) {
      message += ', will be restarted';
      draft.containersToStart.push(index);
    }
    draft.containersToKill.push({ id: latest.id, name: container.name, message, reason });
  });
  // No container runs or will run: the sandbox and the sidecars are stopped, too.
  if (kept === 0 && draft.containersToStart.length === 0) {
    draft.killPod = true;
    draft.initContainersToStart = [];
  }
}

function shouldRestartWhenKilled(container: Container, pod: Pod): boolean {
  return (
    (container.restartPolicy ?? pod.spec?.restartPolicy ?? 'Always') !== 'Never' ||
    (container.restartPolicyRules ?? []).length > 0
  );
}

function killUnknown(latest: ContainerRecord, what: string): ContainerToKill {
  return {
    id: latest.id,
    name: latest.name,
    message: `${what} is in "unknown" state, try killing it before restart`,
    reason: 'Unknown',
  };
}
