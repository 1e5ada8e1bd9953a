// The controllers and the scheduler of a cluster, each of which works while it leads.

import { hostname } from 'node:os';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import { ControllerManager } from '#controllers/controller-manager.ts';
import { CONTROLLER_NAMES, controllerEntry } from '#controllers/controllers.ts';
import { ControllerManagerMetrics } from '#controllers/metrics.ts';
import { IpPool } from '#machinery/net/ip-pool.ts';
import { type Decision, DecisionLog } from '#scheduler/decisions.ts';
import { SchedulerMetrics } from '#scheduler/metrics/scheduler-metrics.ts';
import { Scheduler } from '#scheduler/scheduler.ts';
import { leading } from './leading.ts';
import type { ComponentsConfig, ControlConfig } from './config.ts';
import type { Supervisor } from './supervisor.ts';
import { clientOfUser, componentUser, controllerIdentity } from './users.ts';

const CONTROLLER_MANAGER = 'controller-manager';
const SCHEDULER = 'scheduler';

/** The user of the controller manager. It may follow all objects. */
export const CONTROLLER_MANAGER_USER = componentUser('system:kube-controller-manager');

export interface ControlPlaneServices {
  readonly supervisor: Supervisor;
  /** See NodeLifecycleConfig. */
  readonly renewedAt: (node: string) => number | undefined;
}

export class ControlPlane {
  readonly #config: ComponentsConfig;
  readonly #control: ControlConfig;
  readonly #supervisor: Supervisor;
  readonly #renewedAt: ControlPlaneServices['renewedAt'];
  readonly #schedulerMetrics: SchedulerMetrics;
  readonly #controllerMetrics: ControllerManagerMetrics;
  readonly #decisions: DecisionLog;
  /** Distinguishes this process from others that stand for the same leases. */
  readonly #identity: string;

  constructor(config: ComponentsConfig, control: ControlConfig, services: ControlPlaneServices) {
    const { clock, random, simulation, instance = '' } = config;
    this.#config = config;
    this.#control = control;
    this.#supervisor = services.supervisor;
    this.#renewedAt = services.renewedAt;
    this.#schedulerMetrics = new SchedulerMetrics({ clock });
    this.#controllerMetrics = new ControllerManagerMetrics({ clock });
    this.#decisions = new DecisionLog(clock);
    // A simulated cluster has the same history on every machine.
    const host = simulation === undefined ? hostname() : `control-plane${instance}`;
    this.#identity = `${host}_${random.derive('identity').uuid()}`;
  }

  /** Returns the metrics of both in Prometheus' format. */
  metrics(): string {
    return this.#schedulerMetrics.text() + this.#controllerMetrics.text();
  }

  /** Returns the last decisions of the scheduler, latest first. */
  decisions(): readonly Decision[] {
    return this.#decisions.read();
  }

  /** Once. Throws what is wrong with the scheduler's configuration. */
  start(): void {
    this.#registerControllers();
    const schedulerClient = clientOfUser(this.#config, componentUser('system:kube-scheduler'));
    const managerClient = clientOfUser(this.#config, CONTROLLER_MANAGER_USER);
    const makeScheduler = this.#schedulers(schedulerClient);
    const controllers = this.#controllerManager(managerClient);
    // Checks the configuration now, so that errors are reported at once and not when the scheduler
    // becomes the leader.
    makeScheduler();
    this.#supervisor.supervise(
      CONTROLLER_MANAGER,
      'controllers',
      this.#whileLeading('kube-controller-manager', managerClient, (held) => controllers.run(held)),
    );
    if (this.#control.scheduler === false) return;
    this.#supervisor.supervise(
      SCHEDULER,
      'scheduler',
      this.#whileLeading('kube-scheduler', schedulerClient, (held) => makeScheduler().run(held)),
    );
  }

  /** Faults may be injected for each controller. */
  #registerControllers(): void {
    const { simulation, instance = '' } = this.#config;
    if (simulation === undefined) return;
    for (const controller of this.#control.controllers ?? CONTROLLER_NAMES) {
      const { account } = controllerEntry(controller);
      if (account !== undefined) simulation.register(`${CONTROLLER_MANAGER}${instance}/${account}`);
    }
  }

  #controllerManager(client: Client): ControllerManager {
    const { clientOf, random, logger, resumes, heartbeats } = this.#config;
    const control = this.#control;
    const { authority, serviceAccountKey } = control;
    return new ControllerManager({
      client,
      clientOf: (account) => clientOf(...controllerIdentity(account)),
      metrics: this.#controllerMetrics,
      clock: this.#supervisor.clockOf(CONTROLLER_MANAGER),
      random: random.derive(CONTROLLER_MANAGER),
      logger: logger.with({ component: CONTROLLER_MANAGER }),
      ...(control.controllers !== undefined && { controllers: control.controllers }),
      rootCa: control.rootCa ?? authority?.cert,
      ...(authority !== undefined && { signing: { authority } }),
      ...(serviceAccountKey !== undefined && { serviceAccountKey }),
      clusterCidrs: control.podCidrs,
      settings: {
        'node-ipam': { serviceCidrs: control.serviceCidr.split(',') },
        'node-lifecycle': {
          takesOver: resumes ?? false,
          ...(heartbeats !== undefined && { isAlive: (name) => heartbeats.isKept(name) }),
          renewedAt: this.#renewedAt,
        },
        ...(control.loadBalancerPool !== undefined && {
          'service-lb': { pool: IpPool.parse(control.loadBalancerPool) },
        }),
      },
    });
  }

  /** Returns a function that makes a scheduler: a new one each time that it begins to lead. */
  #schedulers(client: Client): () => Scheduler {
    const random = this.#config.random.derive(SCHEDULER);
    const logger = this.#config.logger.with({ component: SCHEDULER });
    const clock = this.#supervisor.clockOf(SCHEDULER);
    return () =>
      new Scheduler({
        client,
        informers: new SharedInformerFactory({ client, clock, random, logger }),
        clock,
        random,
        logger,
        configuration: this.#control.schedulerConfiguration,
        plugins: this.#control.schedulerPlugins,
        metrics: this.#schedulerMetrics,
        decisions: this.#decisions,
      });
  }

  #whileLeading(
    component: string,
    client: Client,
    work: (held: AbortSignal) => Promise<void>,
  ): (signal: AbortSignal) => Promise<void> {
    const { clock, random, logger } = this.#config;
    const { leaderElect = false } = this.#control;
    const identity = this.#identity;
    const settings = { leaderElect };
    return (signal) =>
      leading({ client, clock, random, logger, component, identity, settings, work }, signal);
  }
}
