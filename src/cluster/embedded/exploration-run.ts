// One run of an exploration: its controllers, its disturbance, its outcome, and its end without a trace.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { resourcePath } from '#client/request.ts';
import type { ControllerDefinition } from '#controllers/operator/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { VirtualClock } from '#machinery/clock.ts';
import {
  type Disturbance,
  Interleaver,
  outcomeOf,
  Probe,
  type RunResult,
  type WrittenKind,
} from '#simulation/explore/index.ts';
import { frozenAt } from '#simulation/faults/watch-faults.ts';
import type { Simulation } from '#simulation/index.ts';
import type { ExploreContext, ExploreTest } from './explore-context.ts';
import type { RunningController } from './handle.ts';
import type { EmbeddedCluster } from './embedded-cluster.ts';
import { simulationOf } from './incarnation.ts';

export interface ExplorationRunConfig {
  readonly cluster: EmbeddedCluster<VirtualClock>;
  readonly namespace: string;
  readonly disturbance: Disturbance;
  readonly reconcilers: readonly ControllerDefinition[];
  readonly others: readonly ControllerDefinition[];
  readonly rest: number | string;
  readonly outcome: readonly ResourceType[] | undefined;
  readonly invariant: ((run: ExploreContext) => Promise<void> | void) | undefined;
}

/** All else has come to rest before a stale cache moves on. */
const STALE_FOR = '5s';
const DOWN_MS = 1000;

export class ExplorationRun {
  readonly #config: ExplorationRunConfig;
  readonly #simulation: Simulation;
  readonly #context: ExploreContext;
  readonly #subjects = new Set<string>();
  readonly #probe: Probe;
  readonly #interleaver: Interleaver | undefined;
  /** The revision of the store at the end of each step. */
  readonly #revisions: number[] = [];
  #failure: { readonly error: unknown } | undefined;
  /** Lets the reconcilers see the present again. */
  #thaw: () => void = () => undefined;

