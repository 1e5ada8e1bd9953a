// Reports the requests of a node:http server to the table of its connections.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

import type { TrackedConnection } from './connection-table.ts';

const CONNECTION = Symbol('connection');

interface Tracked {
  [CONNECTION]?: TrackedConnection;
}

/** Attaches the table's entry to a socket. Called before the server gets the socket. */
export function track(socket: Duplex, connection: TrackedConnection): void {
  (socket as Tracked)[CONNECTION] = connection;
}

/**
 * Reports requests on tracked sockets to the table. A connection is closed if its request was
 * answered before its body was read; one without HTTP gets a 400 and is closed. Upgraded
 * connections count as active until they close. Must be called before the server gets its own
 * listeners. Other sockets are ignored.
 */
export function reportRequests(server: Server): void {
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const connection = (request.socket as Tracked)[CONNECTION];
    if (connection === undefined) return;
    connection.begin();
    response.once('close', () => {
      connection.end();
      if (!request.complete) connection.close();
    });
  });
  // Since Node 26, the listener's socket is a wrapper while a body of the request is not read.
  server.on('upgrade', ({ socket }: IncomingMessage) => (socket as Tracked)[CONNECTION]?.begin());
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    socket.write('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    closeConnection(socket);
  });
}

/** Ends a connection after the written data, and destroys it soon after. */
export function closeConnection(socket: Duplex): void {
  const connection = (socket as Tracked)[CONNECTION];
  if (connection !== undefined) {
    connection.close();
    return;
  }
  socket.resume();
  socket.end(() => socket.destroy());
}
