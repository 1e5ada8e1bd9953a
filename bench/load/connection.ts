// What the load generator needs of a connection, whatever version of HTTP it speaks.

export interface Reply {
  readonly status: number;
  /** Bytes of the body. */
  readonly length: number;
}

export interface Connection {
  /** One at a time. Rejects if the connection fails. */
  request(method: string, path: string, body: string | undefined): Promise<Reply>;
  close(): void;
}
