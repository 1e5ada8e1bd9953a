// The registered DRA drivers of this node. A driver may have several plugins at a time, during a
// rolling update.
//
// ResourceSlices of a driver that has no connected plugin for 30 seconds are deleted, so that no pod
// is scheduled for devices that nothing can prepare. When the kubelet starts, all slices of the node
// are deleted: drivers publish them again when they register.

import { setMaxListeners } from 'node:events';
import type { Clock, Timer } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { isRpcError } from '#machinery/grpc/rpc-error.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import type { Plugin, PluginHandler } from '../plugins/index.ts';
import type { DraDriver } from './driver.ts';
import { DRA_SERVICES, type DraService, type ReportedHealth } from './schema.ts';

export interface DriversConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly open: (socketPath: string, service: DraService) => DraDriver;
  /** Deletes the ResourceSlices of this node, of one driver or all. Rejects if it has to be retried. */
  readonly deleteSlices: (driver: string | undefined) => Promise<void>;
  /** Called with each report of a driver, and with undefined when it sends no more. */
  readonly onHealth: (driver: string, reports: readonly ReportedHealth[] | undefined) => void;
  /** Aborts when the kubelet stops. */
  readonly signal: AbortSignal;
}

interface Registered {
  readonly endpoint: string;
  readonly driver: DraDriver;
  readonly abort: AbortController;
  isConnected: boolean;
}

const WIPE_DELAY_MS = 30_000;
const WIPE_RETRY_MS = 1000;
const MAX_WIPE_RETRY_MS = 300_000;
const RETRY_MS = 5000;

export class DraDrivers implements PluginHandler {
  readonly #config: DriversConfig;
  /** By driver, the latest plugin last. */
  readonly #drivers = new Map<string, Registered[]>();
  readonly #wipes = new Map<string, Timer>();
  /** Resolves when the slices of the last run are deleted. */
  #started: Promise<void> = Promise.resolve();

  constructor(config: DriversConfig) {
    this.#config = config;
    setMaxListeners(0, config.signal);
    config.signal.addEventListener('abort', () => this.#stop(), { once: true });
  }

  /** Deletes the slices of drivers that are not registered yet. Resolves when it is done. */
  start(): Promise<void> {
    const wiped = this.#wipe(undefined, this.#config.signal);
    // Errors are those of the caller.
    this.#started = wiped.catch(() => undefined);
    return wiped;
  }

  /** Returns the driver's latest plugin, preferably a connected one. Throws if there is none. */
  get(name: string): DraDriver {
    const plugins = this.#drivers.get(name) ?? [];
    const found = plugins.findLast(({ isConnected }) => isConnected) ?? plugins.at(-1);
    if (found === undefined) throw new Error(`DRA driver ${name} is not registered`);
    return found.driver;
  }

  validate(plugin: Plugin): void {
    chooseService(plugin);
  }

  async register(plugin: Plugin): Promise<void> {
    const { name, endpoint } = plugin;
    const service = chooseService(plugin);
    // Otherwise slices that the driver publishes when it is registered could be deleted.
    await this.#started;
    const plugins = this.#drivers.get(name) ?? [];
    if (plugins.some((other) => other.endpoint === endpoint))
      throw new Error(`endpoint ${endpoint} already registered for DRA driver plugin ${name}`);
    const registered: Registered = {
      endpoint,
      driver: this.#config.open(endpoint, service),
      abort: new AbortController(),
      isConnected: false,
    };
    this.#drivers.set(name, [...plugins, registered]);
    void this.#followConnection(name, registered);
    void this.#followHealth(name, registered);
    this.#updateWipe(name);
  }

  async deregister({ name, endpoint }: Plugin): Promise<void> {
    const plugins = this.#drivers.get(name) ?? [];
    const gone = plugins.find((plugin) => plugin.endpoint === endpoint);
    if (gone === undefined) return;
    const left = plugins.filter((plugin) => plugin !== gone);
    if (left.length === 0) this.#drivers.delete(name);
    else this.#drivers.set(name, left);
    gone.abort.abort(new Error('the plugin was deregistered'));
    gone.driver.close();
    this.#updateWipe(name);
    return Promise.resolve();
  }

  async #followConnection(name: string, plugin: Registered): Promise<void> {
    const { driver, abort } = plugin;
    const { signal } = abort;
    try {
      while (!signal.aborted) {
        await driver.connected(signal);
        plugin.isConnected = true;
        this.#updateWipe(name);
        await driver.disconnected(signal);
        plugin.isConnected = false;
        this.#updateWipe(name);
      }
    } catch (error) {
      if (!signal.aborted)
        this.#config.logger.error('DRA driver: connection lost', { driver: name, err: error });
    }
  }

