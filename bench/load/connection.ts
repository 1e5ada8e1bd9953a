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
  close(): void;
}
