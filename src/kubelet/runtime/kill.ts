// Stops containers: the Killing event, the preStop hook, the stop signal, and a kill after the
// grace period.

import { isNotFound, type RuntimeService } from '#cri/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import type { PodEvents } from '../events.ts';
import { HookError, type HookRunner } from '../handlers/hooks.ts';
import { TimeoutError, untilAborted, withTimeout } from '../handlers/timeout.ts';
import { describePod, type Container, type Pod } from '../types.ts';
import type { KillReason } from './compute-pod-actions.ts';
import {
  podIPs,
  runningContainers,
  type ContainerRecord,
  type RuntimePodStatus,
} from '../pod/pod-status.ts';
import { isSidecar } from '../pod/restart-policy.ts';

/** The minimum grace period of a container, even if its hook used all of it. */
const MINIMUM_GRACE_SECONDS = 2;

export interface KillerConfig {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: PodEvents;
  readonly hooks: HookRunner;
}

export interface KillRequest {
  readonly pod: Pod;
  readonly status: RuntimePodStatus;
  readonly container: ContainerRecord;
  /** The message of the event; '' for the default. */
  readonly message: string;
  readonly reason: KillReason;
  /** The grace period in seconds, instead of the pod's. */
  readonly gracePeriodSeconds?: number;
  /** Resolves when the container may be stopped, if it has to wait for others. */
  readonly turn?: Promise<void>;
}

export class ContainerKiller {
  readonly #config: KillerConfig;

  constructor(config: KillerConfig) {
    this.#config = config;
  }

  /** Resolves when the container has stopped. */
  async kill(request: KillRequest, signal: AbortSignal): Promise<void> {
    const { clock, events, runtime } = this.#config;
    const { pod, container: record } = request;
    const spec = findSpec(pod, record.name);
    const begin = clock.monotonic();
    const grace =
      (request.gracePeriodSeconds ?? gracePeriod(pod, spec, record, request.reason)) * 1000;
    const left = (): number => grace - (clock.monotonic() - begin);
    if (spec !== undefined) {
      events.container(
        pod,
        spec,
        'Normal',
        'Killing',
        request.message === '' ? `Stopping container ${spec.name}` : request.message,
      );
      if (spec.lifecycle?.preStop !== undefined && grace > 0 && record.state === 'running') {
        await this.#preStop(request, spec, left(), signal);
      }
    }
    const { turn } = request;
    if (turn !== undefined && left() > 0) {
      try {
        await withTimeout(clock, left(), signal, () => turn);
      } catch (error) {
        // The containers before this one exceed the grace period, so this one is stopped
        // nevertheless.
        if (!(error instanceof TimeoutError)) throw error;
      }
    }
    const seconds = Math.max(Math.ceil(left() / 1000), MINIMUM_GRACE_SECONDS);
    try {
      // The runtime returns when the container has stopped, which may take a little longer than the
      // grace period.
      const stopping = runtime.stopContainer(record.id, seconds * 1000, {
        signal,
        timeoutMs: (seconds + 120) * 1000,
      });
      await untilAborted(stopping, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /**
   * Stops every running container: the regular ones at the same time, then the sidecars, the last
   * one first; then the sandboxes. Tries all of them, and then rejects with the errors.
   */
  async killPod(
    pod: Pod,
    status: RuntimePodStatus,
    gracePeriodSeconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const running = runningContainers(status);
    const turns = terminationOrder(pod, running);
    const failures: unknown[] = [];
    await Promise.all(
      running.map(async (container) => {
        const turn = turns.get(container.id);
        try {
          await this.kill(
            {
              pod,
              status,
              container,
              message: '',
              reason: 'Unknown',
              ...(gracePeriodSeconds !== undefined ? { gracePeriodSeconds } : {}),
              ...(turn?.wait !== undefined ? { turn: turn.wait } : {}),
            },
            signal,
          );
        } catch (error) {
          failures.push(error);
        } finally {
          turn?.done();
        }
      }),
    );
    if (failures.length === 0) {
      for (const sandbox of status.sandboxes) {
        if (sandbox.ready) await this.#config.runtime.stopPodSandbox(sandbox.id, { signal });
      }
      return;
    }
    signal.throwIfAborted();
    const message = failures.map((err) => errorMessage(err)).join(', ');
    this.#config.events.warning(
      pod,
      'FailedKillPod',
      `error killing pod: failed to "KillContainer" with KillContainerError: "${message}"`,
    );
    throw failures.length === 1 ? failures[0] : new AggregateError(failures, message);
  }

  /** Runs the preStop hook. A failure does not keep the container from being stopped. */
  async #preStop(
    request: KillRequest,
    spec: Container,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, events, hooks, logger } = this.#config;
    const { pod, container: record } = request;
    const handler = spec.lifecycle?.preStop;
    if (handler === undefined) return;
    const ip = podIPs(request.status)[0] ?? pod.status.podIP ?? '';
    try {
      await withTimeout(clock, timeoutMs, signal, (expired) =>
        hooks.run(pod, spec, record.id, ip, handler, expired),
      );
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('preStop hook failed', {
        pod: describePod(pod),
        container: spec.name,
        err: error,
      });
      // The error may contain secrets, so it is not part of the event. A timeout is not an error.
      if (error instanceof HookError)
        events.container(pod, spec, 'Warning', 'FailedPreStopHook', 'PreStopHook failed');
    }
  }
}

