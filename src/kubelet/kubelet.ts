// The kubelet: runs the pods that are bound to its node.
//
// Desired pods come from the API (one watch, of the pods of this node) and from static manifests;
// observed pods come from the runtime. A change on either side wakes the worker of that pod, which
// reconciles both. This file starts and stops the parts; parts.ts makes them, pod-sources.ts and
// pod-handler.ts pass changes on, and pod-syncer.ts implements the steps of a worker.

import type { Duplex } from 'node:stream';
import type { EventRecorder } from '#client/events/index.ts';
import type { Runtime } from '#cri/index.ts';
import { stir } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { type KubeletConfig, kubeletTopic } from './config.ts';
import { instrumentRuntime } from './metrics/instrumented-runtime.ts';
import { KubeletMetrics } from './metrics/kubelet-metrics.ts';
import { makeParts, type Parts } from './parts.ts';
import { makeRecorder } from './parts/recorder.ts';
import { watchApiPods } from './pod-sources.ts';
import { withDeadlines } from './runtime/deadlines.ts';
import type { ServerUser } from './server/access.ts';

export class Kubelet {
  readonly #config: KubeletConfig;
  readonly #logger: Logger;
  readonly #runtime: Runtime;
  readonly #metrics: KubeletMetrics;
  readonly #recorder: EventRecorder;
  readonly #abort = new AbortController();
  /** Loops that run until the signal aborts. */
  readonly #background: Promise<unknown>[] = [];
  #parts: Parts | undefined;
  #stopped: Promise<void> | undefined;

  constructor(config: KubeletConfig) {
    this.#config = config;
    this.#logger = config.logger.with({ component: 'kubelet', node: config.nodeName });
    this.#metrics = new KubeletMetrics(config.clock);
    // The runtime of a simulated node is in memory: it always responds.
    const runtime =
      config.hostFiles === false ? config.runtime : withDeadlines(config.runtime, config.clock);
    const topic = kubeletTopic(config.nodeName);
    this.#runtime = instrumentRuntime(runtime, this.#metrics, () => stir(config.clock, topic));
    this.#recorder = makeRecorder(config, this.#logger);
  }

  /** The port of the HTTPS server; 0 if none is open. */
  get port(): number {
    return this.#parts?.server.port ?? 0;
  }

  /**
   * Resolves when the node is registered and every pod that is bound to it has a worker. Rejects if
   * the runtime cannot be reached, the root directory cannot be used, or the port cannot be opened.
   */
  async start(): Promise<void> {
    try {
      await this.#start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async #start(): Promise<void> {
    const { signal } = this.#abort;
    const parts = await makeParts({
      config: this.#config,
      runtime: this.#runtime,
      metrics: this.#metrics,
      recorder: this.#recorder,
      logger: this.#logger,
      signal,
    });
    this.#parts = parts;
    const { pleg, server, informers, reporter, staticPods, pods, housekeeping, settings } = parts;
    const { csi, plugins } = parts;
    // Before the Node's status is written: volumes that are in use must not be detached.
    if (plugins !== undefined) await csi.volumes.reconstruct();
    // Before any pod: the IDs of running pods must not be given to others.
    await parts.reconstructUserNamespaces();
    // The runtime is listed before any pod is reconciled, so that no container is started twice.
    await (this.#config.predecessor === undefined ? pleg.relist(signal) : pleg.adopt(signal));
    this.#background.push(pleg.run(signal));
    await parts.startDevices();
    await server.listen();
    informers.start(signal);
    // Static pods do not wait for the API; the others need the Node and the services.
    await Promise.all([
      reporter.register(signal),
      informers.waitForCacheSync(signal),
      staticPods?.load(),
    ]);
    watchApiPods(
      parts.podInformer,
      pods,
      staticPods,
      parts.statuses,
      () => stir(this.#config.clock, kubeletTopic(this.#config.nodeName)),
      signal,
    );
    pods.sourcesAreReady();
    await housekeeping.removeOrphans();
    const { cgroups, pleg: observed } = parts;
    await cgroups?.removeUnknown((uid) => observed.get(uid) !== undefined);
    if (plugins !== undefined) this.#background.push(csi.publishNode(), plugins.run(signal));
    this.#background.push(reporter.run(signal));
    if (staticPods !== undefined) this.#background.push(staticPods.run(signal));
    this.#background.push(housekeeping.repeat(signal));
    if (parts.managers !== undefined) this.#background.push(parts.managers.run(signal));
    if (parts.shutdown !== undefined) this.#background.push(parts.shutdown.run(signal));
    if (parts.pressure !== undefined) {
      const { evictions, imageGarbage } = parts.pressure;
      this.#background.push(
        evictions.run(signal),
        imageGarbage.run(signal),
        parts.watchOoms(signal),
      );
    }
    this.#logger.info('kubelet started', {
      runtime: settings.runtimeVersion,
      rootDir: settings.rootDir,
    });
  }

  /** Stops the kubelet; containers keep running. Idempotent. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /**
   * Reports whether pods refer to ConfigMaps or Secrets: then the kubelet reacts to changes of
   * objects other than its pods and its Node.
   */
  get followsObjects(): boolean {
    return this.#parts?.objects.isFollowing === true;
  }

  /**
   * Reports whether the kubelet could stop now without a difference that clients see, as far as the
   * kubelet knows: no pod starts or ends, every status and event is written, and no connection is
   * open, or was for so many milliseconds. Pods may still need the kubelet: see isPodAtRest.
   */
  isIdle(unusedForMs: number): boolean {
    const parts = this.#parts;
    return (
      parts !== undefined &&
      parts.workers.isIdle &&
      parts.statuses.isIdle &&
      this.#recorder.isIdle &&
      parts.server.isUnused(unusedForMs)
    );
  }

  /** Checks and reports the node's status now: its network or its addresses have changed. */
  checkNode(): void {
    this.#parts?.reporter.nudge();
  }

  /**
   * Serves an HTTP/1.1 connection with the rights of `user`: only for callers in this process that
   * have authenticated the user already (the API server).
   */
  handleConnection(connection: Duplex, user: ServerUser): void {
    if (this.#parts === undefined) {
      connection.destroy(new Error('the kubelet has not been started'));
      return;
    }
    this.#parts.server.handleConnection(connection, user);
  }

  async #stop(): Promise<void> {
    this.#abort.abort(new Error('the kubelet stops'));
    const parts = this.#parts;
    if (parts !== undefined) {
      await parts.workers.stop();
      parts.probes.stop();
      parts.statuses.stop();
      parts.objects.stop();
      parts.csi.close();
      await parts.server.close();
      await parts.informers.stopped();
    }
    this.#recorder.stop();
    await Promise.allSettled(this.#background);
  }
}