  constructor(config: ExplorationRunConfig) {
    this.#config = config;
    const { cluster, namespace, disturbance, reconcilers, invariant } = config;
    this.#simulation = simulationOf(cluster);
    this.#context = { cluster, namespace, settle: () => this.#settle() };
    const isSubject = (component: string): boolean => this.#subjects.has(component);
    this.#probe = new Probe({
      disturbance,
      isSubject,
      counts: (call) => call.namespace === namespace || call.namespace === '',
      onCrash: (component, seen) => {
        if (seen !== undefined) this.#freeze(seen);
        this.#crash(component);
      },
      currentRevision: () => this.#simulation.storage.currentRevision(),
      ...(invariant !== undefined && { afterWrite: () => this.#check(invariant) }),
    });
    if (reconcilers.length > 1)
      this.#interleaver = new Interleaver(
        cluster.clock,
        isSubject,
        disturbance.kind === 'order' ? disturbance.choices : [],
      );
  }

  async run(test: ExploreTest): Promise<RunResult> {
    const { cluster, reconcilers, others, disturbance } = this.#config;
    const { interceptor } = this.#simulation;
    const remove = [interceptor.add(this.#probe.rule)];
    if (this.#interleaver !== undefined) remove.push(interceptor.add(this.#interleaver.rule));
    const controllers: RunningController[] = [];
    let outcome: readonly unknown[] = [];
    try {
      for (const definition of others) controllers.push(cluster.runController(definition));
      for (const definition of reconcilers) {
        const controller = cluster.runController(definition);
        controllers.push(controller);
        this.#subjects.add(controller.name);
      }
      await cluster.clock.settle();
      this.#probe.beginStep();
      await test(this.#context);
      await this.#rest();
      if (disturbance.kind === 'time travel')
        await this.#travel(disturbance.step, disturbance.resource);
      outcome = await this.#outcome();
    } catch (error) {
      this.#failure ??= { error };
    } finally {
      this.#probe.release();
      this.#thaw();
      for (const undo of remove) undo();
      for (const controller of controllers)
        await controller.stop().catch((error: unknown) => (this.#failure ??= { error }));
      await this.#cleanUp();
    }
    return {
      size: this.#probe.size,
      outcome,
      ...(this.#failure !== undefined && { failure: this.#failure.error }),
      ...(this.#interleaver !== undefined && {
        choices: this.#interleaver.choices,
        branches: this.#interleaver.branches,
      }),
    };
  }

  async #settle(): Promise<void> {
    await this.#rest();
    this.#revisions.push(await this.#simulation.storage.currentRevision());
    this.#probe.beginStep();
  }

  async #rest(): Promise<void> {
    const { clock } = this.#config.cluster;
    await clock.advance(STALE_FOR);
    this.#probe.release();
    this.#thaw();
    await clock.advance(this.#config.rest);
  }

  async #check(invariant: (run: ExploreContext) => Promise<void> | void): Promise<void> {
    try {
      await invariant(this.#context);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  /** Ends a reconciler without notice, and starts it again. */
  #crash(component: string): void {
    const { clock } = this.#config.cluster;
    const connect = this.#simulation.interceptor.sever(component);
    this.#simulation
      .restart(component, async () => {
        await clock.sleep(DOWN_MS);
        connect();
      })
      .catch((error: unknown) => (this.#failure ??= { error }))
      .finally(connect);
  }

  /** Lets the reconcilers see the state at a revision, of all or of one resource. */
  #freeze(revision: number, resource?: string): void {
    const released = new Promise<void>((resolve) => {
      this.#thaw = () => {
        remove();
        resolve();
      };
    });
    const remove = this.#simulation.interceptor.add(
      frozenAt(
        Promise.resolve(revision),
        (call) =>
          this.#subjects.has(call.component) &&
          (resource === undefined || call.resource === resource),
        () => released,
      ),
    );
  }

  /**
   * Starts the reconcilers again with the state that was at the end of a step, and after a while lets them see the
   * present.
   */
  async #travel(step: number, resource: string | undefined): Promise<void> {
    const revision = this.#revisions[step - 1];
    if (revision === undefined) return;
    this.#freeze(revision, resource);
    for (const component of this.#subjects) this.#crash(component);
    await this.#rest();
  }

  async #outcome(): Promise<readonly unknown[]> {
    const { cluster, namespace, outcome } = this.#config;
    const types = outcome ?? this.#written().map(typeOf);
    return outcomeOf(cluster.client, types, namespace);
  }

  #written(): readonly WrittenKind[] {
    const written = [...this.#probe.written.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
    return written.map(([, kind]) => kind).filter(({ namespaced }) => namespaced);
  }

  /** Deletes all that the run has left behind, whatever its finalizers. */
  async #cleanUp(): Promise<void> {
    const { cluster, namespace } = this.#config;
    const { transport } = cluster.client;
    for (const kind of this.#written()) {
      const path = resourcePath(kind, namespace);
      const { items } = await cluster.client.resource(typeOf(kind)).namespace(namespace).list();
      for (const { metadata } of items) {
        if ((metadata.finalizers ?? []).length === 0) continue;
        await transport
          .request({
            method: 'PATCH',
            path: `${path}/${encodeURIComponent(metadata.name)}`,
            contentType: 'application/merge-patch+json',
            body: { metadata: { finalizers: null } },
          })
          .catch(ignoreNotFound);
      }
      await transport.request({
        method: 'DELETE',
        path,
        body: { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0 },
      });
    }
    await cluster.clock.settle();
  }
}

function ignoreNotFound(error: unknown): void {
  if (!apierrors.isNotFound(error)) throw error;
}

/** A kind by its path is enough for reading lists. */
function typeOf({ group, version, resource, namespaced }: WrittenKind): ResourceType<KubeObject> {
  return { group, version, resource, namespaced, kind: resource } as ResourceType<KubeObject>;
}