  async #followHealth(name: string, { driver, abort }: Registered): Promise<void> {
    const { clock, logger, onHealth } = this.#config;
    const { signal } = abort;
    while (!signal.aborted) {
      let isReported = false;
      try {
        for await (const reports of driver.watchHealth(signal)) {
          isReported = true;
          onHealth(name, reports);
        }
      } catch (error) {
        // The service is optional.
        if (!signal.aborted && !isRpcError(error, 'UNIMPLEMENTED'))
          logger.debug('DRA driver: stream of health ended', { driver: name, err: error });
      }
      if (isReported) onHealth(name, undefined);
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
    }
  }

  /** Plans or cancels the deletion of the driver's slices. */
  #updateWipe(name: string): void {
    const { clock, logger, signal } = this.#config;
    if (signal.aborted) return;
    const pending = this.#wipes.get(name);
    if ((this.#drivers.get(name) ?? []).some(({ isConnected }) => isConnected)) {
      pending?.cancel();
      this.#wipes.delete(name);
      return;
    }
    if (pending !== undefined) return;
    const timer = clock.setTimer(WIPE_DELAY_MS, () => {
      this.#wipe(name, signal, () => this.#wipes.get(name) === timer)
        .catch((error: unknown) =>
          logger.debug('DRA driver: ResourceSlices not deleted', { driver: name, err: error }),
        )
        .finally(() => {
          if (this.#wipes.get(name) === timer) this.#wipes.delete(name);
        });
    });
    this.#wipes.set(name, timer);
  }

  /** Deletes the slices, and retries as long as it is wanted. */
  async #wipe(
    driver: string | undefined,
    signal: AbortSignal,
    isWanted: () => boolean = () => true,
  ): Promise<void> {
    const { clock, random, logger, deleteSlices } = this.#config;
    for (let delayMs = WIPE_RETRY_MS; isWanted() && !signal.aborted; delayMs *= 2) {
      try {
        await deleteSlices(driver);
        logger.debug('DRA drivers: ResourceSlices deleted', { driver: driver ?? '<any>' });
        return;
      } catch (error) {
        logger.debug('DRA drivers: ResourceSlices not deleted, retrying', {
          driver: driver ?? '<any>',
          reason: errorMessage(error),
        });
      }
      await clock.sleep(wait.jitter(random, Math.min(delayMs, MAX_WIPE_RETRY_MS), 0.2), signal);
    }
  }

  #stop(): void {
    for (const timer of this.#wipes.values()) timer.cancel();
    this.#wipes.clear();
    for (const plugins of this.#drivers.values()) {
      for (const { abort, driver } of plugins) {
        abort.abort(new Error('the kubelet stops'));
        driver.close();
      }
    }
    this.#drivers.clear();
  }
}

/** Returns the service to use. Throws the reason if the kubelet has none of the plugin's. */
function chooseService({ name, endpoint, versions }: Plugin): DraService {
  const isKnown = (service: string): service is DraService =>
    DRA_SERVICES.some((known) => known === service);
  const chosen = versions.find(isKnown);
  if (chosen !== undefined) return chosen;
  const quoted = (list: readonly string[]): string =>
    `[${list.map((service) => JSON.stringify(service)).join(' ')}]`;
  const problem =
    versions.length === 0
      ? 'empty list of supported gRPC services (aka supported versions)'
      : `none of services supported by the plugin (${quoted(versions)}) are supported by the ` +
        `kubelet (${quoted(DRA_SERVICES)})`;
  throw new Error(
    `invalid supported gRPC versions of DRA driver plugin ${name} at endpoint ${endpoint}: ${problem}`,
  );
}
