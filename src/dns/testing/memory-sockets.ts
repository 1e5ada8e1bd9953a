// Sockets in memory, for tests: listeners are called directly, and upstream servers are functions.

import type { DnsSockets, HttpPage, SocketAddress, TcpConnection } from '../system/sockets.ts';

/** Returns the packets that arrive for a question. undefined: none, ever. */
export type FakeServer = (message: Buffer, tcp: boolean) => readonly Buffer[] | undefined;

interface Sent {
  readonly message: Buffer;
  readonly to: SocketAddress;
}

export class MemorySockets implements DnsSockets {
  readonly servers = new Map<string, FakeServer>();
  /** Questions that were sent to upstream servers. */
  readonly asked: { readonly server: string; readonly message: Buffer; readonly tcp: boolean }[] =
    [];
  readonly sent: Sent[] = [];
  resolvConf = '';
  /** Addresses that are in use. */
  readonly taken = new Set<string>();
  readonly #pages = new Map<number, (path: string) => HttpPage | undefined>();
  #receive: ((message: Buffer, from: SocketAddress) => void) | undefined;
  #connect: ((connection: TcpConnection) => void) | undefined;

  async listenUdp(at: SocketAddress, onMessage: (message: Buffer, from: SocketAddress) => void) {
    if (this.taken.has(`${at.address}:${at.port}`))
      throw Object.assign(new Error('taken'), { code: 'EADDRINUSE' });
    this.#receive = onMessage;
    return {
      port: at.port === 0 ? 4053 : at.port,
      send: (message: Buffer, to: SocketAddress) => void this.sent.push({ message, to }),
      close: async () => void (this.#receive = undefined),
    };
  }

  async listenTcp(at: SocketAddress, onConnection: (connection: TcpConnection) => void) {
    this.#connect = onConnection;
    return { port: at.port, close: async () => void (this.#connect = undefined) };
  }

  async serveHttp(at: SocketAddress, page: (path: string) => HttpPage | undefined) {
    this.#pages.set(at.port, page);
    return { port: at.port, close: async () => void this.#pages.delete(at.port) };
  }

  /** Requests a page. */
  page(port: number, path: string): HttpPage | undefined {
    return this.#pages.get(port)?.(path);
  }

  /** Delivers a packet of a client. */
  receive(message: Buffer, from: SocketAddress): void {
    this.#receive?.(message, from);
  }

  connect(connection: TcpConnection): void {
    this.#connect?.(connection);
  }

  askUdp(
    server: SocketAddress,
    message: Buffer,
    accept: (answer: Buffer) => boolean,
    signal: AbortSignal,
  ): Promise<Buffer> {
    return this.#ask(server, message, accept, signal, false);
  }

  askTcp(
    server: SocketAddress,
    message: Buffer,
    accept: (answer: Buffer) => boolean,
    signal: AbortSignal,
  ): Promise<Buffer> {
    return this.#ask(server, message, accept, signal, true);
  }

  async #ask(
    { address, port }: SocketAddress,
    message: Buffer,
    accept: (answer: Buffer) => boolean,
    signal: AbortSignal,
    tcp: boolean,
  ): Promise<Buffer> {
    const server = `${address}:${port}`;
    this.asked.push({ server, message, tcp });
    const accepted = this.servers
      .get(server)?.(message, tcp)
      ?.find((packet) => accept(packet));
    if (accepted !== undefined) return accepted;
    return new Promise((_resolve, reject) => {
      const fail = (): void => reject(signal.reason as Error);
      if (signal.aborted) fail();
      else signal.addEventListener('abort', fail, { once: true });
    });
  }

  readResolvConf(): Promise<string> {
    return Promise.resolve(this.resolvConf);
  }
}

/** A client's connection. Tests send and read its data. */
export class MemoryConnection implements TcpConnection {
  readonly remote: SocketAddress;
  readonly written: Buffer[] = [];
  destroyed = false;
  paused = false;
  /** False: the client reads no more data. */
  writable = true;
  #onData: (data: Buffer) => void = () => undefined;
  #onClose: () => void = () => undefined;
  #onDrain: () => void = () => undefined;

  constructor(address = '10.244.0.9') {
    this.remote = { address, port: 40_000 };
  }

  onData(callback: (data: Buffer) => void): void {
    this.#onData = callback;
  }

  onClose(callback: () => void): void {
    this.#onClose = callback;
  }

  onDrain(callback: () => void): void {
    this.#onDrain = callback;
  }

  write(data: Buffer): boolean {
    this.written.push(data);
    return this.writable;
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#onClose();
  }

  send(data: Buffer): void {
    this.#onData(data);
  }

  drain(): void {
    this.writable = true;
    this.#onDrain();
  }

  /** Returns the written messages, without their length prefixes. */
  messages(): readonly Buffer[] {
    return this.written.map((data) => data.subarray(2));
  }
}

/** Returns a message with its length prefix. */
export function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(2);
  prefix.writeUInt16BE(message.length);
  return Buffer.concat([prefix, message]);
}
