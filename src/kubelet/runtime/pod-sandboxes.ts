// The sandboxes of pods: creates them, and says when containers may be started in them.

import { mkdir } from 'node:fs/promises';
import type { PodSandboxConfig } from '#cri/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { podDns } from '../dns.ts';
import { TimeoutError, withTimeout } from '../handlers/timeout.ts';
import { podHostname } from '../hostname.ts';
import { seccompDir } from '../paths.ts';
import { sortPodIPs } from '../pod/pod-ips.ts';
import { podIPs } from '../pod/pod-status.ts';
import { overheadResources, sandboxResources } from '../pod/resources.ts';
import { describePod, podUid, type Pod } from '../types.ts';
import type { PodActions } from './compute-pod-actions.ts';
import { readSandbox } from './read-status.ts';
import type { RuntimeManagerConfig } from './runtime-config.ts';
import { makeSandboxConfig } from './sandbox-config.ts';
import type { PodSecurity } from './security-context.ts';
import { retryAt, type Sandbox, type SyncContext } from './sync-context.ts';

/**
 * How long containers wait for the network; then an event is recorded, and the start is retried.
 */
const NETWORK_TIMEOUT_MS = 30_000;

export class PodSandboxes {
  readonly #config: RuntimeManagerConfig;
  /** By pod UID: whether the pod's handler makes mounts below a mount read-only. */
  readonly #recursiveReadOnly = new Map<string, boolean>();

  constructor(config: RuntimeManagerConfig) {
    this.#config = config;
  }

  /**
   * Reports whether the pod's handler makes mounts below a mount read-only; undefined if no
   * container of the pod was started yet.
   */
  makesRecursiveReadOnly(uid: string): boolean | undefined {
    return this.#recursiveReadOnly.get(uid);
  }

  /** Drops the state of a pod that is gone. */
  forget(uid: string): void {
    this.#recursiveReadOnly.delete(uid);
  }

