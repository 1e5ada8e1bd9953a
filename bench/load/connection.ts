// The interface of a connection of the load generator, for every version of HTTP.

export interface Reply {
  readonly status: number;
  /** Bytes of the body. */
  readonly length: number;
}

export interface Connection {
  /**
   * Sends one request at a time. The body may be changed when this has returned. Rejects if the
   * connection fails.
   */
  request(method: string, path: string, body: Buffer | undefined): Promise<Reply>;
  /** The server wants a new connection for further requests. */
  readonly isClosing: boolean;
  close(): void;
}

/** A connection that is opened anew when the server wants it. */
export class ReopenedConnection implements Connection {
  readonly isClosing = false;
  readonly #open: () => Promise<Connection>;
  #connection: Connection;

  static async open(open: () => Promise<Connection>): Promise<ReopenedConnection> {
    return new ReopenedConnection(open, await open());
  }

  private constructor(open: () => Promise<Connection>, connection: Connection) {
    this.#open = open;
    this.#connection = connection;
  }

  request(method: string, path: string, body: Buffer | undefined): Promise<Reply> {
    return this.#connection.isClosing
      ? this.#reopen(method, path, body && Buffer.from(body))
      : this.#connection.request(method, path, body);
  }

  async #reopen(method: string, path: string, body: Buffer | undefined): Promise<Reply> {
    this.#connection.close();
    this.#connection = await this.#open();
    return this.#connection.request(method, path, body);
  }

  close(): void {
    this.#connection.close();
  }
}
