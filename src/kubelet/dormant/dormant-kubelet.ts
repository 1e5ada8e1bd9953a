// A kubelet of a simulated node that has no work: it registers the node, and reports it like any
// kubelet, but it knows nothing of pods. A kubelet takes its place when there is work, and it may
// take the place of a kubelet that has none any more.

import type { EventRecorder } from '#client/events/index.ts';
import type { Logger } from '#machinery/log.ts';
import type { KubeletConfig } from '../config.ts';
import { SIMULATED_HARD, DEFAULT_EVICTION } from '../eviction/settings.ts';
import { parseThresholds } from '../eviction/thresholds.ts';
import { NodeFactsSource } from '../node/node-facts.ts';
import type { NodeReporter } from '../node/node-reporter.ts';
import { makeRecorder } from '../parts/recorder.ts';
import { makeNodeReporter } from '../parts/reporter.ts';
import { readSettings } from '../parts/settings.ts';
import type { ServerListenConfig } from '../server/config.ts';
import { HeldPort } from '../server/held-port.ts';
import type { Node, Pod } from '../types.ts';
import { isAtRest, listOutline } from './at-rest.ts';

export interface DormantKubeletConfig {
  /** The configuration of the kubelet in whose place this one is: of a simulated node. */
  readonly kubelet: KubeletConfig;
  /** Called when there is work that this one sees: a connection, or a change in the runtime. */
  readonly onWork: () => void;
  /** The port of the kubelet that this one succeeds, which is reclaimed at once. Default: opened. */
  readonly port?: HeldPort;
}

/** The values that a dormant kubelet leaves to the kubelet that takes its place. */
export interface Legacy {
  readonly config: KubeletConfig;
  /** The port, if the node has one. It can be reclaimed. */
  readonly port: HeldPort | undefined;
}

/** The parts of a dormant kubelet that has begun. */
interface Begun {
  readonly facts: NodeFactsSource;
  readonly reporter: NodeReporter;
  readonly port: HeldPort | undefined;
  readonly runtimeName: string;
}

export class DormantKubelet {
  readonly #config: DormantKubeletConfig;
  readonly #logger: Logger;
  readonly #recorder: EventRecorder;
  readonly #abort = new AbortController();
  readonly #background: Promise<unknown>[] = [];
  #begun: Begun | undefined;
  #registering: Promise<void> | undefined;

  constructor(config: DormantKubeletConfig) {
    const { kubelet, port, onWork } = config;
    this.#config = config;
    this.#logger = kubelet.logger.with({ component: 'kubelet', node: kubelet.nodeName });
    this.#recorder = makeRecorder(kubelet, this.#logger);
    port?.reclaim(onWork);
  }

  /**
   * Registers the node, and reports it from then on. Idempotent. `known`: the Node, if the API has
   * it.
   */
  register(known?: Node): Promise<void> {
    this.#registering ??= this.#register(known);
    return this.#registering;
  }

  /**
   * Reports whether a kubelet of these pods would have nothing to do. From the call on, changes in
   * the runtime are work. Only after register().
   */
  async isAtRest(pods: readonly Pod[]): Promise<boolean> {
    const begun = this.#begun;
    if (begun === undefined) throw new Error('the dormant kubelet has not been registered');
    const { runtime } = this.#config.kubelet;
    const changes = runtime.changes?.();
    if (changes === undefined) this.#background.push(this.#followRuntime());
    const running = runtime.outline?.() ?? (await listOutline(runtime.runtime));
    const { runtimeName, facts } = begun;
    if (!isAtRest({ pods, running, runtimeName, hostIP: facts.hostIPs[0] })) return false;
    // A runtime that can be released does not change by itself.
    if (changes === undefined || runtime.release?.() === true) return true;
    this.#background.push(this.#followRuntime());
    return runtime.changes?.() === changes;
  }

  /** Frees what the runtime can make again. Only before isAtRest(). */
  release(): void {
    this.#config.kubelet.runtime.release?.();
  }

  /** See NodeReporter. */
  nodeSeen(node: Node): void {
    this.#begun?.reporter.nodeSeen(node);
  }

  /**
   * Ends the reports. Resolves with what the kubelet that takes over needs, once no request is in
   * flight. Events are sent in the background. Only after register().
   */
  async handOver(): Promise<Legacy> {
    await this.#end();
    const { kubelet } = this.#config;
    void this.#recorder.flush().finally(() => this.#recorder.stop());
    const { port, reporter } = this.#begun ?? {};
    const config = {
      ...kubelet,
      takesOver: true,
      predecessor: { reporter: reporter?.handOver() },
      ...(kubelet.server !== undefined &&
        port !== undefined && { server: { ...kubelet.server, listeners: port } }),
    };
    return { config, port };
  }

  /** Ends everything. Containers go on running. */
  async stop(): Promise<void> {
    await this.#end();
    this.#recorder.stop();
    await (this.#begun?.port ?? this.#config.port)?.close();
  }

  async #end(): Promise<void> {
    this.#abort.abort(new Error('the dormant kubelet ends'));
    await this.#registering?.catch(() => undefined);
    await Promise.allSettled(this.#background);
  }

  async #register(known: Node | undefined): Promise<void> {
    const { kubelet, onWork } = this.#config;
    const { signal } = this.#abort;
    const { runtime, clock } = kubelet;
    const settings = await readSettings(kubelet, runtime, signal);
    const { rootDir, runtimeName, runtimeVersion } = settings;
    const facts = await NodeFactsSource.read({
      kubelet,
      runtime,
      clock,
      logger: this.#logger,
      signal,
      rootDir,
      runtimeVersion,
      thresholds: parseThresholds({
        ...DEFAULT_EVICTION,
        hard: SIMULATED_HARD,
        ...kubelet.eviction,
      }),
      // Only the health of a runtime without events depends on it.
      lastRelist: () => clock.monotonic(),
    });
    const port =
      this.#config.port ??
      (kubelet.server &&
        (await HeldPort.open(withPortOf(known, kubelet.server), this.#logger, () => onWork())));
    const reporter = makeNodeReporter({
      base: { config: kubelet, recorder: this.#recorder, logger: this.#logger },
      settings,
      node: facts,
      port: () => port?.port ?? 0,
      ...(known !== undefined && { known }),
    });
    this.#begun = { facts, reporter, port, runtimeName };
    // The node must not be found dead while many are registered.
    if (known !== undefined) reporter.renewLease(signal);
    await reporter.register(signal);
    this.#background.push(reporter.run(signal));
  }

  /** Calls `onWork` with the first change in the runtime. */
  async #followRuntime(): Promise<void> {
    const { signal } = this.#abort;
    const { runtime } = this.#config.kubelet.runtime;
    try {
      for await (const _event of runtime.containerEvents?.(signal) ?? []) {
        this.#config.onWork();
        return;
      }
    } catch (error) {
      if (!signal.aborted)
        this.#logger.warn('runtime events cut off, the kubelet begins', { err: error });
    }
    if (!signal.aborted) this.#config.onWork();
  }
}

/** Returns the settings with the port that the Node has, where any port will do. */
function withPortOf(known: Node | undefined, server: ServerListenConfig): ServerListenConfig {
  const port = known?.status.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  return server.port === 0 ? { ...server, port, orFreePort: true } : server;
}