  /**
   * Returns the sandbox in which containers are started, and creates it if needed; undefined if
   * that failed.
   */
  async open(context: SyncContext, actions: PodActions): Promise<Sandbox | undefined> {
    const { pod, status } = context;
    const { runtime, events } = this.#config;
    const nodeIP = this.#config.downward().hostIPs[0];
    try {
      // Starts of containers in an existing sandbox seldom need the handler.
      const isHandlerNeeded = actions.createSandbox || needsFeatures(pod);
      const handler = isHandlerNeeded ? await this.#runtimeHandler(pod) : '';
      const recursiveReadOnly =
        needsFeatures(pod) && (await this.#config.recursiveReadOnly(handler));
      this.#recursiveReadOnly.set(podUid(pod), recursiveReadOnly);
      // First, so that its warnings are recorded whatever fails later, as in upstream's kubelet.
      const dnsConfig = podDns(pod, this.#config.dns, this.#config.events);
      const security = await this.#podSecurity(pod, handler);
      const config = this.#sandboxConfig(pod, actions.attempt, security, dnsConfig);
      if (!actions.createSandbox)
        return {
          id: actions.sandboxId,
          config,
          security,
          recursiveReadOnly,
          ips: sortPodIPs(podIPs(status), nodeIP),
        };
      if (!(await this.#areResourcesPrepared(context))) return undefined;
      if (this.#config.hostFiles)
        await mkdir(config.logDirectory ?? '', { recursive: true, mode: 0o755 });
      const options = { signal: context.signal, timeoutMs: 240_000 };
      const id = await runtime.runPodSandbox(config, handler, options);
      this.#config.metrics?.sandboxStarted(false, pod.spec.hostUsers === false);
      context.acted = true;
      const made = await readSandbox(runtime, {
        id,
        state: 'SANDBOX_READY',
        createdAt: this.#config.clock.now() * 1e6,
        metadata: {
          name: pod.metadata.name,
          namespace: pod.metadata.namespace ?? '',
          uid: podUid(pod),
          attempt: actions.attempt,
        },
        labels: {},
        annotations: {},
        runtimeHandler: handler,
      });
      if (made !== undefined) this.#config.onSandbox(made);
      const ips = sortPodIPs(made?.ips ?? [], nodeIP);
      return { id, config, security, recursiveReadOnly, ips };
    } catch (error) {
      context.signal.throwIfAborted();
      if (actions.createSandbox)
        this.#config.metrics?.sandboxStarted(true, pod.spec.hostUsers === false);
      const message = `Failed to create pod sandbox: ${errorMessage(error)}`;
      this.#config.logger.warn('pod sandbox not made', { pod: describePod(pod), err: error });
      events.warning(pod, 'FailedCreatePodSandBox', message);
      retryAt(context, this.#config.clock.now() + this.#config.retryMs);
      return undefined;
    }
  }

  /** Prepares the pod's ResourceClaims. Returns false if that failed and has to be retried. */
  async #areResourcesPrepared(context: SyncContext): Promise<boolean> {
    const { prepareResources, events, logger, clock, retryMs } = this.#config;
    const { pod, signal } = context;
    try {
      await prepareResources?.(pod, signal);
      return true;
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('dynamic resources not prepared', { pod: describePod(pod), err: error });
      events.warning(
        pod,
        'FailedPrepareDynamicResources',
        `Failed to prepare dynamic resources: ${errorMessage(error)}`,
      );
      retryAt(context, clock.now() + retryMs);
      return false;
    }
  }

  /**
   * Waits until the pod's network policies are enforced. Returns false if it took too long, so that
   * the containers have to wait.
   */
  async isNetworkReady(context: SyncContext, sandbox: Sandbox): Promise<boolean> {
    const { networkReadiness, clock, events, logger, retryMs } = this.#config;
    const { pod, signal } = context;
    if (networkReadiness === undefined || pod.spec.hostNetwork === true) return true;
    try {
      await withTimeout(clock, NETWORK_TIMEOUT_MS, signal, (limited) =>
        networkReadiness.podAddressesReady(pod, sandbox.ips, limited),
      );
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const reason =
        error instanceof TimeoutError
          ? 'network policies are not programmed yet'
          : errorMessage(error);
      logger.warn('pod network not ready', { pod: describePod(pod), reason });
      events.warning(pod, 'NetworkNotReady', `network is not ready: ${reason}`);
      retryAt(context, clock.now() + retryMs);
      return false;
    }
  }

  async #runtimeHandler({ spec: { runtimeClassName } }: Pod): Promise<string> {
    return runtimeClassName === undefined
      ? ''
      : await this.#config.runtimeHandler(runtimeClassName);
  }

  async #podSecurity(pod: Pod, runtimeHandler: string): Promise<PodSecurity> {
    const { rootDir, seccompDefault, userNamespace, volumeGroups } = this.#config;
    return {
      seccompRoot: seccompDir(rootDir),
      seccompDefault,
      userNamespace: await userNamespace(pod, runtimeHandler),
      volumeGroups: volumeGroups(pod),
    };
  }

  #sandboxConfig(
    pod: Pod,
    attempt: number,
    security: PodSecurity,
    dnsConfig: ReturnType<typeof podDns>,
  ): PodSandboxConfig {
    const { dns, podLogsDir, cgroupParent, placements } = this.#config;
    return makeSandboxConfig({
      pod,
      attempt,
      hostname: podHostname(pod, dns.clusterDomain).effective,
      dnsConfig,
      podLogsDir,
      security,
      cgroupParent: cgroupParent(pod),
      resources: sandboxResources(pod, placements?.hasExclusiveCpus(pod) !== true),
      overhead: overheadResources(pod),
    });
  }
}

/** Reports whether the pod asks for what only some handlers of runtimes can do. */
function needsFeatures({ spec }: Pod): boolean {
  const containers = [
    ...spec.containers,
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  return (
    spec.hostUsers === false ||
    containers.some(({ volumeMounts = [] }) =>
      volumeMounts.some(({ recursiveReadOnly }) => recursiveReadOnly !== undefined),
    )
  );
}
