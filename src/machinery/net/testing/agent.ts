// A program for network namespaces in tests: it serves, and connects on request. It is passed to
// `node -e` as text, because the namespaces need separate processes.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/**
 * The result of a connection: the server's name and the client's address as the server sees it, or
 * the reason of the failure. `unreachable`: the kernel has no route, or no neighbor answers.
 */
export type Attempt =
  | { readonly server: string; readonly source: string }
  | 'refused'
  | 'timeout'
  | 'unreachable';

export interface Request {
  readonly protocol?: 'tcp' | 'udp';
  readonly host: string;
  readonly port: number;
  /** The port of the client; 0: any. UDP uses the same socket again. */
  readonly localPort?: number;
  readonly localAddress?: string;
  /** Default: 20 s, for connections that should succeed on a busy machine. */
  readonly timeoutMs?: number;
}

const PROGRAM = `
const net = require('node:net'), dgram = require('node:dgram');
const say = (value) => process.stdout.write(JSON.stringify(value) + '\\n');
const plain = (address) => address.replace('::ffff:', '');
const sockets = new Map();
const reasons = { ETIMEDOUT: 'timeout', EHOSTUNREACH: 'unreachable', ENETUNREACH: 'unreachable' };
const reasonOf = (error) => reasons[error.code] || 'refused';
function serve({ name, host, port, udp }) {
  return new Promise((resolve, reject) => {
    if (udp) {
      const socket = dgram.createSocket({ type: host.includes(':') ? 'udp6' : 'udp4' });
      socket.on('message', (_, from) => socket.send(name + ' ' + plain(from.address), from.port, from.address));
      socket.on('error', reject);
      socket.bind(port, host, () => resolve('ok'));
    } else {
      const server = net.createServer((socket) => {
        socket.on('error', () => {});
        socket.end(name + ' ' + plain(socket.remoteAddress || ''));
      });
      server.on('error', reject);
      server.listen(port, host, () => resolve('ok'));
    }
  });
}
function echo({ host, port }) {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => { socket.on('error', () => {}); socket.pipe(socket); });
    server.on('error', reject);
    server.listen(port, host, () => resolve('ok'));
  });
}
const connections = [];
function open({ host, port }) {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host, port });
    socket.on('error', reject);
    socket.on('connect', () => resolve(connections.push(socket) - 1));
  });
}
function exchange({ connection, timeoutMs }) {
  return new Promise((resolve) => {
    const socket = connections[connection], timer = setTimeout(() => resolve(false), timeoutMs);
    socket.once('data', () => { clearTimeout(timer); resolve(true); });
    socket.write('x');
  });
}
const actions = { serve, echo, open, exchange };
const parse = (text) => { const [server, source] = text.split(' '); return { server, source }; };
function tcp({ host, port, localPort, localAddress, timeoutMs }) {
  return new Promise((resolve) => {
    const local = { ...(localPort ? { localPort } : {}), ...(localAddress ? { localAddress } : {}) };
    const socket = net.connect({ host, port, ...local });
    let text = '';
    const timer = setTimeout(() => done('timeout'), timeoutMs);
    const done = (result) => { clearTimeout(timer); socket.destroy(); resolve(result); };
    socket.on('data', (chunk) => (text += chunk));
    socket.on('end', () => done(text === '' ? 'refused' : parse(text)));
    socket.on('error', (error) => done(reasonOf(error)));
  });
}
function udp({ host, port, localPort, localAddress, timeoutMs }) {
  return new Promise((resolve) => {
    const type = host.includes(':') ? 'udp6' : 'udp4', key = type + localPort + localAddress + host + port;
    const kept = localPort ? sockets.get(key) : undefined;
    const socket = kept || dgram.createSocket(type);
    const timer = setTimeout(() => done('timeout'), timeoutMs);
    const done = (result) => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on('error', () => {});
      if (localPort) sockets.set(key, socket); else socket.close();
      resolve(result);
    };
    socket.on('error', (error) => done(reasonOf(error)));
    socket.on('message', (data) => done(parse(String(data))));
    const send = () => socket.send('x', (error) => { if (error) done(reasonOf(error)); });
    if (kept) send();
    else {
      const local = { port: localPort || 0, ...(localAddress ? { address: localAddress } : {}) };
      socket.bind(local, () => socket.connect(port, host, send));
    }
  });
}
require('node:readline').createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, action, ...rest } = JSON.parse(line);
  try {
    say({ id, result: await (actions[action] || (rest.protocol === 'udp' ? udp : tcp))(rest) });
  } catch (error) { say({ id, error: String(error) }); }
}).on('close', () => process.exit(0));
`;

export class Agent {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<
    number,
    { resolve: (value: unknown) => void; reject: (error: Error) => void }
  >();
  #next = 0;

  /**
   * Starts the program.
   *
   * @param prefix program and arguments in front of node, such as `ip netns exec NAME`
   */
  constructor(prefix: readonly string[] = []) {
    const [program = '', ...args] = [...prefix, process.execPath, '-e', PROGRAM];
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    if (this.#child.stdout === null) throw new Error('the agent has no output');
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
      for (const { reject } of this.#waiting.values()) reject(new Error('the agent has ended'));
    });
  }

  /** Serves TCP and UDP at the address. Each client receives `name` and its own address. */
  async serve(name: string, host: string, port: number): Promise<void> {
    await Promise.all(
      [false, true].map((udp) => this.#ask({ action: 'serve', name, host, port, udp })),
    );
  }

  /** Serves TCP at the address. Each client receives its own data. */
  async echo(host: string, port: number): Promise<void> {
    await this.#ask({ action: 'echo', host, port });
  }

  /**
   * Opens a TCP connection to an echo server and keeps it until the agent stops. Returns its
   * number.
   */
  async open(host: string, port: number): Promise<number> {
    return (await this.#ask({ action: 'open', host, port })) as number;
  }

  /** Reports whether data that is sent on an open connection comes back in time. */
  async exchange(connection: number, timeoutMs = 20_000): Promise<boolean> {
    return (await this.#ask({ action: 'exchange', connection, timeoutMs })) as boolean;
  }

  async connect(request: Request): Promise<Attempt> {
    return (await this.#ask({ action: 'connect', timeoutMs: 20_000, ...request })) as Attempt;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    if (this.#child.exitCode !== null) return;
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