function findSpec(pod: Pod, name: string): Container | undefined {
  const all: readonly Container[] = [
    ...pod.spec.containers,
    ...(pod.spec.initContainers ?? []),
    ...((pod.spec.ephemeralContainers ?? []) as readonly Container[]),
  ];
  return all.find((container) => container.name === name);
}

function gracePeriod(
  pod: Pod,
  spec: Container | undefined,
  record: ContainerRecord,
  reason: KillReason,
): number {
  const deletion = pod.metadata.deletionGracePeriodSeconds;
  if (deletion !== undefined) return deletion;
  const shared = pod.spec.terminationGracePeriodSeconds;
  if (shared === undefined) return record.gracePeriodSeconds ?? MINIMUM_GRACE_SECONDS;
  if (reason === 'StartupProbe') return spec?.startupProbe?.terminationGracePeriodSeconds ?? shared;
  if (reason === 'LivenessProbe')
    return spec?.livenessProbe?.terminationGracePeriodSeconds ?? shared;
  return shared;
}

interface Turn {
  /** undefined: stop at once. */
  readonly wait: Promise<void> | undefined;
  readonly done: () => void;
}

/**
 * Returns when each container stops. Sidecars stop after all regular containers, and each after the
 * later ones in the spec.
 */
function terminationOrder(
  pod: Pod,
  running: readonly ContainerRecord[],
): ReadonlyMap<string, Turn> {
  const sidecars = (pod.spec.initContainers ?? [])
    .filter(isSidecar)
    .map((container) => container.name);
  const turns = new Map<string, Turn>();
  if (sidecars.length === 0) return turns;
  const rank = (container: ContainerRecord): number => sidecars.indexOf(container.name);
  const ordered = running.toSorted((a, b) => order(rank(a)) - order(rank(b)));
  const before: Promise<void>[] = [];
  let group: Promise<void>[] = [];
  let groupRank: number | undefined;
  for (const container of ordered) {
    const own = rank(container);
    if (groupRank !== undefined && own !== groupRank) {
      before.push(...group);
      group = [];
    }
    groupRank = own;
    const { promise, resolve } = withResolvers();
    const wait = before.length === 0 ? undefined : Promise.all(before).then(() => undefined);
    turns.set(container.id, { wait, done: resolve });
    group.push(promise);
  }
  return turns;
}

/** Regular containers (rank -1) first, then sidecars from the last to the first. */
function order(rank: number): number {
  return rank < 0 ? Number.NEGATIVE_INFINITY : -rank;
}
