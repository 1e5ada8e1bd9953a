// What every controller is made of and looks like.

import type { Client } from '#client/client.ts';
import type { SharedInformerFactory } from '#client/informers/index.ts';
import type { QueueMetrics } from '#client/workqueue/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Instruments } from '#machinery/metrics/instruments.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';

/** What the controller manager hands to each controller. */
export interface ControllerConfig {
  readonly client: Client;
  readonly informers: SharedInformerFactory;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Counts what happens to the queue of this name. Default: nothing is counted. */
  readonly queueMetrics?: <K>(name: string) => QueueMetrics<K>;
  /** Where a controller counts what it does, under the names that Kubernetes' has. Default: what it counts is lost. */
  readonly instruments?: Instruments;
}

export interface Controller {
  readonly name: string;
  /**
   * Works until the signal aborts, and resolves when nothing of it is under way any more. Informers that the constructor
   * asked for are started by the controller manager; a controller waits for those that it needs.
   */
  run(signal: AbortSignal): Promise<void>;
}
