// A program for network namespaces in tests: it serves, and sends on request. It is passed to `node
// -e` as text, because namespaces need separate processes.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** A request as the server received it. */
export interface Seen {
  /** The address of the client. */
  readonly source: string;
  readonly bytes: number;
}

const PROGRAM = `
const net = require('node:net'), dgram = require('node:dgram');
const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
const plain = (address) => (address || '').replace('::ffff:', '');
const actions = {
  serve: ({ host, port }) => new Promise((resolve, reject) => {
    const server = net.createServer({ allowHalfOpen: true }, (socket) => {
      let bytes = 0;
      const source = plain(socket.remoteAddress);
      socket.on('data', (chunk) => (bytes += chunk.length)).on('error', () => {});
      socket.on('end', () => socket.end(JSON.stringify({ source, bytes })));
    }).on('error', reject);
    const udp = dgram.createSocket(host.includes(':') ? 'udp6' : 'udp4').on('error', reject);
    udp.on('message', (data, from) => {
      const seen = JSON.stringify({ source: plain(from.address), bytes: data.length });
      udp.send(seen, from.port, from.address, () => {});
    });
    server.listen(port, host, () => udp.bind(port, host, () => resolve('ok')));
  }),
  tcp: ({ host, port, bytes, timeoutMs }) => new Promise((resolve) => {
    const socket = net.connect({ host, port });
    let text = '';
    const timer = setTimeout(() => done(null), timeoutMs);
    const done = (result) => { clearTimeout(timer); socket.destroy(); resolve(result); };
    socket.on('connect', () => socket.end(Buffer.alloc(bytes)));
    socket.on('data', (chunk) => (text += chunk)).on('error', () => done(null));
    socket.on('end', () => done(text ? JSON.parse(text) : null));
  }),
  udp: ({ host, port, bytes, timeoutMs }) => new Promise((resolve) => {
    const socket = dgram.createSocket(host.includes(':') ? 'udp6' : 'udp4');
    const timer = setTimeout(() => done(null), timeoutMs);
    const done = (result) => { clearTimeout(timer); socket.close(); resolve(result); };
    socket.on('message', (data) => done(JSON.parse(String(data)))).on('error', () => done(null));
    socket.send(Buffer.alloc(bytes), port, host, () => {});
  }),
  // Sends datagrams until the next call, which returns how many of them were answered.
  stream: ({ host, port, everyMs }) => {
    if (actions.running) { const end = actions.running; actions.running = undefined; return end(); }
    const socket = dgram.createSocket('udp4');
    let sent = 0, answered = 0;
    socket.on('message', () => answered++).on('error', () => {});
    const timer = setInterval(() => { sent++; socket.send('x', port, host, () => {}); }, everyMs);
    actions.running = () => new Promise((resolve) => {
      clearInterval(timer);
      setTimeout(() => { socket.close(); resolve({ sent, answered }); }, 300);
    });
    return 'ok';
  },
};
require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, action, ...rest } = JSON.parse(line);
  try { say({ id, result: await actions[action](rest) }); } catch (error) { say({ id, error: String(error) }); }
}).on('close', () => process.exit(0));
`;

const PROBE_PORT = 7000;

export class Prober {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  #next = 0;

  /** @param prefix a program and arguments in front of node, such as `ip netns exec NAME` */
  constructor(prefix: readonly string[]) {
    const [program = '', ...args] = [...prefix, process.execPath, '-e', PROGRAM];
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#child.stdout === null) throw new Error('the prober has no output');
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const { id, result, error } = JSON.parse(line) as {
        id: number;
        result?: unknown;
        error?: string;
      };
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(error));
    });
    this.#child.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the prober has ended'));
    });
  }

  /**
   * Serves TCP and UDP: the response contains the client's address and the number of received
   * bytes.
   */
  async serve(host: string): Promise<void> {
    await this.#ask({ action: 'serve', host, port: PROBE_PORT });
  }

  /** Sends this number of bytes. Returns null if there is no response in time. */
  async send(
    protocol: 'tcp' | 'udp',
    host: string,
    bytes = 1,
    timeoutMs = 1000,
  ): Promise<Seen | null> {
    return (await this.#ask({
      action: protocol,
      host,
      port: PROBE_PORT,
      bytes,
      timeoutMs,
    })) as Seen | null;
  }

  async startStream(host: string): Promise<void> {
    await this.#ask({ action: 'stream', host, port: PROBE_PORT, everyMs: 5 });
  }

  async endStream(): Promise<{ readonly sent: number; readonly answered: number }> {
    return (await this.#ask({ action: 'stream' })) as { sent: number; answered: number };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.stdin?.end();
    await ended;
  }

  #ask(message: object): Promise<unknown> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdin?.write(`${JSON.stringify({ id, ...message })}\n`);
    });
  }
}
