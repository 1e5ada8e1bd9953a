// A server that shows the upper bound of this machine and Node: the same TLS, the same requests,
// and a map in memory as its store. It runs in a process of its own, so that it shares the
// processors with the load generator as the real server does.

import { createSecureServer } from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ServeOrder {
  readonly key: string;
  readonly cert: string;
}

const objects = new Map<string, Buffer>();

function answer(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '';
  if (request.method === 'POST') {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const object = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        metadata: { name: string; uid?: string };
      };
      object.metadata.uid = 'a7d1b2c4-0000-4000-8000-000000000000';
      const body = Buffer.from(JSON.stringify(object), 'utf8');
      objects.set(`${path}/${object.metadata.name}`, body);
      send(response, 201, body);
    });
    return;
  }
  const body = objects.get(path);
  if (body === undefined) send(response, 404, Buffer.alloc(0));
  else send(response, 200, body);
}

function send(response: ServerResponse, status: number, body: Buffer): void {
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}

process.once('message', ({ key, cert }: ServeOrder) => {
  const server = createSecureServer({ key, cert, allowHTTP1: true });
  server.on('request', (request, response) =>
    answer(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  );
  server.listen(0, '127.0.0.1', () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  );
});
process.on('disconnect', () => process.exit(0));
