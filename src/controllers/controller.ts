// The interface of a controller, and what the controller manager gives to each.

import type { Client } from '#client/client.ts';
import type { SharedInformerFactory } from '#client/informers/index.ts';
import type { QueueMetrics } from '#client/workqueue/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Instruments } from '#machinery/metrics/instruments.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';

/** The dependencies of a controller, which the controller manager injects. */
export interface ControllerConfig {
  readonly client: Client;
  readonly informers: SharedInformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Returns the metrics of the queue of this name. Default: no metrics are counted. */
  readonly queueMetrics?: <K>(name: string) => QueueMetrics<K>;
  /** The controller's own metrics, under upstream's names. Default: they are not published. */
  readonly instruments?: Instruments;
}

export interface Controller {
  readonly name: string;
  /**
   * Runs until the signal aborts, and resolves when nothing is in flight. The controller manager
   * starts the informers that the constructor asked for; the controller waits until they have
   * synced.
   */
  run(signal: AbortSignal): Promise<void>;
}
