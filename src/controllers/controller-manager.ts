// Runs the controllers, on one set of informers.

import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { CONTROLLER_NAMES, controllerEntry } from './controllers.ts';
import type { ControllerName, ControllerNeeds } from './controllers.ts';
import type { ControllerManagerMetrics } from './metrics.ts';

export interface ControllerManagerConfig extends ControllerNeeds {
  /** As the controller manager: what the informers read through. */
  readonly client: Client;
  /**
   * The client of a controller: as a ServiceAccount of kube-system, so that each may do what its
   * role says and no more. Default: all of them use `client`.
   */
  readonly clientOf?: (account: string) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * Default: a factory of its own. One that is given may serve other components too; the manager
   * starts it in any case.
   */
  readonly informers?: SharedInformerFactory;
  /**
   * Which controllers run (see `selectControllers`). Default: all for which there is what they
   * need.
   */
  readonly controllers?: readonly ControllerName[];
  /** The metrics of controllers and their queues. Default: nothing is counted. */
  readonly metrics?: ControllerManagerMetrics;
}

export class ControllerManager {
  readonly #config: ControllerManagerConfig;

  constructor(config: ControllerManagerConfig) {
    this.#config = config;
  }

  /**
   * Runs the controllers until the signal aborts; resolves when nothing of them is under way any
   * more. A controller that fails is a bug: the failure is thrown, when the others have been
   * stopped. May be called again after that.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { client, clientOf, clock, random, logger, metrics } = this.#config;
    const queueMetrics =
      metrics === undefined ? undefined : <K>(name: string) => metrics.queue<K>(name);
    const failed = new AbortController();
    const stop = sharedByMany(AbortSignal.any([signal, failed.signal]));
    const informers =
      this.#config.informers ?? new SharedInformerFactory({ client, clock, random, logger });
    const controllers = (this.#config.controllers ?? CONTROLLER_NAMES).flatMap((name) => {
      const { account, make } = controllerEntry(name);
      const own = account === undefined ? client : (clientOf?.(account) ?? client);
      const config = {
        client: own,
        clock,
        random,
        informers,
        logger: logger.with({ controller: name }),
      };
      const counting =
        metrics === undefined ? {} : { queueMetrics, instruments: metrics.instruments };
      const controller = make({ ...config, ...counting }, this.#config);
      return controller === undefined ? [] : [{ name, controller }];
    });
    informers.start(stop);
    const results = await Promise.allSettled(
      controllers.map(async ({ name, controller }) => {
        metrics?.started(name);
        try {
          await controller.run(stop);
        } catch (error) {
          if (stop.aborted) return;
          logger.error('a controller failed', { controller: name, err: error });
          failed.abort(error);
          throw error;
        } finally {
          metrics?.stopped(name);
        }
      }),
    );
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
  }
}
