// All that this layer does with the system: listening, asking upstream servers, and reading
// resolv.conf. Tests have one in memory.

export interface SocketAddress {
  readonly address: string;
  readonly port: number;
}

export interface UdpListener {
  /** The port, also where any free one was asked for. */
  readonly port: number;
  /** Sends or drops: there is no more certainty with UDP. Never throws. */
  send(message: Buffer, to: SocketAddress): void;
  close(): Promise<void>;
}

export interface TcpListener {
  readonly port: number;
  /** Ends the connections, too. */
  close(): Promise<void>;
}

/** A client's connection. */
export interface TcpConnection {
  readonly remote: SocketAddress;
  /** At most one; data that arrived before is kept for it. */
  onData(callback: (data: Buffer) => void): void;
  /** Called once, however the connection ends. */
  onClose(callback: () => void): void;
  /** False: the client does not keep up, and onDrain says when it does again. */
  write(data: Buffer): boolean;
  onDrain(callback: () => void): void;
  /** Stops and continues reading. */
  pause(): void;
  resume(): void;
  /** At once. Idempotent. */
  destroy(): void;
}

export interface DnsSockets {
  /** Rejects with the system's error if it cannot listen there. */
  listenUdp(
    at: SocketAddress,
    onMessage: (message: Buffer, from: SocketAddress) => void,
  ): Promise<UdpListener>;
  listenTcp(
    at: SocketAddress,
    onConnection: (connection: TcpConnection) => void,
  ): Promise<TcpListener>;
  /**
   * Serves the text as Prometheus reads it, by HTTP at /metrics. Connections of clients that
   * `allows` returns false for are closed.
   */
  serveMetrics(
    at: SocketAddress,
    text: () => string,
    allows: (address: string) => boolean,
  ): Promise<TcpListener>;
  /**
   * Asks a server from a port that the system chooses anew, at random, for this one question.
   * Packets of other senders, and those that `accept` returns false for, are ignored. Rejects with
   * the system's error, or with the signal's reason.
   */
  askUdp(
    server: SocketAddress,
    message: Buffer,
    accept: (answer: Buffer) => boolean,
    signal: AbortSignal,
  ): Promise<Buffer>;
  /** The same by TCP, on a connection of its own. Rejects if the first message is not accepted. */
  askTcp(
    server: SocketAddress,
    message: Buffer,
    accept: (answer: Buffer) => boolean,
    signal: AbortSignal,
  ): Promise<Buffer>;
  /** The text of the node's resolv.conf; '' if there is none. */
  readResolvConf(): Promise<string>;
}
