// Registers the plugins of this node: whenever a socket appears in the plugin directory, asks the
// plugin behind it for its description and hands that to the handler of the plugin's type; when the
// socket is gone or another one is in its place, withdraws the plugin.
//
// Each socket has its own sequence of operations and its own back-off, so a plugin that hangs or
// crashes delays no other.

import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Logger } from '#machinery/log.ts';
import { Backoff } from '../backoff.ts';
import type { PluginDirectory, PluginSocket } from './plugin-directory.ts';
import type { Plugin, Registration } from './registration-client.ts';

/** Handles the plugins of one type. Calls for one socket never overlap; those for others may. */
export interface PluginHandler {
  /** Throws with the reason if a plugin like this cannot be registered. */
  validate(plugin: Plugin): void;
  /** Starts to use the plugin. Rejects with the reason if it cannot be used. */
  register(plugin: Plugin, signal: AbortSignal): Promise<void>;
  /** Stops using the plugin, which may be gone already. */
  deregister(plugin: Plugin): Promise<void>;
}

export interface PluginManagerConfig {
  readonly directory: PluginDirectory;
  readonly open: (socketPath: string) => Registration;
  /** By the type that plugins state, for example 'CSIPlugin'. */
  readonly handlers: Readonly<Record<string, PluginHandler>>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The state of one socket path. */
interface Slot {
  /** The socket that is wanted; undefined if there is none at the path. */
  wanted: PluginSocket | undefined;
  registered: { readonly identity: string; readonly plugin: Plugin } | undefined;
  busy: boolean;
}

const SCAN_MS = 10_000;
const RETRY_MS = 500;
const MAX_RETRY_MS = 122_000;

export class PluginManager {
  readonly #config: PluginManagerConfig;
  readonly #slots = new Map<string, Slot>();
  readonly #backoff: Backoff;
  readonly #work = new Set<Promise<void>>();
  #changed = false;
  #wake: (() => void) | undefined;

  constructor(config: PluginManagerConfig) {
    this.#config = config;
    this.#backoff = new Backoff(config.clock, RETRY_MS, MAX_RETRY_MS);
  }

  /** The registered plugins. */
  get plugins(): readonly Plugin[] {
    return [...this.#slots.values()].flatMap(({ registered }) =>
      registered === undefined ? [] : [registered.plugin],
    );
  }

  /** Follows the directory until the signal aborts; resolves when all operations have ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { directory, clock, logger } = this.#config;
    const wake = (): void => {
      this.#changed = true;
      this.#wake?.();
    };
    directory.watch(wake, signal);
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      this.#changed = false;
      try {
        this.#look(await directory.scan(), signal);
      } catch (error) {
        logger.error('plugin manager: plugin directory not read', { err: error });
      }
      if (this.#changed) continue;
      await new Promise<void>((resolve) => {
        const timer = clock.setTimer(this.#untilNext(), resolve);
        this.#wake = () => {
          timer.cancel();
          resolve();
        };
      });
      this.#wake = undefined;
    }
    await Promise.all(this.#work);
  }

  /** Returns the time until the next scan or retry, in milliseconds. */
  #untilNext(): number {
    const { clock } = this.#config;
    const due = [...this.#slots.keys()].flatMap((path) => {
      const until = this.#backoff.blockedSinceUpdate(path);
      return until === undefined ? [] : [until - clock.now()];
    });
    return Math.max(1, Math.min(SCAN_MS, ...due));
  }

  #look(sockets: readonly PluginSocket[], signal: AbortSignal): void {
    const present = new Map(sockets.map((socket) => [socket.path, socket]));
    for (const path of present.keys()) {
      if (!this.#slots.has(path))
        this.#slots.set(path, { wanted: undefined, registered: undefined, busy: false });
    }
    for (const [path, slot] of this.#slots) {
      const socket = present.get(path);
      // Another plugin is not delayed by the failures of the one before.
      if (socket?.identity !== slot.wanted?.identity) this.#backoff.reset(path);
      slot.wanted = socket;
      this.#proceed(path, slot, signal);
    }
  }

  /** Starts the next operation of a socket, unless one is in flight or has to wait. */
  #proceed(path: string, slot: Slot, signal: AbortSignal): void {
    const { wanted, registered } = slot;
    if (slot.busy || signal.aborted) return;
    if (registered !== undefined && registered.identity === wanted?.identity) return;
    if (registered === undefined && wanted === undefined) {
      this.#slots.delete(path);
      this.#backoff.reset(path);
      return;
    }
    if (registered === undefined && this.#backoff.blockedSinceUpdate(path) !== undefined) return;
    slot.busy = true;
    const operation =
      registered !== undefined
        ? this.#deregister(slot, registered.plugin)
        : this.#register(slot, wanted!, signal);
    const work = operation
      .catch((error: unknown) => {
        if (signal.aborted) return;
        this.#backoff.next(path, this.#config.clock.now());
        this.#config.logger.error('plugin manager: operation failed', { path, err: error });
      })
      .finally(() => {
        slot.busy = false;
        this.#work.delete(work);
        // The directory may have changed meanwhile, and a retry may be due.
        this.#changed = true;
        this.#wake?.();
      });
    this.#work.add(work);
  }

  async #register(slot: Slot, socket: PluginSocket, signal: AbortSignal): Promise<void> {
    const { open, handlers, logger } = this.#config;
    const { path, identity } = socket;
    const connection = open(path);
    const reject = async (message: string): Promise<never> => {
      await connection.notify(message, signal);
      throw new Error(message);
    };
    try {
      const plugin = await explained(
        connection.info(signal),
        `RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket ${path}, err`,
      );
      const handler = Object.hasOwn(handlers, plugin.type) ? handlers[plugin.type] : undefined;
      if (handler === undefined) {
        return await reject(
          `RegisterPlugin error -- no handler registered for plugin type: ${plugin.type} at socket ${path}`,
        );
      }
      try {
        handler.validate(plugin);
      } catch (error) {
        return await reject(
          `RegisterPlugin error -- plugin validation failed with err: ${errorMessage(error)}`,
        );
      }
      try {
        await handler.register(plugin, signal);
      } catch (error) {
        return await reject(
          `RegisterPlugin error -- plugin registration failed with err: ${errorMessage(error)}`,
        );
      }
      try {
        await explained(
          connection.notify('', signal),
          `RegisterPlugin error -- failed to send registration status at socket ${path}, err`,
        );
      } catch (error) {
        await handler.deregister(plugin);
        throw error;
      }
      slot.registered = { identity, plugin };
      this.#backoff.reset(path);
      const { name, type, endpoint } = plugin;
      logger.info('plugin registered', { plugin: name, type, endpoint });
    } finally {
      connection.close();
    }
  }

  async #deregister(slot: Slot, plugin: Plugin): Promise<void> {
    // Removed first: a failed removal is logged, and the socket can be registered again.
    slot.registered = undefined;
    await this.#config.handlers[plugin.type]!.deregister(plugin);
    this.#config.logger.info('plugin deregistered', { plugin: plugin.name, type: plugin.type });
  }
}

async function explained<T>(work: Promise<T>, what: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new Error(`${what}: ${errorMessage(error)}`, { cause: error });
  }
}
