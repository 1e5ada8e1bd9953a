// A port that is open before the server behind it exists: the Node announces it, and the first
// connection is the reason to make the server. Connections wait until the server adopts the port,
// and wait again after the port was reclaimed from the server.

import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Logger } from '#machinery/log.ts';
import type { ServerListenConfig } from './config.ts';
import type { OpenPort, PortHandlers, PortOpener } from './listeners.ts';

/** The number of connections that may wait for the server; further ones are closed. */
const MAX_WAITING = 100;

export class HeldPort implements PortOpener {
  readonly #listeners: PortOpener;
  readonly #logger: Logger;
  #onConnection: () => void;
  /** In their order: what has happened on the port and has not been handled. */
  readonly #waiting: { readonly socket: Socket; readonly handle: (to: PortHandlers) => void }[] =
    [];
  #open: OpenPort | undefined;
  #adopted: PortHandlers | undefined;

  private constructor(listeners: PortOpener, logger: Logger, onConnection: () => void) {
    this.#listeners = listeners;
    this.#logger = logger;
    this.#onConnection = onConnection;
  }

  /**
   * Opens the configured port. `onConnection` is called for each connection that waits. Rejects
   * with the system's error if the port cannot be opened and is not optional.
   */
  static async open(
    { listeners, port, orFreePort, optional }: ServerListenConfig,
    logger: Logger,
    onConnection: () => void,
  ): Promise<HeldPort> {
    const held = new HeldPort(listeners, logger, onConnection);
    try {
      held.#open = await listeners.open(port, held.#handlers(), orFreePort);
    } catch (error) {
      if (optional !== true) throw error;
      logger.warn('kubelet: listening failed', { port, err: error });
    }
    return held;
  }

  /** The open port; 0 without one. */
  get port(): number {
    return this.#open?.port ?? 0;
  }

  get host(): string | undefined {
    return this.#listeners.host;
  }

  /**
   * Passes the port to the server, with the connections that wait. If it is not open, opens the
   * given one. Closing the returned port has no effect once the port was reclaimed.
   */
  async open(port: number, handlers: PortHandlers, orFree?: boolean): Promise<OpenPort> {
    this.#open ??= await this.#listeners.open(port, this.#handlers(), orFree);
    this.#adopted = handlers;
    for (const { socket, handle } of this.#waiting.splice(0))
      if (!socket.destroyed) handle(handlers);
    return {
      port: this.#open.port,
      close: async () => {
        if (this.#adopted === handlers) await this.close();
      },
    };
  }

  /**
   * Takes the port back from the server that has adopted it. New connections wait for the next
   * server, and `onConnection` is called for each of them.
   */
  reclaim(onConnection: () => void): void {
    this.#adopted = undefined;
    this.#onConnection = onConnection;
  }

  /** Closes the port and the connections that wait. */
  async close(): Promise<void> {
    for (const { socket } of this.#waiting.splice(0)) socket.destroy();
    const open = this.#open;
    this.#open = undefined;
    await open?.close();
  }

  #handlers(): PortHandlers {
    return {
      accepted: (socket) => this.#pass(socket, (to) => to.accepted(socket)),
      secured: (socket) => this.#secured(socket),
    };
  }

  #secured(socket: TLSSocket): void {
    if (this.#adopted === undefined)
      socket.on('error', (err) => this.#logger.debug('kubelet: connection failed', { err }));
    this.#pass(socket, (to) => to.secured(socket));
  }

  #pass(socket: Socket, handle: (to: PortHandlers) => void): void {
    if (this.#adopted !== undefined) handle(this.#adopted);
    else if (this.#waiting.length >= 2 * MAX_WAITING) socket.destroy();
    else {
      this.#waiting.push({ socket, handle });
      this.#onConnection();
    }
  }
}
