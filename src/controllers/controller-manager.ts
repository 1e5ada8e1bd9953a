// Runs the controllers, on one set of informers.

import { sharedByMany } from '#client/abort.ts';
import type { Client } from '#client/client.ts';
import { SharedInformerFactory } from '#client/informers/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import {
  CONTROLLER_NAMES,
  controllerEntry,
  type ControllerName,
  type ControllerNeeds,
} from './controllers.ts';
import type { ControllerManagerMetrics } from './metrics.ts';

export interface ControllerManagerConfig extends ControllerNeeds {
  /** The client of the controller manager itself, which the informers read through. */
  readonly client: Client;
  /**
   * Returns the client of a controller. It authenticates as a ServiceAccount of kube-system, so
   * that the controller has the permissions of its role and no more. Default: every controller uses
   * `client`.
   */
  readonly clientOf?: (account: string) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * The informers. They may be shared with other components; the manager starts them in any case.
   * Default: the manager creates its own.
   */
  readonly informers?: SharedInformerFactory;
  /**
   * The controllers to run (see `selectControllers`). Default: every controller whose dependencies
   * are there.
   */
  readonly controllers?: readonly ControllerName[];
  /** The metrics of controllers and their queues. Default: no metrics are counted. */
  readonly metrics?: ControllerManagerMetrics;
}

export class ControllerManager {
  readonly #config: ControllerManagerConfig;

  constructor(config: ControllerManagerConfig) {
    this.#config = config;
  }

  /**
   * Runs the controllers until the signal aborts; resolves when no work of theirs is in flight. A
   * controller that fails is a bug: the error is thrown after the others have stopped. May be
   * called again after that.
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
    // Even without controllers it runs, and leads, until it is stopped.
    if (controllers.length === 0)
      await new Promise<void>((resolve) => {
        if (stop.aborted) resolve();
        else stop.addEventListener('abort', () => resolve(), { once: true });
      });
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
