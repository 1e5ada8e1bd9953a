// Sockets of this machine: the implementation of sockets.ts.

import { createSocket, type Socket as UdpSocket, type SocketType } from 'node:dgram';
import { readdir, readFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, isIPv6, type AddressInfo, type Server, type Socket } from 'node:net';
import { systemClock } from '#machinery/clock.ts';
import { dial } from '#machinery/net/peer/index.ts';
import type {
  DnsFiles,
  DnsSockets,
  HttpPage,
  SocketAddress,
  TcpConnection,
  TcpListener,
  UdpListener,
} from './sockets.ts';

const RESOLV_CONF = '/etc/resolv.conf';
/**
 * If resolv.conf names only systemd's stub resolver, its upstream servers are in this file, as
 * kubeadm and the kubelet assume.
 */
const SYSTEMD_RESOLV_CONF = '/run/systemd/resolve/resolv.conf';
const SYSTEMD_STUB = /^\s*nameserver\s+127\.0\.0\.53\s*$/m;
/**
 * The receive buffer holds packets that arrive while the event loop is busy. The kernel caps it.
 */
const RECEIVE_BUFFER = 4 << 20;
const MAX_CONNECTIONS = 1000;
const MAX_HTTP_CONNECTIONS = 50;
const HTTP_TIMEOUT_MS = 10_000;
const NOT_FOUND: HttpPage = {
  status: 404,
  contentType: 'text/plain; charset=utf-8',
  text: '404 page not found\n',
};

const typeOf = ({ address }: SocketAddress): SocketType =>
  isIPv6(address.replace(/%.*$/, '')) ? 'udp6' : 'udp4';

export const nodeSockets: DnsSockets = {
  async listenUdp(at, onMessage): Promise<UdpListener> {
    const type = typeOf(at);
    const family = type === 'udp6' ? 6 : 4;
    const socket = createSocket({
      type,
      ipv6Only: family === 6,
      // Addresses are never names here. Without this function, each packet would wait for a turn of
      // the event loop.
      lookup: (address, _options, callback) => callback(null, address, family),
    });
    await new Promise<void>((resolve, reject) => {
      // Later errors concern single packets: an unreachable client does not affect the others.
      socket.on('error', reject);
      socket.bind({ address: at.address, port: at.port, exclusive: true }, resolve);
    });
    widen(socket);
    socket.on('message', onMessage);
    let open = true;
    return {
      port: socket.address().port,
      send: (message, to) => {
        if (open) socket.send(message, 0, message.length, to.port, to.address, ignoreError);
      },
      close: () =>
        new Promise((resolve) => {
          if (!open) return resolve();
          open = false;
          socket.close(() => resolve());
        }),
    };
  },

  async listenTcp(at, onConnection): Promise<TcpListener> {
    const open = new Set<Socket>();
    const server = createServer({ noDelay: true }, (socket) => {
      open.add(socket);
      socket.once('close', () => open.delete(socket));
      onConnection(connectionOf(socket));
    });
    server.maxConnections = MAX_CONNECTIONS;
    const port = await listen(server, at);
    return {
      port,
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          for (const socket of open) socket.destroy();
        }),
    };
  },

  async serveHttp(at, page, allows): Promise<TcpListener> {
    const server = createHttpServer(
      { requestTimeout: HTTP_TIMEOUT_MS, maxHeaderSize: 8192 },
      (request, response) => {
        const found = request.method === 'GET' ? page(request.url ?? '') : undefined;
        const { status, contentType, text } = found ?? NOT_FOUND;
        response.writeHead(status, { 'content-type': contentType });
        response.end(text);
      },
    );
    server.maxConnections = MAX_HTTP_CONNECTIONS;
    server.on('connection', (socket) => {
      if (!allows(socket.remoteAddress ?? '')) socket.destroy();
    });
    const port = await listen(server, at);
    return {
      port,
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    };
  },

  askUdp(server, message, accept, signal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const socket = createSocket({ type: typeOf(server) });
      let settled = false;
      const finish = (settle: () => void): void => {
        if (settled) return;
        settled = true;
        signal.removeEventListener('abort', aborted);
        socket.close();
        settle();
      };
      const aborted = (): void => finish(() => reject(signal.reason as Error));
      signal.addEventListener('abort', aborted, { once: true });
      socket.on('error', (err) => finish(() => reject(err)));
      socket.on('message', (answer) => {
        if (!settled && accept(answer)) finish(() => resolve(answer));
      });
      // A connected socket gets packets of this server only, and the error if its port is closed.
      socket.connect(server.port, server.address, (err?: Error | null) => {
        if (err !== undefined && err !== null) finish(() => reject(err));
        else if (!settled) socket.send(message);
      });
    });
  },

  async askTcp(server, message, accept, signal): Promise<Buffer> {
    const socket = await dial({
      host: server.address,
      port: server.port,
      clock: systemClock,
      signal,
    });
    return new Promise((resolve, reject) => {
      let settled = false;
      const finish = (settle: () => void): void => {
        if (settled) return;
        settled = true;
        signal.removeEventListener('abort', aborted);
        socket.destroy();
        settle();
      };
      const aborted = (): void => finish(() => reject(signal.reason as Error));
      signal.addEventListener('abort', aborted, { once: true });
      if (signal.aborted) return aborted();
      socket.on('error', (err) => finish(() => reject(err)));
      socket.on('close', () =>
        finish(() => reject(new Error('the server has closed the connection'))),
      );
      let received: Buffer = Buffer.alloc(0);
      socket.on('data', (data: Buffer) => {
        received = Buffer.concat([received, data]);
        if (received.length < 2 || received.length < received.readUInt16BE(0) + 2) return;
        const answer = received.subarray(2, received.readUInt16BE(0) + 2);
        if (accept(answer)) finish(() => resolve(answer));
        else finish(() => reject(new Error('the answer does not belong to the question')));
      });
      const prefix = Buffer.alloc(2);
      prefix.writeUInt16BE(message.length);
      socket.write(Buffer.concat([prefix, message]));
    });
  },

  async readResolvConf(): Promise<string> {
    const text = (await nodeFiles.read(RESOLV_CONF)) ?? '';
    return SYSTEMD_STUB.test(text) ? (await nodeFiles.read(SYSTEMD_RESOLV_CONF)) || text : text;
  },
};

export const nodeFiles: DnsFiles = {
  read: (path) => unlessMissing(readFile(path, 'utf8')),
  list: async (folder) => (await unlessMissing(readdir(folder))) ?? [],
};

async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const ignoreError = (): void => undefined;

function widen(socket: UdpSocket): void {
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER);
  } catch (error) {
    // The system may not allow a larger buffer: packets are then dropped sooner under load.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SOCKET_BUFFER_SIZE') throw error;
  }
}

function connectionOf(socket: Socket): TcpConnection {
  socket.on('error', () => undefined);
  return {
    remote: { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 },
    onData: (callback) => void socket.on('data', callback),
    onClose: (callback) => void socket.once('close', callback),
    write: (data) => socket.write(data),
    onDrain: (callback) => void socket.on('drain', callback),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    destroy: () => void socket.destroy(),
  };
}

/**
 * Opens a TCP server at the address and resolves with its port. Rejects if the address cannot be
 * used; later errors are ignored.
 */
async function listen(server: Server, at: SocketAddress): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: at.address, port: at.port, exclusive: true, ipv6Only: true }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
  // An error in accepting a connection concerns that connection only.
  server.on('error', () => undefined);
  return (server.address() as AddressInfo).port;
}
