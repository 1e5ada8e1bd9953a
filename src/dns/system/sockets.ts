// The interface of this layer to the system: listening, asking upstream servers, and reading
// resolv.conf. Tests have an implementation in memory.

export interface SocketAddress {
  readonly address: string;
  readonly port: number;
}

export interface UdpListener {
  /** The port, also if any free port was requested. */
  readonly port: number;
  /** Sends a message without a guarantee of delivery. Never throws. */
  send(message: Buffer, to: SocketAddress): void;
  close(): Promise<void>;
}

export interface TcpListener {
  readonly port: number;
  /** Stops listening, and closes the connections. */
  close(): Promise<void>;
}

/** A client's connection. */
export interface TcpConnection {
  readonly remote: SocketAddress;
  /** Sets the only callback for data; data that arrived before is passed to it. */
  onData(callback: (data: Buffer) => void): void;
  /** Sets the callback for the end of the connection, which is called once. */
  onClose(callback: () => void): void;
  /**
   * Writes data. Returns false if the client does not keep up; onDrain then reports when it does
   * again.
   */
  write(data: Buffer): boolean;
  onDrain(callback: () => void): void;
  /** Pauses and resumes reading. */
  pause(): void;
  resume(): void;
  /** Closes the connection at once. Idempotent. */
  destroy(): void;
}

/** Files of this machine. */
export interface DnsFiles {
  /** Returns the text of a file; undefined if there is none. Rejects with the system's error. */
  read(path: string): Promise<string | undefined>;
  /** Returns the names of the files in a folder; none if there is no such folder. */
  list(folder: string): Promise<readonly string[]>;
}

/** A page that is served over HTTP. */
export interface HttpPage {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
}

export interface DnsSockets {
  /** Listens at the address. Rejects with the system's error if it cannot. */
  listenUdp(
    at: SocketAddress,
    onMessage: (message: Buffer, from: SocketAddress) => void,
  ): Promise<UdpListener>;
  listenTcp(
    at: SocketAddress,
    onConnection: (connection: TcpConnection) => void,
  ): Promise<TcpListener>;
  /**
   * Serves pages over HTTP, by path. Connections of clients for which `allows` returns false are
   * closed.
   */
  serveHttp(
    at: SocketAddress,
    page: (path: string) => HttpPage | undefined,
    allows: (address: string) => boolean,
  ): Promise<TcpListener>;
  /**
   * Sends a question over UDP from a random port that is used for this question only. Packets of
   * other senders, and packets for which `accept` returns false, are ignored. Rejects with the
   * system's error, or with the signal's reason.
   */
  askUdp(
    server: SocketAddress,
    message: Buffer,
    accept: (answer: Buffer) => boolean,
    signal: AbortSignal,
  ): Promise<Buffer>;
  /** The same over TCP, with its own connection. Rejects if the first message is not accepted. */
  askTcp(
    server: SocketAddress,
    message: Buffer,
    accept: (answer: Buffer) => boolean,
    signal: AbortSignal,
  ): Promise<Buffer>;
  /** Returns the node's resolv.conf; '' if there is none. */
  readResolvConf(): Promise<string>;
}
