// What the load generator needs of a connection, whatever version of HTTP it speaks.

export interface Reply {
  readonly status: number;
  /** Bytes of the body. */
  readonly length: number;
}

export interface Connection {
  /**
   * One at a time. The body may be changed when this has returned. Rejects if the connection fails.
   */
  request(method: string, path: string, body: Buffer | undefined): Promise<Reply>;
  close(): void;
}
